//===- Driver.cpp - What is used of CUDA's driver API ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/CUDA/Driver.h"

#include <dlfcn.h>

using namespace attn;
using namespace attn::cuda;

std::string cuda::spellVersion(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

static Error makeNoGPU(const std::string &why) {
  return {"no GPU: " + why, {}};
}

/// Finds a function in the library. True if it is there.
template <typename Function>
static bool find(void *library, const char *symbol, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  return function != nullptr;
}

Expected<std::shared_ptr<const Driver>> Driver::open(const std::string &path) {
  const char *name = path.empty() ? "libcuda.so.1" : path.c_str();
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeNoGPU(std::string("cannot load NVIDIA's driver: ") + dlerror());
  std::shared_ptr<Driver> driver(new Driver());
#define ATTN_CUDA_FIND(member, symbol, parameters)                             \
  if (!find(library, symbol, driver->member))                                  \
    return makeNoGPU(std::string(name) + " has no function " symbol);
  ATTN_CUDA_FUNCTIONS(ATTN_CUDA_FIND)
#undef ATTN_CUDA_FIND
  if (Status status = driver->check(driver->init(0), "cannot start the driver");
      !status)
    return makeNoGPU(status.error().message);
  return std::shared_ptr<const Driver>(std::move(driver));
}

Status Driver::check(CUresult code, const std::string &what) const {
  if (code == 0)
    return {};
  const char *name = nullptr, *text = nullptr;
  std::string message = what + ": ";
  if (getErrorName(code, &name) == 0 && name)
    message += name;
  else
    message += "error " + std::to_string(code);
  if (getErrorString(code, &text) == 0 && text)
    message += " (" + std::string(text) + ")";
  return Error{std::move(message), {}};
}
