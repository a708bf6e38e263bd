//===- Driver.h - What is used of CUDA's driver API -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver's library is opened when a GPU is asked for: neither a build nor a
// program without a GPU needs it, or CUDA's headers. Types and functions are
// those of the CUDA Driver API Reference
// (docs.nvidia.com/cuda/cuda-driver-api).
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_DRIVER_H
#define ATTN_RUNTIME_CUDA_DRIVER_H

#include "attn/error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace attn::cuda {

using CUresult = int; ///< 0 is success.
using CUdevice = int;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUmemoryPool = struct CUmemPoolHandle_st *;
using CUdeviceptr = std::uint64_t;

/// CUmemPoolProps.
struct CUmemPoolProps {
  int allocType;   ///< 1: CU_MEM_ALLOCATION_TYPE_PINNED.
  int handleTypes; ///< 0: other processes do not get it.
  struct {
    int type; ///< 1: CU_MEM_LOCATION_TYPE_DEVICE.
    int id;   ///< The device.
  } location;
  void *win32SecurityAttributes;
  std::size_t maxSize; ///< 0: what the GPU has.
  unsigned short usage;
  unsigned char reserved[54];
};
static_assert(sizeof(CUmemPoolProps) == 88);

// CUresult.
inline constexpr CUresult invalidImage = 200;
inline constexpr CUresult noBinaryForGPU = 209;
inline constexpr CUresult unsupportedPTXVersion = 222;
inline constexpr CUresult notReady = 600;

// CUdevice_attribute, CUfunction_attribute, CUmemPool_attribute, CUjit_option,
// CUstream_flags.
inline constexpr int multiprocessorCount = 16;
inline constexpr int computeCapabilityMajor = 75;
inline constexpr int computeCapabilityMinor = 76;
inline constexpr int maxSharedMemoryPerMultiprocessor = 81;
inline constexpr int memoryPoolsSupported = 115;
inline constexpr int maxDynamicSharedSizeBytes = 8;
inline constexpr int poolReleaseThreshold = 4;
inline constexpr int jitErrorLogBuffer = 5;
inline constexpr int jitErrorLogBufferSizeBytes = 6;
inline constexpr unsigned streamNonBlocking = 1;

/// X(name, symbol, types of the parameters): every function that is used. A
/// symbol with a suffix is what the CUDA headers of today make of the name.
#define ATTN_CUDA_FUNCTIONS(X)                                                 \
  X(getErrorName, "cuGetErrorName", (CUresult, const char **))                 \
  X(getErrorString, "cuGetErrorString", (CUresult, const char **))             \
  X(init, "cuInit", (unsigned))                                                \
  X(driverGetVersion, "cuDriverGetVersion", (int *))                           \
  X(deviceGetCount, "cuDeviceGetCount", (int *))                               \
  X(deviceGet, "cuDeviceGet", (CUdevice *, int))                               \
  X(deviceGetName, "cuDeviceGetName", (char *, int, CUdevice))                 \
  X(deviceGetAttribute, "cuDeviceGetAttribute", (int *, int, CUdevice))        \
  X(primaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))     \
  X(primaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice))             \
  X(ctxPushCurrent, "cuCtxPushCurrent_v2", (CUcontext))                        \
  X(ctxPopCurrent, "cuCtxPopCurrent_v2", (CUcontext *))                        \
  X(moduleLoadDataEx, "cuModuleLoadDataEx",                                    \
    (CUmodule *, const void *, unsigned, int *, void **))                      \
  X(moduleUnload, "cuModuleUnload", (CUmodule))                                \
  X(moduleGetFunction, "cuModuleGetFunction",                                  \
    (CUfunction *, CUmodule, const char *))                                    \
  X(funcSetAttribute, "cuFuncSetAttribute", (CUfunction, int, int))            \
  X(launchKernel, "cuLaunchKernel",                                            \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
     unsigned, CUstream, void **, void **))                                    \
  X(streamCreate, "cuStreamCreate", (CUstream *, unsigned))                    \
  X(streamDestroy, "cuStreamDestroy_v2", (CUstream))                           \
  X(streamSynchronize, "cuStreamSynchronize", (CUstream))                      \
  X(streamWaitEvent, "cuStreamWaitEvent", (CUstream, CUevent, unsigned))       \
  X(eventCreate, "cuEventCreate", (CUevent *, unsigned))                       \
  X(eventDestroy, "cuEventDestroy_v2", (CUevent))                              \
  X(eventRecord, "cuEventRecord", (CUevent, CUstream))                         \
  X(eventQuery, "cuEventQuery", (CUevent))                                     \
  X(eventSynchronize, "cuEventSynchronize", (CUevent))                         \
  X(eventElapsedTime, "cuEventElapsedTime", (float *, CUevent, CUevent))       \
  X(memAlloc, "cuMemAlloc_v2", (CUdeviceptr *, std::size_t))                   \
  X(memFree, "cuMemFree_v2", (CUdeviceptr))                                    \
  X(memPoolCreate, "cuMemPoolCreate",                                          \
    (CUmemoryPool *, const CUmemPoolProps *))                                  \
  X(memPoolDestroy, "cuMemPoolDestroy", (CUmemoryPool))                        \
  X(memPoolSetAttribute, "cuMemPoolSetAttribute", (CUmemoryPool, int, void *)) \
  X(memAllocFromPoolAsync, "cuMemAllocFromPoolAsync",                          \
    (CUdeviceptr *, std::size_t, CUmemoryPool, CUstream))                      \
  X(memFreeAsync, "cuMemFreeAsync", (CUdeviceptr, CUstream))                   \
  X(memsetD8Async, "cuMemsetD8Async",                                          \
    (CUdeviceptr, unsigned char, std::size_t, CUstream))                       \
  X(memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                   \
    (CUdeviceptr, const void *, std::size_t, CUstream))                        \
  X(memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                   \
    (void *, CUdeviceptr, std::size_t, CUstream))

/// A version as cuDriverGetVersion gives it: "12.4", say.
std::string spellVersion(int version);

/// The functions of an initialized driver.
class Driver {
public:
  /// Opens the library at `path`, or the system's if it is empty. Where there
  /// is none, where it lacks a function, or where it finds no GPU, an error
  /// that starts with "no GPU: ". A library stays open for as long as the
  /// process lives, because drivers have threads of their own.
  static Expected<std::shared_ptr<const Driver>> open(const std::string &path);

  /// Success, or "what: CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  Status check(CUresult code, const std::string &what) const;

// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration has none.
#define ATTN_CUDA_MEMBER(name, symbol, parameters) CUresult(*name) parameters;
  ATTN_CUDA_FUNCTIONS(ATTN_CUDA_MEMBER)
#undef ATTN_CUDA_MEMBER

private:
  Driver() = default;
};

} // namespace attn::cuda

#endif // ATTN_RUNTIME_CUDA_DRIVER_H
