//===- CUDADeviceTest.cpp - Memory, streams and launches ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/CUDA/Program.h"
#include "test/Unit/FailingCalls.h"
#include "test/Unit/MockCUDADriver.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <thread>

using namespace attn;
using namespace attn::cuda;
using attn::test::MockDriver;
using attn::test::MockLaunch;
using testing::ElementsAre;
using testing::StartsWith;

namespace {

template <typename T> std::string errorOf(const Expected<T> &result) {
  return result ? "" : result.error().message;
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

class CUDADevice : public testing::Test {
protected:
  CUDADevice() { driver.reset(); }
  ~CUDADevice() override {
    EXPECT_EQ(driver.countLive(), 0u);
    EXPECT_EQ(MockDriver::current(), nullptr);
  }

  static Expected<Device> open(int ordinal = 0) {
    return Device::open({.ordinal = ordinal, .driver = ATTN_MOCK_DRIVER});
  }

  MockDriver &driver = MockDriver::get();
};

TEST_F(CUDADevice, NoDriver) {
  EXPECT_THAT(
      errorOf(Device::open({.driver = "/no/libcuda.so.1"})),
      StartsWith("no GPU: cannot load NVIDIA's driver: /no/libcuda.so.1: "));
}

TEST_F(CUDADevice, NotADriver) {
  EXPECT_EQ(errorOf(Device::open({.driver = "libm.so.6"})),
            "no GPU: libm.so.6 has no function cuGetErrorName");
}

TEST_F(CUDADevice, TheSystemsDriver) {
  Expected<Device> device = Device::open();
  if (!device)
    EXPECT_THAT(device.error().message, StartsWith("no GPU: "));
}

TEST_F(CUDADevice, NoGPU) {
  driver.fail(1, 100);
  EXPECT_EQ(errorOf(open()),
            "no GPU: cannot start the driver: CUDA_ERROR_NO_DEVICE (no "
            "CUDA-capable device is detected)");
  driver.reset();
  driver.devices = 0;
  EXPECT_EQ(errorOf(open()), "no GPU: the driver has none");
}

TEST_F(CUDADevice, Ordinals) {
  driver.devices = 2;
  EXPECT_EQ(errorOf(open(1)), "");
  EXPECT_EQ(errorOf(open(2)), "ordinal: expected a GPU from 0 to 1, got 2");
  EXPECT_EQ(errorOf(open(-1)), "ordinal: expected a GPU from 0 to 1, got -1");
}

TEST_F(CUDADevice, WhatItIs) {
  for (auto [major, minor, architecture] :
       {std::tuple(8, 0, "sm_80"), std::tuple(8, 6, "sm_86"),
        std::tuple(9, 0, "sm_90a"), std::tuple(10, 0, "sm_100"),
        std::tuple(12, 1, "sm_121")}) {
    driver.major = major;
    driver.minor = minor;
    Expected<Device> device = open();
    ASSERT_EQ(errorOf(device), "");
    EXPECT_EQ(device->name(), "Mock GPU");
    EXPECT_EQ(device->architecture(), architecture);
    EXPECT_EQ(device->driverVersion(), 13000);
    EXPECT_EQ(device->multiprocessors(), 132);
    EXPECT_EQ(device->sharedBytes(), minor || major == 12 ? 100 << 10
                                     : major == 8         ? 164 << 10
                                                          : 228 << 10);
  }
}

TEST_F(CUDADevice, UnknownErrors) {
  driver.fail(1, 12345);
  EXPECT_EQ(errorOf(open()), "no GPU: cannot start the driver: error 12345");
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST_F(CUDADevice, Copies) {
  Expected<Device> device = open();
  Expected<Stream> stream = device->createStream();
  ASSERT_EQ(errorOf(stream), "");
  const int numbers[] = {1, 2, 3};
  Expected<Buffer> buffer = device->allocate(sizeof(numbers));
  ASSERT_EQ(errorOf(buffer), "");
  EXPECT_EQ(buffer->size(), sizeof(numbers));
  int copies[3] = {};
  EXPECT_EQ(errorOf(buffer->upload(numbers, sizeof(numbers), *stream)), "");
  EXPECT_EQ(errorOf(buffer->download(copies, 2 * sizeof(int), *stream)), "");
  EXPECT_EQ(errorOf(stream->synchronize()), "");
  EXPECT_THAT(copies, ElementsAre(1, 2, 0));

  constexpr const char *tooMuch =
      "expected at most 12 bytes to copy, the size of the buffer, got 13";
  EXPECT_EQ(errorOf(buffer->upload(numbers, 13, *stream)), tooMuch);
  EXPECT_EQ(errorOf(buffer->download(copies, 13, *stream)), tooMuch);
}

TEST_F(CUDADevice, Sizes) {
  Expected<Device> device = open();
  EXPECT_EQ(errorOf(device->allocate(0)), "");
  EXPECT_EQ(errorOf(device->allocate(std::size_t(1) << 40)),
            "cannot allocate 1099511627776 bytes on the GPU: "
            "CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
}

TEST_F(CUDADevice, Pools) {
  {
    Expected<Device> device = open();
    ASSERT_EQ(driver.pools.size(), 1u);
    // It keeps what is freed.
    EXPECT_EQ(driver.pools.begin()->second, ~std::uint64_t(0));
    Expected<CUdeviceptr> address =
        device->allocateInStream(100, /*stream=*/nullptr);
    ASSERT_EQ(errorOf(address), "");
    EXPECT_TRUE(device->freeInStream(*address, nullptr));
  }
  EXPECT_TRUE(driver.pools.empty());
  driver.hasPools = false;
  Expected<Device> device = open();
  EXPECT_TRUE(driver.pools.empty());
  EXPECT_EQ(errorOf(device->allocateInStream(100, nullptr)),
            "cannot allocate 100 bytes on the GPU: Mock GPU has no pools of "
            "memory");
}

TEST_F(CUDADevice, Fill) {
  Expected<Device> device = open();
  Expected<Stream> stream = device->createStream();
  Expected<Buffer> buffer = device->allocate(3);
  ASSERT_EQ(errorOf(buffer), "");
  EXPECT_EQ(errorOf(buffer->fill(7, *stream)), "");
  unsigned char bytes[3] = {};
  EXPECT_EQ(errorOf(buffer->download(bytes, sizeof(bytes), *stream)), "");
  EXPECT_THAT(bytes, ElementsAre(7, 7, 7));
}

TEST_F(CUDADevice, WhetherWorkIsDone) {
  Expected<Device> device = open();
  Expected<Stream> stream = device->createStream();
  Expected<Event> event = device->createEvent();
  ASSERT_EQ(errorOf(event), "");
  EXPECT_EQ(errorOf(event->record(*stream)), "");
  Expected<bool> isDone = event->isDone();
  ASSERT_EQ(errorOf(isDone), "");
  EXPECT_FALSE(*isDone);
  // Of another stream, and of one that had more to do.
  Expected<Stream> otherStream = device->createStream();
  Expected<Event> other = device->createEvent(), later = device->createEvent();
  EXPECT_EQ(errorOf(other->record(*otherStream)), "");
  EXPECT_EQ(errorOf(later->record(*stream)), "");
  EXPECT_EQ(errorOf(event->synchronize()), "");
  EXPECT_TRUE(*event->isDone());
  EXPECT_FALSE(*later->isDone());
  EXPECT_EQ(errorOf(stream->synchronize()), "");
  EXPECT_TRUE(*later->isDone());
  EXPECT_FALSE(*other->isDone());
  other = Error{};
  EXPECT_TRUE(driver.pending.empty());
  driver.fail(2, 719);
  EXPECT_EQ(errorOf(event->isDone()),
            "work on the GPU failed: CUDA_ERROR_LAUNCH_FAILED (unspecified "
            "launch failure)");
}

TEST_F(CUDADevice, OutlivesItsOwner) {
  Expected<Device> device = open();
  Expected<Buffer> first = device->allocate(4), second = device->allocate(8);
  device = Error{};
  EXPECT_EQ(driver.contexts, 1u);
  EXPECT_EQ(driver.buffers.size(), 2u);
  *first = std::move(*second); // Frees what it had, at the latest with second.
  second = Error{};
  EXPECT_EQ(driver.buffers.size(), 1u);
  EXPECT_EQ(first->size(), 8u);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

const DeviceCode code = {.architecture = "sm_90a",
                         .ptx = "kernel saxpy 8\nkernel empty 0\n"};

TEST_F(CUDADevice, Launch) {
  Expected<Device> device = open();
  Expected<Stream> stream = device->createStream();
  Expected<Program> program = Program::load(*device, code);
  ASSERT_EQ(errorOf(program), "");
  Expected<Function> saxpy = program->getFunction("saxpy", 64 * 1024);
  ASSERT_EQ(errorOf(saxpy), "");
  Expected<Function> empty = program->getFunction("empty", 48 * 1024);
  ASSERT_EQ(errorOf(empty), "");
  program = Error{}; // Its functions keep the code.
  LaunchArguments arguments;
  arguments.add(2.0f);
  const std::int64_t sizes[] = {3, 5}, strides[] = {10, 1};
  arguments.addMemRef(0x1000, sizes, strides);
  EXPECT_EQ(arguments.size(), 8u);
  EXPECT_EQ(errorOf(saxpy->launch({{7, 2, 3}, {32, 4, 5}}, arguments, *stream)),
            "");
  EXPECT_EQ(errorOf(empty->launch({}, {}, *stream)), "");

  ASSERT_EQ(driver.launches.size(), 2u);
  const MockLaunch &launch = driver.launches[0];
  EXPECT_EQ(launch.kernel, "saxpy");
  EXPECT_THAT(launch.grid, ElementsAre(7, 2, 3));
  EXPECT_THAT(launch.block, ElementsAre(32, 4, 5));
  EXPECT_EQ(launch.sharedBytes, 64u * 1024);
  EXPECT_EQ(launch.stream, stream->raw());
  EXPECT_THAT(launch.arguments,
              ElementsAre(0x40000000, 0x1000, 0x1000, 0, 3, 5, 10, 1));
  EXPECT_EQ(driver.launches[1].kernel, "empty");
  EXPECT_THAT(driver.launches[1].grid, ElementsAre(1, 1, 1));
  // Only what is more than 48 KiB has to be asked for.
  EXPECT_THAT(driver.sharedLimits,
              ElementsAre(std::pair(std::string("saxpy"), 64 * 1024)));
}

TEST_F(CUDADevice, EmptyGrids) {
  Expected<Device> device = open();
  Expected<Stream> stream = device->createStream();
  Expected<Program> program = Program::load(*device, code);
  ASSERT_EQ(errorOf(program), "");
  Expected<Function> empty = program->getFunction("empty");
  ASSERT_EQ(errorOf(empty), "");
  for (std::array<unsigned, 3> grid :
       {std::array{0u, 1u, 1u}, {1u, 0u, 1u}, {1u, 1u, 0u}})
    EXPECT_EQ(errorOf(empty->launch({.grid = grid}, {}, *stream)), "");
  EXPECT_TRUE(driver.launches.empty());
}

TEST_F(CUDADevice, MachineCodeFirst) {
  Expected<Device> device = open();
  DeviceCode both = code;
  both.cubin = "kernel other 0";
  Expected<Program> program = Program::load(*device, both);
  ASSERT_EQ(errorOf(program), "");
  EXPECT_EQ(errorOf(program->getFunction("other")), "");
}

TEST_F(CUDADevice, PTXWhereMachineCodeIsNotTaken) {
  Expected<Device> device = open();
  DeviceCode both = code;
  both.cubin = "kernel other 0";
  for (auto [result, why] :
       {std::pair(200, "CUDA_ERROR_INVALID_IMAGE (device kernel image is "
                       "invalid)"),
        std::pair(209, "CUDA_ERROR_NO_BINARY_FOR_GPU (no kernel image is "
                       "available for execution on the device)"),
        std::pair(222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (the provided PTX "
                       "was compiled with an unsupported toolchain.)")}) {
    driver.ofMachineCode = result;
    both.ptx = "// .version 8.0";
    Expected<Program> program = Program::load(*device, both);
    ASSERT_EQ(errorOf(program), "");
    EXPECT_EQ(program->remark(),
              "is compiled by the driver, which does not take the machine code "
              "of ptxas: cannot load kernels for sm_90a on Mock GPU: " +
                  std::string(why));
    // If there is none, that is the error.
    both.ptx = "";
    EXPECT_EQ(errorOf(Program::load(*device, both)),
              "cannot load kernels for sm_90a on Mock GPU: " +
                  std::string(why));
  }
  // Another error is not about the code.
  both.ptx = code.ptx;
  driver.ofMachineCode = 2;
  EXPECT_EQ(errorOf(Program::load(*device, both)),
            "cannot load kernels for sm_90a on Mock GPU: "
            "CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
}

TEST_F(CUDADevice, DriversThatAreTooOld) {
  struct {
    const char *ptx;
    int tooOld, enough;
    const char *expected, *got;
  } cases[] = {{"8.0", 11080, 12000, "12.0", "11.8"},
               {"8.5", 12040, 12050, "12.5", "12.4"},
               {"8.6", 12060, 12070, "12.7", "12.6"},
               {"8.8", 12080, 12090, "12.9", "12.8"},
               {"9.0", 12090, 13000, "13.0", "12.9"},
               {"9.1", 13000, 13010, "13.1", "13.0"}};
  for (const auto &each : cases) {
    DeviceCode ptx = {.architecture = "sm_80",
                      .ptx = "//\n.version " + std::string(each.ptx) + "\n"};
    driver.version = each.tooOld;
    Expected<Device> device = open();
    EXPECT_EQ(errorOf(Program::load(*device, ptx)),
              "cannot load kernels for sm_80 on Mock GPU: expected a driver of "
              "CUDA " +
                  std::string(each.expected) + " or later, got one of CUDA " +
                  each.got);
    driver.version = each.enough;
    device = open();
    EXPECT_EQ(errorOf(Program::load(*device, ptx)), "");
  }
}

TEST_F(CUDADevice, BeyondTheArchitecture) {
  Expected<Device> device = open();
  Expected<Stream> stream = device->createStream();
  Expected<Program> program =
      Program::load(*device, {.architecture = "sm_90a",
                              .ptx = "kernel f 0 registers 168 shared 1024\n"});
  auto launch = [&](const LaunchSize &size, unsigned sharedBytes = 0) {
    Expected<Function> function = program->getFunction("f", sharedBytes);
    return function ? errorOf(function->launch(size, {}, *stream))
                    : function.error().message;
  };
  constexpr const char *invalid =
      "cannot launch kernel 'f': CUDA_ERROR_INVALID_VALUE (invalid argument)";
  EXPECT_EQ(launch({.grid = {0x7fffffff, 65535, 65535}, .block = {384, 1, 1}}),
            "");
  EXPECT_EQ(launch({.grid = {0x80000000, 1, 1}}), invalid);
  EXPECT_EQ(launch({.grid = {1, 65536, 1}}), invalid);
  EXPECT_EQ(launch({.grid = {1, 1, 65536}}), invalid);
  EXPECT_EQ(launch({.block = {1, 1, 65}}), invalid);
  EXPECT_EQ(launch({.block = {1025, 1, 1}}), invalid);
  // 48 KiB that nobody has to ask for are of static and dynamic ones together.
  EXPECT_EQ(launch({}, 47 << 10), "");
  EXPECT_EQ(launch({}, 48 << 10), invalid);
  EXPECT_EQ(launch({.block = {385, 1, 1}}),
            "cannot launch kernel 'f': CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (too "
            "many resources requested for launch)");
  EXPECT_EQ(launch({}, 226 << 10), "");
  EXPECT_THAT(launch({}, 227 << 10), StartsWith("kernel 'f' cannot have"));
  driver.major = 8;
  EXPECT_EQ(launch({}, 162 << 10), "");
  EXPECT_THAT(launch({}, 163 << 10), StartsWith("kernel 'f' cannot have"));
  driver.minor = 6;
  EXPECT_EQ(launch({}, 98 << 10), "");
  EXPECT_THAT(launch({}, 99 << 10), StartsWith("kernel 'f' cannot have"));
}

/// A kernel has the buffers that it names, and not those whose names begin
/// alike; more than 48 KiB of them leave no room.
TEST_F(CUDADevice, SharedMemoryOfPTX) {
  Expected<Device> device = open();
  Expected<Stream> stream = device->createStream();
  Expected<Program> program =
      Program::load(*device, {.architecture = "sm_90a", .ptx = R"(.version 8.0
.shared .align 16 .b8 tile[1024];
.shared .align 16 .b8 tile_1[49152];
.visible .entry one()
mov.u32 %r1, tile;
.visible .entry other()
mov.u32 %r1, tile_1;
.visible .entry both()
mov.u32 %r1, tile;
mov.u32 %r1, tile_1;
)"});
  ASSERT_EQ(errorOf(program), "");
  auto launch = [&](const char *name, unsigned sharedBytes) {
    Expected<Function> function = program->getFunction(name, sharedBytes);
    return function ? errorOf(function->launch({}, {}, *stream))
                    : function.error().message;
  };
  EXPECT_EQ(launch("one", 47 << 10), "");
  EXPECT_EQ(launch("other", 0), "");
  EXPECT_THAT(launch("other", 1), StartsWith("cannot launch kernel 'other'"));
  EXPECT_THAT(launch("both", 0), StartsWith("cannot launch kernel 'both'"));
}

TEST_F(CUDADevice, WrongLaunches) {
  Expected<Device> device = open();
  Expected<Stream> stream = device->createStream();
  EXPECT_EQ(
      errorOf(Program::load(*device,
                            {.architecture = "sm_90a", .ptx = "nonsense"})),
      "cannot load kernels for sm_90a on Mock GPU: CUDA_ERROR_INVALID_PTX "
      "(a PTX JIT compilation failed)\n"
      "ptxas fatal : cannot compile 'nonsense'");
  Expected<Program> program = Program::load(*device, code);
  EXPECT_EQ(
      errorOf(program->getFunction("sgemm")),
      "cannot find kernel 'sgemm': CUDA_ERROR_NOT_FOUND (named symbol not "
      "found)");
  EXPECT_EQ(errorOf(program->getFunction("empty", 228 * 1024)),
            "kernel 'empty' cannot have 233472 bytes of shared memory: "
            "CUDA_ERROR_INVALID_VALUE (invalid argument)");
  EXPECT_EQ(errorOf(program->getFunction("empty")->launch({.block = {0}}, {},
                                                          *stream)),
            "cannot launch kernel 'empty': CUDA_ERROR_INVALID_VALUE (invalid "
            "argument)");
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

/// Everything once.
Status runEverything() {
  Expected<Device> device =
      Device::open({.ordinal = 0, .driver = ATTN_MOCK_DRIVER});
  if (!device)
    return device.error();
  Expected<Stream> stream = device->createStream();
  if (!stream)
    return stream.error();
  Expected<Event> start = device->createEvent(), end = device->createEvent();
  if (!start || !end)
    return start ? end.error() : start.error();
  Expected<Buffer> buffer = device->allocate(4);
  if (!buffer)
    return buffer.error();
  Expected<Program> program = Program::load(*device, code);
  if (!program)
    return program.error();
  Expected<Function> function = program->getFunction("empty", 100000);
  if (!function)
    return function.error();
  int number = 1;
  Status status = start->record(*stream);
  if (status)
    status = buffer->upload(&number, sizeof(number), *stream);
  if (status)
    status = function->launch({}, {}, *stream);
  if (status)
    status = buffer->download(&number, sizeof(number), *stream);
  if (status)
    status = end->record(*stream);
  if (status)
    status = stream->wait(*start);
  if (status)
    status = end->synchronize();
  if (status)
    status = stream->synchronize();
  if (!status)
    return status;
  Expected<float> time = end->millisecondsSince(*start);
  if (!time)
    return time.error();
  EXPECT_EQ(*time, 1.5f);
  return {};
}

TEST_F(CUDADevice, EveryCallFails) {
  attn::test::expectEveryFailureIsSaid(
      runEverything, 719,
      "CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure)");
}

TEST_F(CUDADevice, LostContext) {
  Expected<Device> device = open();
  Expected<Stream> stream = device->createStream();
  driver.fail(1, 700, /*forever=*/true);
  EXPECT_EQ(errorOf(stream->synchronize()),
            "cannot use the GPU: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory "
            "access was encountered)");
  driver.fail(2, 700, /*forever=*/true);
  EXPECT_EQ(errorOf(stream->synchronize()),
            "work on the GPU failed: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal "
            "memory access was encountered)");
}

TEST_F(CUDADevice, Threads) {
  Expected<Device> device = open();
  Expected<Program> program = Program::load(*device, code);
  Expected<Function> function = program->getFunction("empty");
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        Expected<Stream> stream = device->createStream();
        ASSERT_EQ(errorOf(stream), "");
        Expected<Buffer> buffer = device->allocate(sizeof(i));
        ASSERT_EQ(errorOf(buffer), "");
        int copy = -1;
        ASSERT_EQ(errorOf(buffer->upload(&i, sizeof(i), *stream)), "");
        ASSERT_EQ(errorOf(function->launch({}, {}, *stream)), "");
        ASSERT_EQ(errorOf(buffer->download(&copy, sizeof(i), *stream)), "");
        ASSERT_EQ(errorOf(stream->synchronize()), "");
        ASSERT_EQ(copy, i);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(driver.launches.size(), 400u);
}

} // namespace
