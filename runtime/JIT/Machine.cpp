//===- Machine.cpp - Caches of this machine -------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/Machine.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"

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

Machine attn::jit::readMachine(const std::string &folder) {
  Machine machine;
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
    std::int64_t bytes = parseBytes(readLine(cache + "size"));
    if (level == "1")
      machine.l1Bytes = bytes;
    else if (level == "2")
      machine.l2Bytes = bytes;
  }
  return machine;
}

std::string Machine::text() const {
  std::string result;
  // What `#attn.target` would refuse is as good as not known.
  for (auto [name, value, least] : {std::tuple("l1_bytes", l1Bytes, 4096),
                                    std::tuple("l2_bytes", l2Bytes, 1),
                                    std::tuple("page_bytes", pageBytes, 4096)})
    if (value >= least)
      result += std::string(", ") + name + " = " + std::to_string(value);
  return result;
}
