//===- KernelSeeds.cpp - Kernels to make others of ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Fuzz/KernelSeeds.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace attn::test;
using std::string;

static std::vector<std::filesystem::path> findFiles() {
  std::vector<std::filesystem::path> files;
  for (const char *folder : {"test", "examples"})
    for (const auto &entry : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(ATTN_SOURCE_DIR) / folder))
      if (entry.path().extension() == ".mlir")
        files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<string> attn::test::readKernelSeeds() {
  std::vector<string> seeds;
  string seed;
  auto finish = [&] {
    if (seed.size() <= maxSeedSize && seed.find("func.func") != string::npos)
      seeds.push_back(seed);
    seed.clear();
  };
  for (const std::filesystem::path &file : findFiles()) {
    std::ifstream stream(file);
    for (string line; std::getline(stream, line);) {
      if (line.starts_with("// -----"))
        finish();
      std::size_t end =
          std::min(line.find("//"), line.find_last_not_of(' ') + 1);
      if (end)
        seed += line.substr(0, end) + "\n";
    }
    finish();
  }
  return seeds;
}

std::vector<string> attn::test::findFunctions(std::string_view text) {
  constexpr std::string_view keyword = "func.func ";
  std::vector<string> names;
  for (std::size_t i = text.find(keyword); i != string::npos;
       i = text.find(keyword, i + 1)) {
    std::size_t at = text.find('@', i), end = text.find('(', i);
    if (at < end && end != string::npos)
      names.emplace_back(text.substr(at + 1, end - at - 1));
  }
  return names;
}
