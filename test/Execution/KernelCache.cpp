//===- KernelCache.cpp - A directory of compiled kernels ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/KernelCache.h"
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

const std::string &attn::test::getCacheDirectory() {
  struct Directory {
    std::string path =
        std::filesystem::temp_directory_path() / "attn-kernels-XXXXXX";
    Directory() {
      if (!mkdtemp(path.data())) {
        std::perror(path.c_str());
        std::abort();
      }
    }
    ~Directory() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Directory directory;
  return directory.path;
}
