//===- KernelCache.h - A directory of compiled kernels ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_KERNELCACHE_H
#define ATTN_TEST_EXECUTION_KERNELCACHE_H

#include <string>

namespace attn::test {

/// This process's directory of compiled kernels, so that engines of one thread
/// and of several share what one of them compiled. Removed at the end.
const std::string &getCacheDirectory();

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_KERNELCACHE_H
