//===- DeviceKernelsTest.cpp - What generated code does with a GPU --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/DeviceKernels.h"
#include "runtime/Support/Call.h"
#include "test/Unit/MockCUDADriver.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attn;
using namespace attn::jit;
using attn::test::MockDriver;
using testing::ElementsAre;

namespace {

class DeviceKernels : public testing::Test {
protected:
  DeviceKernels() {
    driver.reset();
    Expected<cuda::Device> device =
        cuda::Device::open({.ordinal = 0, .driver = ATTN_MOCK_DRIVER});
    EXPECT_TRUE(device);
    const DeviceModule modules[] = {
        {"first", {.architecture = "sm_90a", .ptx = "kernel f 2"}},
        {"second", {.architecture = "sm_90a", .ptx = "kernel f 1"}}};
    auto loaded = jit::DeviceKernels::load(*device, modules);
    EXPECT_TRUE(loaded);
    kernels = *loaded;
  }
  ~DeviceKernels() override {
    kernels.reset();
    EXPECT_EQ(driver.countLive(), 0u);
  }

  /// Runs generated code; gives why it failed, or "".
  std::string run(void (*code)(void **)) {
    DeviceCall call(*kernels, /*stream=*/nullptr);
    support::CallRecord record;
    record.device = &call;
    const char *failure = support::runGuarded(code, nullptr, record);
    return failure ? failure : "";
  }

  MockDriver &driver = MockDriver::get();
  std::shared_ptr<const jit::DeviceKernels> kernels;
};

/// Launches a kernel with arguments 7 and 8.
void launch(const char *module, const char *kernel, std::int64_t grid,
            std::int64_t sharedBytes) {
  const std::int64_t sizes[] = {grid, 2, 3, 32, 4, 5, sharedBytes};
  std::uint64_t first = 7, second = 8;
  void *arguments[] = {&first, &second};
  attn_gpu_launch(module, kernel, sizes, arguments);
}

TEST_F(DeviceKernels, Launches) {
  EXPECT_EQ(run([](void **) {
              launch("first", "f", 9, 60000);
              launch("second", "f", 9, 0);
              launch("second", "f", 0, 0); // Nothing.
            }),
            "");
  ASSERT_EQ(driver.launches.size(), 2u);
  EXPECT_THAT(driver.launches[0].grid, ElementsAre(9, 2, 3));
  EXPECT_THAT(driver.launches[0].block, ElementsAre(32, 4, 5));
  EXPECT_EQ(driver.launches[0].sharedBytes, 60000u);
  EXPECT_THAT(driver.launches[0].arguments, ElementsAre(7, 8));
  EXPECT_THAT(driver.launches[1].arguments, ElementsAre(7));
  EXPECT_EQ(driver.launches[1].sharedBytes, 0u);
}

TEST_F(DeviceKernels, Failures) {
  EXPECT_EQ(run([](void **) { launch("third", "f", 1, 0); }),
            "no kernels of module 'third' are loaded");
  EXPECT_EQ(run([](void **) { launch("first", "g", 1, 0); }),
            "cannot find kernel 'g': CUDA_ERROR_NOT_FOUND (named symbol not "
            "found)");
  EXPECT_EQ(run([](void **) { launch("first", "f", 1, 240000); }),
            "kernel 'f' cannot have 240000 bytes of shared memory: "
            "CUDA_ERROR_INVALID_VALUE (invalid argument)");
  EXPECT_EQ(
      run([](void **) { launch("first", "f", 1, std::int64_t(1) << 40); }),
      "kernel 'f' cannot have 4294967295 bytes of shared memory: "
      "CUDA_ERROR_INVALID_VALUE (invalid argument)");
  EXPECT_TRUE(driver.launches.empty());
}

TEST_F(DeviceKernels, Memory) {
  EXPECT_EQ(run([](void **) {
              void *first = attn_gpu_alloc(100, 64);
              void *second = attn_gpu_alloc(0, 64);
              EXPECT_EQ(MockDriver::get().buffers.size(), 2u);
              attn_gpu_free(first);
              EXPECT_EQ(MockDriver::get().buffers.size(), 1u);
              attn_gpu_free(second);
            }),
            "");
  // What a call that fails still has is freed.
  EXPECT_EQ(run([](void **) {
              attn_gpu_alloc(100, 64);
              attn_gpu_alloc(std::size_t(1) << 40, 64);
            }),
            "cannot allocate 1099511627776 bytes on the GPU: "
            "CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
  EXPECT_TRUE(driver.buffers.empty());
}

} // namespace
