//===- Machine.cpp - Caches of this machine -------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/Machine.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"

#include <algorithm>
#include <tuple>

using namespace attn::jit;

/// The only line of a file; empty if it cannot be read.
static std::string readLine(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFileAsStream(path);
  return file ? (*file)->getBuffer().trim().str() : std::string();
}

/// A size such as "32K"; 0 if it is none.
static std::int64_t parseBytes(llvm::StringRef text) {
  std::int64_t unit = text.consume_back("K")   ? 1 << 10
                      : text.consume_back("M") ? 1 << 20
                                               : 1;
  std::int64_t number = 0;
  constexpr std::int64_t most = std::int64_t(1) << 40;
  bool isNone =
      text.getAsInteger(10, number) || number < 0 || number > most / unit;
  return isNone ? 0 : number * unit;
}

/// The processors of a list such as "0-3,8"; 0 if it is none.
static std::int64_t countProcessors(llvm::StringRef list) {
  std::int64_t count = 0;
  for (llvm::StringRef range : llvm::split(list, ",")) {
    auto [firstText, lastText] = range.split('-');
    std::int64_t first = 0, last = 0;
    if (firstText.getAsInteger(10, first))
      return 0;
    if (lastText.empty())
      last = first;
    else if (lastText.getAsInteger(10, last))
      return 0;
    if (first < 0 || last < first || last > 1 << 20)
      return 0;
    count += last - first + 1;
  }
  return count;
}

Machine attn::jit::readMachine(const std::string &folder) {
  Machine machine;
  if (llvm::Expected<unsigned> bytes = llvm::sys::Process::getPageSize())
    machine.pageBytes = *bytes;
  else
    llvm::consumeError(bytes.takeError());
  // All are taken to be like the first one. Processors that are threads of one
  // core share what it has.
  std::int64_t threads = std::max<std::int64_t>(
      countProcessors(readLine(folder + "/cpu0/topology/thread_siblings_list")),
      1);
  auto countCores = [&](const std::string &list) {
    return countProcessors(readLine(list)) / threads;
  };
  machine.cores = countCores(folder + "/online");
  for (int index = 0; index < 8; ++index) {
    std::string cache =
        folder + "/cpu0/cache/index" + std::to_string(index) + "/";
    std::string level = readLine(cache + "level");
    if (level.empty() || readLine(cache + "type") == "Instruction")
      continue;
    std::int64_t bytes =
        parseBytes(readLine(cache + "size")) /
        std::max<std::int64_t>(countCores(cache + "shared_cpu_list"), 1);
    if (level == "1") {
      machine.l1Bytes = bytes;
      std::int64_t line = parseBytes(readLine(cache + "coherency_line_size"));
      if (llvm::isPowerOf2_64(std::uint64_t(line)) && line <= 256)
        machine.lineBytes = line;
    } else if (level == "2") {
      machine.l2Bytes = bytes;
    }
  }
  return machine;
}

std::string Machine::text() const {
  std::string result;
  // What `#attn.target` would refuse is as good as not known.
  for (auto [name, value, least] :
       {std::tuple("cores", cores, 1), std::tuple("l1_bytes", l1Bytes, 4096),
        std::tuple("l2_bytes", l2Bytes, 1),
        std::tuple("line_bytes", lineBytes, 32),
        std::tuple("page_bytes", pageBytes, 4096)})
    if (value >= least)
      result += std::string(", ") + name + " = " + std::to_string(value);
  return result;
}
