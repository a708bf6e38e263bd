//===- MockCUDADriver.cpp - A driver without a GPU ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/MockCUDADriver.h"
#include "test/Unit/MockImages.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <sstream>

using namespace attn::test;

MockDriver &MockDriver::get() {
  static MockDriver driver;
  return driver;
}

const void *&MockDriver::current() {
  static thread_local const void *context = nullptr;
  return context;
}

namespace {

enum : int {
  success = 0,
  invalidValue = 1,
  outOfMemory = 2,
  invalidPTX = 218,
  invalidContext = 201,
  invalidHandle = 400,
  unsupportedPTX = 222,
  notFound = 500,
  notReady = 600,
  outOfResources = 701,
};

/// One call of the driver: counted, with the state locked.
class Call {
public:
  explicit Call(const char *function)
      : driver(MockDriver::get()), lock(driver.mutex) {
    ++driver.calls;
    if (driver.failAt && (driver.calls == driver.failAt ||
                          (driver.failForever && driver.calls > driver.failAt)))
      code = driver.failure;
    if (code != success && driver.failedFirst.empty())
      driver.failedFirst = function;
  }

  /// Goes on if `condition` holds, which is what the driver demands.
  Call &require(bool condition, int otherwise) {
    if (code == success && !condition)
      code = otherwise;
    return *this;
  }
  Call &requireContext() {
    return require(MockDriver::current() != nullptr, invalidContext);
  }
  /// Null is the default stream.
  Call &requireStream(void *stream) {
    return require(!stream || driver.streams.count(stream), invalidHandle);
  }

  template <typename Action> int then(Action action) {
    if (code == success)
      action();
    return code;
  }

  /// Gives back a thing that there is, also where the call fails.
  template <typename Things, typename Thing>
  int release(Things &things, const Thing &thing) {
    if (driver.failedFirst.empty())
      requireContext();
    bool isKnown = things.erase(thing) == 1;
    return require(isKnown, invalidHandle).code;
  }

  MockDriver &driver;
  int code = success;

private:
  std::lock_guard<std::mutex> lock;
};

/// A handle that is nobody else's. Lives on, so that it stays so.
void *makeHandle() {
  static std::vector<std::unique_ptr<char>> handles;
  return handles.emplace_back(std::make_unique<char>()).get();
}

int primaryContext; // Its address is the handle.

//===----------------------------------------------------------------------===//
// What an architecture has
//===----------------------------------------------------------------------===//

/// Workgroup memory, in bytes: table "Technical Specifications per Compute
/// Capability" of the CUDA C++ Programming Guide.
struct SharedMemory {
  std::size_t ofMultiprocessor, ofBlock;
};

SharedMemory findSharedMemory(const MockDriver &driver) {
  constexpr std::size_t unit = 1024;
  switch (driver.major * 10 + driver.minor) {
  case 80:
  case 87:
    return {164 * unit, 163 * unit};
  case 90:
  case 100:
  case 103:
    return {228 * unit, 227 * unit};
  default:
    return {100 * unit, 99 * unit};
  }
}

/// What a block may have without being asked, and the registers of one.
constexpr std::size_t sharedBytesForAll = std::size_t(48) << 10,
                      registersOfBlock = 65536;

int allocate(Call &call, std::uint64_t *address, std::size_t bytes) {
  return call.requireContext()
      .require(bytes > 0, invalidValue)
      .require(bytes <= call.driver.largestBuffer, outOfMemory)
      .then([&] {
        std::vector<std::byte> memory(bytes);
        *address = reinterpret_cast<std::uint64_t>(memory.data());
        call.driver.buffers.emplace(*address, std::move(memory));
      });
}

/// The bytes of a buffer at `address`; null if there are not `count`.
std::byte *find(MockDriver &driver, std::uint64_t address, std::size_t count) {
  auto buffer = driver.buffers.find(address);
  if (buffer == driver.buffers.end() || buffer->second.size() < count)
    return nullptr;
  return buffer->second.data();
}

std::vector<MockRecord>::iterator findRecord(MockDriver &driver,
                                             const void *event) {
  return std::ranges::find(driver.pending, event, &MockRecord::event);
}

/// An event stands for what it was recorded after last.
void forget(MockDriver &driver, const void *event) {
  if (auto found = findRecord(driver, event); found != driver.pending.end())
    driver.pending.erase(found);
}

} // namespace

// The names are the driver's.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

ATTN_EXPORT int cuGetErrorName(int code, const char **name) {
  static const std::map<int, const char *> names = {
      {1, "CUDA_ERROR_INVALID_VALUE"},
      {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {100, "CUDA_ERROR_NO_DEVICE"},
      {201, "CUDA_ERROR_INVALID_CONTEXT"},
      {218, "CUDA_ERROR_INVALID_PTX"},
      {400, "CUDA_ERROR_INVALID_HANDLE"},
      {500, "CUDA_ERROR_NOT_FOUND"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {719, "CUDA_ERROR_LAUNCH_FAILED"},
      {200, "CUDA_ERROR_INVALID_IMAGE"},
      {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
      {600, "CUDA_ERROR_NOT_READY"},
      {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"}};
  auto found = names.find(code);
  *name = found == names.end() ? nullptr : found->second;
  return *name ? success : invalidValue;
}

ATTN_EXPORT int cuGetErrorString(int code, const char **text) {
  static const std::map<int, const char *> texts = {
      {1, "invalid argument"},
      {2, "out of memory"},
      {100, "no CUDA-capable device is detected"},
      {201, "invalid device context"},
      {218, "a PTX JIT compilation failed"},
      {400, "invalid resource handle"},
      {500, "named symbol not found"},
      {700, "an illegal memory access was encountered"},
      {719, "unspecified launch failure"},
      {200, "device kernel image is invalid"},
      {209, "no kernel image is available for execution on the device"},
      {222, "the provided PTX was compiled with an unsupported toolchain."},
      {600, "device not ready"},
      {701, "too many resources requested for launch"}};
  auto found = texts.find(code);
  *text = found == texts.end() ? nullptr : found->second;
  return *text ? success : invalidValue;
}

ATTN_EXPORT int cuInit(unsigned) { return Call(__func__).code; }

ATTN_EXPORT int cuDriverGetVersion(int *version) {
  Call call(__func__);
  return call.then([&] { *version = call.driver.version; });
}

ATTN_EXPORT int cuDeviceGetCount(int *count) {
  Call call(__func__);
  return call.then([&] { *count = call.driver.devices; });
}

ATTN_EXPORT int cuDeviceGet(int *device, int ordinal) {
  Call call(__func__);
  return call
      .require(ordinal >= 0 && ordinal < call.driver.devices, invalidValue)
      .then([&] { *device = ordinal; });
}

ATTN_EXPORT int cuDeviceGetName(char *name, int size, int) {
  return Call(__func__).then(
      [&] { std::strncpy(name, "Mock GPU", std::size_t(size)); });
}

ATTN_EXPORT int cuDeviceGetAttribute(int *value, int attribute, int) {
  Call call(__func__);
  const std::map<int, int> values = {
      {16, call.driver.multiprocessors},
      {75, call.driver.major},
      {76, call.driver.minor},
      {81, int(findSharedMemory(call.driver).ofMultiprocessor)},
      {115, call.driver.hasPools}};
  auto found = values.find(attribute);
  return call.require(found != values.end(), invalidValue).then([&] {
    *value = found->second;
  });
}

ATTN_EXPORT int cuDevicePrimaryCtxRetain(void **context, int) {
  Call call(__func__);
  return call.then([&] {
    ++call.driver.contexts;
    *context = &primaryContext;
  });
}

ATTN_EXPORT int cuDevicePrimaryCtxRelease_v2(int) {
  Call call(__func__);
  if (call.driver.contexts == 0)
    return invalidContext;
  --call.driver.contexts;
  return call.code;
}

ATTN_EXPORT int cuCtxPushCurrent_v2(void *context) {
  Call call(__func__);
  // The runtime does not nest them.
  return call
      .require(call.driver.contexts > 0 && context == &primaryContext &&
                   !MockDriver::current(),
               invalidContext)
      .then([&] { MockDriver::current() = context; });
}

ATTN_EXPORT int cuCtxPopCurrent_v2(void **context) {
  Call call(__func__);
  *context = const_cast<void *>(MockDriver::current());
  MockDriver::current() = nullptr;
  return call.require(*context, invalidContext).code;
}

ATTN_EXPORT int cuModuleLoadDataEx(void **module, const void *image,
                                   unsigned count, int *options,
                                   void **values) {
  Call call(__func__);
  std::string text = static_cast<const char *>(image);
  MockKernels kernels;
  if (text.find(".version") != std::string::npos) {
    call.require(findVersionOfPTX(text) <= call.driver.version, unsupportedPTX);
    kernels = readPTX(text);
    text.clear();
  } else if (call.driver.ofMachineCode != success) {
    return call.require(false, call.driver.ofMachineCode).code;
  } else if (isMachineCode(text)) {
    kernels = readMachineCode(static_cast<const char *>(image));
    text.clear();
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (readTextLine(line, kernels))
      continue;
    // CU_JIT_ERROR_LOG_BUFFER and its size.
    if (count == 2 && options[0] == 5 && options[1] == 6)
      std::strncpy(static_cast<char *>(values[0]),
                   ("ptxas fatal : cannot compile '" + line + "'").c_str(),
                   reinterpret_cast<std::size_t>(values[1]));
    call.require(false, invalidPTX);
  }
  return call.requireContext().then([&] {
    *module = makeHandle();
    call.driver.modules[*module] = std::move(kernels);
  });
}

ATTN_EXPORT int cuModuleUnload(void *module) {
  Call call(__func__);
  return call.release(call.driver.modules, module);
}

ATTN_EXPORT int cuModuleGetFunction(void **function, void *module,
                                    const char *name) {
  Call call(__func__);
  auto loaded = call.driver.modules.find(module);
  call.requireContext().require(loaded != call.driver.modules.end(),
                                invalidHandle);
  if (call.code != success)
    return call.code;
  auto kernel = loaded->second.find(name);
  return call.require(kernel != loaded->second.end(), notFound).then([&] {
    *function = &*kernel;
  });
}

ATTN_EXPORT int cuFuncSetAttribute(void *function, int attribute, int value) {
  Call call(__func__);
  const auto &[name, kernel] =
      *static_cast<MockKernels::value_type *>(function);
  return call.requireContext()
      .require(attribute == 8 && value >= 0 &&
                   kernel.sharedBytes + std::size_t(value) <=
                       findSharedMemory(call.driver).ofBlock,
               invalidValue)
      .then([&] { call.driver.sharedLimits[name] = value; });
}

ATTN_EXPORT int cuLaunchKernel(void *function, unsigned gridX, unsigned gridY,
                               unsigned gridZ, unsigned blockX, unsigned blockY,
                               unsigned blockZ, unsigned sharedBytes,
                               void *stream, void **arguments, void **extra) {
  Call call(__func__);
  const auto &[name, kernel] =
      *static_cast<MockKernels::value_type *>(function);
  std::uint64_t threads = std::uint64_t(blockX) * blockY * blockZ;
  auto asked = call.driver.sharedLimits.find(name);
  // What nobody has to ask for is of static and dynamic ones together.
  bool hasRoom = asked == call.driver.sharedLimits.end()
                     ? kernel.sharedBytes + sharedBytes <= sharedBytesForAll
                     : sharedBytes <= std::size_t(asked->second);
  call.requireContext()
      .requireStream(stream)
      .require(gridX && gridY && gridZ && blockX && blockY && blockZ && !extra,
               invalidValue)
      .require(gridX < 1u << 31 && gridY < 1u << 16 && gridZ < 1u << 16 &&
                   blockZ <= 64 && threads <= kernel.threads && hasRoom,
               invalidValue)
      // Registers are given to whole warps.
      .require((threads + 31) / 32 * 32 * kernel.registers <= registersOfBlock,
               outOfResources);
  return call.then([&] {
    std::vector<std::uint64_t> values(kernel.parameters.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      std::memcpy(&values[i], arguments[i], kernel.parameters[i]);
    call.driver.launches.push_back({name,
                                    {gridX, gridY, gridZ},
                                    {blockX, blockY, blockZ},
                                    sharedBytes,
                                    stream,
                                    std::move(values)});
    if (call.driver.execute)
      call.driver.execute(call.driver.launches.back());
  });
}

ATTN_EXPORT int cuStreamCreate(void **stream, unsigned flags) {
  Call call(__func__);
  return call.requireContext().require(flags == 1, invalidValue).then([&] {
    *stream = makeHandle();
    call.driver.streams.insert(*stream);
  });
}

ATTN_EXPORT int cuStreamDestroy_v2(void *stream) {
  Call call(__func__);
  return call.release(call.driver.streams, stream);
}

ATTN_EXPORT int cuStreamSynchronize(void *stream) {
  Call call(__func__);
  return call.requireContext()
      .require(call.driver.streams.count(stream), invalidHandle)
      .then([&] {
        std::erase_if(call.driver.pending, [&](const MockRecord &record) {
          return record.stream == stream;
        });
      });
}

ATTN_EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  Call call(__func__);
  return call.requireContext()
      .require(call.driver.streams.count(stream) &&
                   call.driver.events.count(event) && flags == 0,
               invalidHandle)
      .code;
}

ATTN_EXPORT int cuEventCreate(void **event, unsigned flags) {
  Call call(__func__);
  return call.requireContext().require(flags == 0, invalidValue).then([&] {
    *event = makeHandle();
    call.driver.events.insert(*event);
  });
}

ATTN_EXPORT int cuEventDestroy_v2(void *event) {
  Call call(__func__);
  forget(call.driver, event);
  return call.release(call.driver.events, event);
}

ATTN_EXPORT int cuEventRecord(void *event, void *stream) {
  Call call(__func__);
  return call.requireContext()
      .require(call.driver.streams.count(stream) &&
                   call.driver.events.count(event),
               invalidHandle)
      .then([&] {
        forget(call.driver, event);
        call.driver.pending.push_back({event, stream});
      });
}

ATTN_EXPORT int cuEventQuery(void *event) {
  Call call(__func__);
  return call.requireContext()
      .require(call.driver.events.count(event), invalidHandle)
      .require(findRecord(call.driver, event) == call.driver.pending.end(),
               notReady)
      .code;
}

/// Waits for all that came before in its stream, too.
ATTN_EXPORT int cuEventSynchronize(void *event) {
  Call call(__func__);
  return call.requireContext()
      .require(call.driver.events.count(event), invalidHandle)
      .then([&] {
        auto &pending = call.driver.pending;
        auto found = findRecord(call.driver, event);
        if (found == pending.end())
          return;
        auto after = found + 1;
        pending.erase(
            std::remove_if(pending.begin(), after,
                           [stream = found->stream](const MockRecord &record) {
                             return record.stream == stream;
                           }),
            after);
      });
}

ATTN_EXPORT int cuEventElapsedTime(float *milliseconds, void *start,
                                   void *end) {
  Call call(__func__);
  return call.requireContext()
      .require(call.driver.events.count(start) && call.driver.events.count(end),
               invalidHandle)
      .then([&] { *milliseconds = 1.5f; });
}

ATTN_EXPORT int cuMemAlloc_v2(std::uint64_t *address, std::size_t bytes) {
  Call call(__func__);
  return allocate(call, address, bytes);
}

ATTN_EXPORT int cuMemFree_v2(std::uint64_t address) {
  Call call(__func__);
  return call.release(call.driver.buffers, address);
}

/// The properties are those of CUmemPoolProps.
ATTN_EXPORT int cuMemPoolCreate(void **pool, const void *properties) {
  Call call(__func__);
  std::array<int, 4> fields; // The last one is the device.
  std::memcpy(fields.data(), properties, sizeof(fields));
  return call.requireContext()
      .require(fields[0] == 1 && fields[1] == 0 && fields[2] == 1 &&
                   fields[3] >= 0 && fields[3] < call.driver.devices,
               invalidValue)
      .then([&] {
        *pool = makeHandle();
        call.driver.pools[*pool] = 0;
      });
}

ATTN_EXPORT int cuMemPoolSetAttribute(void *pool, int attribute, void *value) {
  Call call(__func__);
  return call.requireContext()
      .require(call.driver.pools.count(pool) && attribute == 4, invalidValue)
      .then([&] {
        std::memcpy(&call.driver.pools[pool], value, sizeof(std::uint64_t));
      });
}

ATTN_EXPORT int cuMemPoolDestroy(void *pool) {
  Call call(__func__);
  return call.release(call.driver.pools, pool);
}

ATTN_EXPORT int cuMemAllocFromPoolAsync(std::uint64_t *address,
                                        std::size_t bytes, void *pool,
                                        void *stream) {
  Call call(__func__);
  return allocate(call.requireStream(stream).require(
                      call.driver.pools.count(pool), invalidHandle),
                  address, bytes);
}

ATTN_EXPORT int cuMemsetD8Async(std::uint64_t address, unsigned char value,
                                std::size_t count, void *stream) {
  Call call(__func__);
  std::byte *memory = find(call.driver, address, count);
  return call.requireContext()
      .requireStream(stream)
      .require(memory, invalidValue)
      .then([&] { std::memset(memory, value, count); });
}

ATTN_EXPORT int cuMemFreeAsync(std::uint64_t address, void *stream) {
  Call call(__func__);
  return call.requireStream(stream).release(call.driver.buffers, address);
}

ATTN_EXPORT int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void *from,
                                     std::size_t count, void *stream) {
  Call call(__func__);
  std::byte *memory = find(call.driver, to, count);
  return call.requireContext()
      .require(memory && call.driver.streams.count(stream), invalidValue)
      .then([&] { std::memcpy(memory, from, count); });
}

ATTN_EXPORT int cuMemcpyDtoHAsync_v2(void *to, std::uint64_t from,
                                     std::size_t count, void *stream) {
  Call call(__func__);
  const std::byte *memory = find(call.driver, from, count);
  return call.requireContext()
      .require(memory && call.driver.streams.count(stream), invalidValue)
      .then([&] { std::memcpy(to, memory, count); });
}

} // extern "C"
// NOLINTEND(readability-identifier-naming)
