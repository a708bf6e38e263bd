//===- Device.cpp - GPUs, their memory, streams and events ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/CUDA/Device.h"

#include <algorithm>

using namespace attn;
using namespace attn::cuda;

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

DeviceState::~DeviceState() {
  if (pool) {
    ContextScope scope(*this);
    driver->memPoolDestroy(pool);
  }
  if (context)
    driver->primaryCtxRelease(device);
}

ContextScope::ContextScope(const DeviceState &device)
    : device(device),
      result(device.driver->check(device.driver->ctxPushCurrent(device.context),
                                  "cannot use the GPU")) {}

ContextScope::~ContextScope() {
  CUcontext popped;
  if (result)
    device.driver->ctxPopCurrent(&popped);
}

/// Calls the driver with the device's context. `call` gives its result.
template <typename Call>
static Status callDriver(const DeviceState &device, const char *what,
                         Call call) {
  ContextScope scope(device);
  if (!scope.status())
    return scope.status();
  return device.driver->check(call(*device.driver), what);
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

Status Stream::synchronize() const {
  return callDriver(
      *handle.owner(), "work on the GPU failed",
      [&](const Driver &driver) { return driver.streamSynchronize(raw()); });
}

Status Stream::wait(const Event &event) const {
  return callDriver(*handle.owner(), "cannot wait for an event",
                    [&](const Driver &driver) {
                      return driver.streamWaitEvent(raw(), event.raw(), 0);
                    });
}

Status Event::record(const Stream &stream) const {
  return callDriver(*handle.owner(), "cannot record an event",
                    [&](const Driver &driver) {
                      return driver.eventRecord(raw(), stream.raw());
                    });
}

Status Event::synchronize() const {
  return callDriver(
      *handle.owner(), "work on the GPU failed",
      [&](const Driver &driver) { return driver.eventSynchronize(raw()); });
}

Expected<bool> Event::isDone() const {
  CUresult code = 0;
  Status status = callDriver(*handle.owner(), "work on the GPU failed",
                             [&](const Driver &driver) {
                               code = driver.eventQuery(raw());
                               return code == notReady ? 0 : code;
                             });
  if (!status)
    return std::move(status).error();
  return code == 0;
}

Expected<float> Event::millisecondsSince(const Event &start) const {
  float milliseconds = 0;
  Status status = callDriver(
      *handle.owner(), "cannot measure time", [&](const Driver &driver) {
        return driver.eventElapsedTime(&milliseconds, start.raw(), raw());
      });
  if (!status)
    return std::move(status).error();
  return milliseconds;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static Status checkCount(std::size_t count, std::size_t size) {
  if (count <= size)
    return {};
  return Error{"expected at most " + std::to_string(size) +
                   " bytes to copy, the size of the buffer, got " +
                   std::to_string(count),
               {}};
}

Status Buffer::upload(const void *from, std::size_t count,
                      const Stream &stream) const {
  if (Status status = checkCount(count, bytes); !status)
    return status;
  return callDriver(
      *handle.owner(), "cannot copy to the GPU", [&](const Driver &driver) {
        return driver.memcpyHtoDAsync(address(), from, count, stream.raw());
      });
}

Status Buffer::fill(unsigned char value, const Stream &stream) const {
  return callDriver(*handle.owner(), "cannot set memory of the GPU",
                    [&](const Driver &driver) {
                      return driver.memsetD8Async(address(), value, bytes,
                                                  stream.raw());
                    });
}

Status Buffer::download(void *to, std::size_t count,
                        const Stream &stream) const {
  if (Status status = checkCount(count, bytes); !status)
    return status;
  return callDriver(
      *handle.owner(), "cannot copy from the GPU", [&](const Driver &driver) {
        return driver.memcpyDtoHAsync(to, address(), count, stream.raw());
      });
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

/// Asks for what a device is, and retains its context.
static Status initialize(DeviceState &state, int ordinal) {
  const Driver &driver = *state.driver;
  char name[256] = "";
  auto isFine = [&](CUresult code, Status &status) {
    status = driver.check(code, "cannot open the GPU");
    return status.ok();
  };
  Status status;
  CUcontext context = nullptr;
  auto read = [&](int attribute, int &value) {
    return isFine(driver.deviceGetAttribute(&value, attribute, state.device),
                  status);
  };
  if (isFine(driver.driverGetVersion(&state.driverVersion), status) &&
      isFine(driver.deviceGet(&state.device, ordinal), status) &&
      isFine(driver.deviceGetName(name, sizeof(name), state.device), status) &&
      read(computeCapabilityMajor, state.major) &&
      read(computeCapabilityMinor, state.minor) &&
      read(multiprocessorCount, state.multiprocessors) &&
      read(maxSharedMemoryPerMultiprocessor, state.sharedBytes) &&
      isFine(driver.primaryCtxRetain(&context, state.device), status)) {
    state.name = name;
    state.context = context;
  }
  return status;
}

/// Makes the device's pool, if there can be one. What is in use when a stream
/// is waited for would otherwise be all that is kept.
static Status createPool(DeviceState &state) {
  auto create = [&](const Driver &driver) -> CUresult {
    int hasPools = 0;
    CUresult code = driver.deviceGetAttribute(&hasPools, memoryPoolsSupported,
                                              state.device);
    if (code != 0 || !hasPools)
      return code;
    CUmemPoolProps properties = {.allocType = 1,
                                 .location = {.type = 1, .id = state.device}};
    code = driver.memPoolCreate(&state.pool, &properties);
    if (code != 0)
      return code;
    std::uint64_t everything = ~std::uint64_t(0);
    return driver.memPoolSetAttribute(state.pool, poolReleaseThreshold,
                                      &everything);
  };
  return callDriver(state, "cannot create a pool of memory of the GPU", create);
}

Expected<Device> Device::open(const DeviceOptions &options) {
  auto driver = Driver::open(options.driver);
  if (!driver)
    return std::move(driver).error();
  int count = 0;
  if (Status status = (*driver)->check((*driver)->deviceGetCount(&count),
                                       "cannot count the GPUs");
      !status)
    return std::move(status).error();
  if (count < 1)
    return Error{"no GPU: the driver has none", {}};
  if (options.ordinal < 0 || options.ordinal >= count)
    return Error{"ordinal: expected a GPU from 0 to " +
                     std::to_string(count - 1) + ", got " +
                     std::to_string(options.ordinal),
                 {}};
  auto state = std::make_shared<DeviceState>();
  state->driver = std::move(*driver);
  if (Status status = initialize(*state, options.ordinal); !status)
    return std::move(status).error();
  if (Status status = createPool(*state); !status)
    return std::move(status).error();
  return Device(std::move(state));
}

std::string Device::architecture() const {
  std::string name =
      "sm_" + std::to_string(state->major) + std::to_string(state->minor);
  return name == "sm_90" ? "sm_90a" : name;
}

Expected<Stream> Device::createStream() const {
  CUstream stream = nullptr;
  Status status =
      callDriver(*state, "cannot create a stream", [&](const Driver &driver) {
        return driver.streamCreate(&stream, streamNonBlocking);
      });
  if (!status)
    return std::move(status).error();
  return Stream(Handle(state, stream, &Driver::streamDestroy));
}

Expected<Event> Device::createEvent() const {
  CUevent event = nullptr;
  Status status =
      callDriver(*state, "cannot create an event", [&](const Driver &driver) {
        return driver.eventCreate(&event, 0);
      });
  if (!status)
    return std::move(status).error();
  return Event(Handle(state, event, &Driver::eventDestroy));
}

/// Calls the driver for memory. `call` sets the address.
template <typename Call>
static Expected<CUdeviceptr> allocateBytes(const DeviceState &device,
                                           std::size_t bytes, Call call) {
  CUdeviceptr address = 0;
  std::string what =
      "cannot allocate " + std::to_string(bytes) + " bytes on the GPU";
  Status status = callDriver(device, what.c_str(), [&](const Driver &driver) {
    // The driver refuses 0.
    return call(driver, &address, std::max<std::size_t>(bytes, 1));
  });
  if (!status)
    return std::move(status).error();
  return address;
}

Expected<Buffer> Device::allocate(std::size_t bytes) const {
  Expected<CUdeviceptr> address = allocateBytes(
      *state, bytes,
      [](const Driver &driver, CUdeviceptr *address, std::size_t count) {
        return driver.memAlloc(address, count);
      });
  if (!address)
    return std::move(address).error();
  return Buffer(Handle(state, *address, &Driver::memFree), bytes);
}

Expected<CUdeviceptr> Device::allocateInStream(std::size_t bytes,
                                               CUstream stream) const {
  if (!state->pool)
    return Error{"cannot allocate " + std::to_string(bytes) +
                     " bytes on the GPU: " + state->name +
                     " has no pools of memory",
                 {}};
  return allocateBytes(
      *state, bytes,
      [&](const Driver &driver, CUdeviceptr *address, std::size_t count) {
        return driver.memAllocFromPoolAsync(address, count, state->pool,
                                            stream);
      });
}

Status Device::freeInStream(CUdeviceptr address, CUstream stream) const {
  return callDriver(*state, "cannot free memory on the GPU",
                    [&](const Driver &driver) {
                      return driver.memFreeAsync(address, stream);
                    });
}
