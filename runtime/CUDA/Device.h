//===- Device.h - GPUs, their memory, streams and events --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every function that the driver refuses ends in an error with the driver's own
// text. Nothing here changes which context is current in the caller's thread,
// and everything may be used from several threads at once.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_DEVICE_H
#define ATTN_RUNTIME_CUDA_DEVICE_H

#include "attn/error.h"
#include "runtime/CUDA/Driver.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace attn::cuda {

/// What copies of a Device, and all that is on it, share.
struct DeviceState {
  std::shared_ptr<const Driver> driver;
  CUdevice device = 0;
  CUcontext context = nullptr; ///< The primary one, which is retained.
  std::string name;
  int major = 0, minor = 0; ///< Of the compute capability.
  int driverVersion = 0;    ///< 12040 for CUDA 12.4.
  int multiprocessors = 0;
  int sharedBytes = 0;         ///< Of a multiprocessor.
  CUmemoryPool pool = nullptr; ///< Null where the GPU has no pools.

  DeviceState() = default;
  DeviceState(const DeviceState &) = delete;
  DeviceState &operator=(const DeviceState &) = delete;
  ~DeviceState();
};

/// The device's context is current while this lives.
class ContextScope {
public:
  explicit ContextScope(const DeviceState &device);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

  const Status &status() const { return result; }

private:
  const DeviceState &device;
  Status result;
};

/// Something of the driver's that one owner gives back.
template <typename Raw> class Handle {
public:
  using Release = CUresult (*Driver::*)(Raw);

  Handle(std::shared_ptr<const DeviceState> device, Raw raw, Release release)
      : device(std::move(device)), raw(raw), release(release) {}
  Handle(Handle &&other) noexcept
      : device(std::move(other.device)), raw(std::exchange(other.raw, Raw())),
        release(other.release) {}
  Handle &operator=(Handle &&other) noexcept {
    std::swap(device, other.device);
    std::swap(raw, other.raw);
    std::swap(release, other.release);
    return *this;
  }
  ~Handle() {
    if (!raw)
      return;
    // Where the context is lost, so is what was in it.
    ContextScope scope(*device);
    ((*device->driver).*release)(raw);
  }

  Raw get() const { return raw; }
  const std::shared_ptr<const DeviceState> &owner() const { return device; }

private:
  std::shared_ptr<const DeviceState> device;
  Raw raw;
  Release release;
};

class Event;

/// Work that runs in order, beside that of other streams and of the default
/// stream.
class Stream {
public:
  CUstream raw() const { return handle.get(); }

  /// Waits until all work is done. What a kernel did wrong, such as an access
  /// outside of memory, is reported here.
  Status synchronize() const;

  /// Work from here on starts after what was recorded in `event`.
  Status wait(const Event &event) const;

private:
  friend class Device;
  explicit Stream(Handle<CUstream> handle) : handle(std::move(handle)) {}
  Handle<CUstream> handle;
};

/// A point in a stream.
class Event {
public:
  CUevent raw() const { return handle.get(); }

  /// Moves the event behind all work that `stream` has now.
  Status record(const Stream &stream) const;
  /// Waits until what was recorded is done.
  Status synchronize() const;
  /// Whether it is done.
  Expected<bool> isDone() const;
  /// Milliseconds from another event to this one. Both must be done.
  Expected<float> millisecondsSince(const Event &start) const;

private:
  friend class Device;
  explicit Event(Handle<CUevent> handle) : handle(std::move(handle)) {}
  Handle<CUevent> handle;
};

/// Memory of a device. It must outlive the work that uses it.
class Buffer {
public:
  CUdeviceptr address() const { return handle.get(); }
  std::size_t size() const { return bytes; } ///< In bytes.

  /// Copy the first `count` bytes, in the order of `stream`. Host memory must
  /// live until the stream is synchronized. An error if `count` is more than
  /// the buffer has.
  Status upload(const void *from, std::size_t count,
                const Stream &stream) const;
  /// Sets all bytes to `value`, in the order of `stream`.
  Status fill(unsigned char value, const Stream &stream) const;
  Status download(void *to, std::size_t count, const Stream &stream) const;

private:
  friend class Device;
  Buffer(Handle<CUdeviceptr> handle, std::size_t bytes)
      : handle(std::move(handle)), bytes(bytes) {}
  Handle<CUdeviceptr> handle;
  std::size_t bytes;
};

struct DeviceOptions {
  /// Which of the GPUs, in the driver's order.
  int ordinal = 0;
  /// Path of the driver's library. Empty: the system's.
  std::string driver;
};

/// One GPU. Copies share it, and so does everything made with them, which may
/// outlive them.
class Device {
public:
  /// Without a driver or a GPU, an error that starts with "no GPU: ".
  static Expected<Device> open(const DeviceOptions &options = {});

  const std::string &name() const { return state->name; }
  /// What to compile for: "sm_90a" for compute capability 9.0, as its own
  /// instructions need; otherwise such as "sm_86".
  std::string architecture() const;
  /// The CUDA that the driver is of: 12040 for 12.4.
  int driverVersion() const { return state->driverVersion; }
  int multiprocessors() const { return state->multiprocessors; }
  /// Workgroup memory of a multiprocessor, in bytes.
  int sharedBytes() const { return state->sharedBytes; }

  Expected<Stream> createStream() const;
  Expected<Event> createEvent() const;
  /// Memory with unspecified contents. 0 bytes are fine.
  Expected<Buffer> allocate(std::size_t bytes) const;

  /// Memory that exists in the order of a stream, where null is the default
  /// stream: work before `allocateInStream` may not use it, nor work after
  /// `freeInStream`. It is of a pool of the device's own, which keeps what is
  /// freed until the device is closed, so that later calls need not ask the
  /// driver for memory.
  Expected<CUdeviceptr> allocateInStream(std::size_t bytes,
                                         CUstream stream) const;
  Status freeInStream(CUdeviceptr address, CUstream stream) const;

  const std::shared_ptr<const DeviceState> &shared() const { return state; }

private:
  explicit Device(std::shared_ptr<const DeviceState> state)
      : state(std::move(state)) {}
  std::shared_ptr<const DeviceState> state;
};

} // namespace attn::cuda

#endif // ATTN_RUNTIME_CUDA_DEVICE_H
