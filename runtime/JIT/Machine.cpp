//===- Machine.cpp - Caches and cores of this machine ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/Machine.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"

#include <thread>
#include <utility>

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

/// How many processors a list such as "0-3,8" has; 0 if it is none.
static std::int64_t countProcessors(llvm::StringRef list) {
  std::int64_t count = 0;
  llvm::SmallVector<llvm::StringRef> ranges;
  list.split(ranges, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef range : ranges) {
    auto [from, to] = range.split('-');
    unsigned first = 0, last = 0;
    if (from.getAsInteger(10, first))
      return 0;
    if (to.empty())
      last = first;
    else if (to.getAsInteger(10, last) || last < first || last >= 1 << 16)
      return 0;
    count += std::int64_t(last) - first + 1;
  }
  return count;
}

Machine attn::jit::readMachine(const std::string &folder) {
  Machine machine;
  machine.cores = std::thread::hardware_concurrency();
  if (llvm::Expected<unsigned> bytes = llvm::sys::Process::getPageSize())
    machine.pageBytes = *bytes;
  else
    llvm::consumeError(bytes.takeError());
  // The first processor's, as all are taken to be alike.
  for (int index = 0; index < 8; ++index) {
    std::string cache =
        folder + "/cpu0/cache/index" + std::to_string(index) + "/";
    std::string level = readLine(cache + "level");
    if (level.empty() || readLine(cache + "type") == "Instruction")
      continue;
    std::int64_t bytes = parseBytes(readLine(cache + "size")),
                 cores = countProcessors(readLine(cache + "shared_cpu_list"));
    if (level == "1") {
      machine.l1Bytes = bytes;
      machine.lineBytes = parseBytes(readLine(cache + "coherency_line_size"));
    } else if (level == "2") {
      machine.l2Bytes = bytes;
      machine.l2Cores = cores;
    } else if (level == "3") {
      machine.l3Bytes = bytes;
      machine.l3Cores = cores;
    }
  }
  return machine;
}

std::string Machine::text() const {
  std::string result;
  // What `#attn.target` would refuse is as good as not known.
  auto isKnown = [](llvm::StringRef name, std::int64_t value) {
    if (name == "line_bytes")
      return value == 32 || value == 64 || value == 128 || value == 256;
    if (name == "l1_bytes" || name == "page_bytes")
      return value >= 4096;
    return value > 0 && (!name.ends_with("cores") || value <= 1 << 16);
  };
  for (auto [name, value] :
       {std::pair("cores", cores), std::pair("l1_bytes", l1Bytes),
        std::pair("l2_bytes", l2Bytes), std::pair("l2_cores", l2Cores),
        std::pair("l3_bytes", l3Bytes), std::pair("l3_cores", l3Cores),
        std::pair("line_bytes", lineBytes), std::pair("page_bytes", pageBytes)})
    if (isKnown(name, value))
      result += std::string(", ") + name + " = " + std::to_string(value);
  return result;
}
