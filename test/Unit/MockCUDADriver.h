//===- MockCUDADriver.h - A driver without a GPU ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A shared library with the functions of CUDA's driver that the runtime uses.
// Memory is the host's, work is done when it is asked for, and kernels are only
// written down. What the driver would refuse is refused with its codes, such as
// a call without a current context, and threads, grids, workgroup memory and
// registers beyond what an architecture has.
//
// The image of a module is PTX, or machine code that ptxas made of it, or text
// in its place: "kernel NAME ARGUMENTS" on each line, with arguments of 8
// bytes, and behind that "registers N" or "shared N". Any other line does not
// compile.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_MOCKCUDADRIVER_H
#define ATTN_TEST_UNIT_MOCKCUDADRIVER_H

#include "attn/export.h"
#include "test/Unit/MockImages.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace attn::test {

/// A kernel that was launched.
struct MockLaunch {
  std::string kernel;
  std::array<unsigned, 3> grid, block;
  unsigned sharedBytes;
  const void *stream;
  std::vector<std::uint64_t> arguments;
};

/// An event in a stream.
struct MockRecord {
  const void *event, *stream;
};

/// The driver's state, between tests too: start with reset().
struct MockDriver {
  ATTN_EXPORT static MockDriver &get();

  void reset() {
    std::lock_guard lock(mutex);
    devices = 1;
    largestBuffer = std::size_t(1) << 30;
    major = 9;
    minor = 0;
    version = 13000;
    multiprocessors = 132;
    hasPools = true;
    ofMachineCode = 0;
    calls = failAt = 0;
    failForever = false;
    failure = 0;
    failedFirst.clear();
    launches.clear();
    sharedLimits.clear();
    pending.clear();
    execute = nullptr;
    current() = nullptr;
  }

  /// The `call`th call from now on, from 1, returns `code` without an effect;
  /// if `forever`, all after it too, as where a context is lost. Functions that
  /// give something back return it as well, but do what they should.
  void fail(std::size_t call, int code, bool forever = false) {
    std::lock_guard lock(mutex);
    calls = 0;
    failAt = call;
    failure = code;
    failForever = forever;
  }

  std::size_t countLive() const {
    return contexts + modules.size() + streams.size() + events.size() +
           pools.size() + buffers.size();
  }

  std::mutex mutex;
  // What there is.
  int devices = 1, major = 9, minor = 0;
  int version = 13000; ///< Of CUDA.
  int multiprocessors = 132;
  bool hasPools = true;
  int ofMachineCode = 0; ///< What is said of an image that is no PTX.
  std::size_t largestBuffer = std::size_t(1) << 30; ///< Bytes.
  // What goes wrong.
  std::size_t calls = 0, failAt = 0;
  int failure = 0;
  bool failForever = false;
  /// What a launch does; nothing if it is empty.
  std::function<void(const MockLaunch &)> execute;
  // What happened.
  std::string failedFirst; ///< The function of the first call that failed so.
  std::vector<MockLaunch> launches;
  std::map<std::string, int> sharedLimits; ///< By kernel, where asked for.
  // What is not given back.
  std::size_t contexts = 0; ///< How often the primary one is retained.
  std::map<const void *, MockKernels> modules;
  std::set<const void *> streams, events;
  std::vector<MockRecord> pending; ///< That were not waited for, in order.
  std::map<const void *, std::uint64_t> pools; ///< Bytes that each keeps.
  std::map<std::uint64_t, std::vector<std::byte>> buffers;
  /// The calling thread's current context; null if it has none.
  ATTN_EXPORT static const void *&current();
};

} // namespace attn::test

#endif // ATTN_TEST_UNIT_MOCKCUDADRIVER_H
