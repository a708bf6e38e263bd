//===- SharedMemory.h - The shared memory of a block --------- -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_SHAREDMEMORY_H
#define ATTN_RUNTIME_EMULATOR_SHAREDMEMORY_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attn::emulator {

/// The shared memory of a block, and what is known of each byte.
class SharedMemory {
public:
  /// What a block may have at most: 227 KiB on sm_90.
  static constexpr std::size_t capacity = 227 * 1024;

  enum class State : std::uint8_t {
    unwritten,
    written,
    /// A copy to it was issued and has not been waited for.
    inFlight
  };

  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;

  /// Memory of `bytes` that nothing has written: every element is a NaN.
  /// `bytes` is at most the capacity. False if there is no memory.
  bool reset(std::size_t bytes);

  char *data() const { return window; }
  std::size_t size() const { return bytes; }

  /// Whether an address is one of shared memory, be it in bounds or not.
  bool isShared(const void *address) const {
    return getOffset(address) < windowSize;
  }
  /// From the begin of the memory, for any address.
  std::size_t getOffset(const void *address) const {
    return reinterpret_cast<std::uintptr_t>(address) -
           reinterpret_cast<std::uintptr_t>(window);
  }
  bool isInside(std::size_t offset, std::size_t count) const {
    return offset <= bytes && count <= bytes - offset;
  }

  /// Of a range in bounds: whether all of it is `written`, and whether a part
  /// is `inFlight`.
  bool isWritten(std::size_t offset, std::size_t count) const;
  bool isInFlight(std::size_t offset, std::size_t count) const;
  void setState(std::size_t offset, std::size_t count, State state);

private:
  /// Aligned to its size, as patterns of addresses that operations on tiles use
  /// depend on the lower bits of an offset.
  static constexpr std::size_t windowSize = 256 * 1024;

  char *window = nullptr;
  std::size_t bytes = 0;
  std::vector<State> states;
};

} // namespace attn::emulator

#endif // ATTN_RUNTIME_EMULATOR_SHAREDMEMORY_H
