//===- DeviceCode.cpp - The machine code of kernels for GPUs --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/DeviceCode.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <sstream>
#include <tuple>

using namespace attn;
using namespace attn::test;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::vector<DeviceInstruction> test::readKernel(const std::string &disassembly,
                                                const std::string &kernel) {
  // "        /*0a50*/               @P0 BRA `(.L_x_0) ;" and ".L_x_0:".
  static const std::regex instruction(
      R"(^\s+/\*[0-9a-f]+\*/\s+(@!?U?P\w+\s+)?([A-Z0-9_.]+)\s*([^;]*);)");
  static const std::regex label(R"(^(\.L_x_\w+):)");
  static const std::regex reference(R"(`\((\.L_x_\w+)\))");
  std::vector<DeviceInstruction> code;
  std::map<std::string, size_t> labels;
  std::vector<std::string> targets; ///< Of branches.
  std::istringstream lines(disassembly);
  bool isInside = false;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (line.starts_with(".text."))
      isInside = line == ".text." + kernel + ":";
    else if (!isInside)
      continue;
    else if (std::regex_search(line, match, label))
      labels[match[1]] = code.size();
    else if (std::regex_search(line, match, instruction)) {
      std::string operands = match[3];
      DeviceInstruction next{match[2], match[1].matched, {}};
      std::smatch target;
      bool isBranch = next.mnemonic.starts_with("BRA") &&
                      std::regex_search(operands, target, reference);
      targets.push_back(isBranch ? target[1].str() : "");
      // "BRA P0, `(.L_x_0)", and "BRA.DIV UR4, ..." of threads that diverge.
      next.isPredicated |= isBranch && operands.front() != '`';
      code.push_back(next);
    }
  }
  for (size_t i = 0; i < code.size(); ++i)
    if (auto found = labels.find(targets[i]); found != labels.end())
      code[i].target = found->second;
  return code;
}

Expected<std::string> test::disassemble(const std::string &nvdisasm,
                                        const std::string &cubin) {
  llvm::SmallString<128> input, output;
  for (llvm::SmallString<128> *path : {&input, &output})
    if (std::error_code error =
            llvm::sys::fs::createTemporaryFile("attn", "cubin", *path))
      return Error{"cannot create a temporary file: " + error.message(), {}};
  llvm::FileRemover removeInput(input), removeOutput(output);
  std::ofstream(input.c_str(), std::ios::binary) << cubin;
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), output.str(),
                                                output.str()};
  int code = llvm::sys::ExecuteAndWait(nvdisasm, {nvdisasm, "-c", input},
                                       /*Env=*/std::nullopt, redirects);
  auto text = llvm::MemoryBuffer::getFile(output);
  if (!text)
    return Error{nvdisasm + ": " + text.getError().message(), {}};
  if (code != 0)
    return Error{nvdisasm + ": " + (*text)->getBuffer().str(), {}};
  return (*text)->getBuffer().str();
}

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

namespace {

using Code = std::vector<DeviceInstruction>;

/// What is to be most, first things first.
using Score = std::array<long, 3>;

bool starts(const DeviceInstruction &instruction, const char *prefix) {
  return instruction.mnemonic.starts_with(prefix);
}

bool isNarrow(const DeviceInstruction &instruction) {
  const std::string &name = instruction.mnemonic;
  return (name.starts_with("LDG") || name.starts_with("STG")) &&
         (name.find(".U16") != std::string::npos ||
          name.find(".S16") != std::string::npos ||
          name.find(".U8") != std::string::npos ||
          name.find(".S8") != std::string::npos);
}

/// The best path from `first` to `last`, without going back; empty if there is
/// none.
std::vector<size_t>
findPath(const Code &code, size_t first, size_t last,
         const std::function<Score(const DeviceInstruction &, size_t)> &score) {
  struct Best {
    bool isThere = false;
    Score score = {};
    size_t next = 0;
  };
  std::vector<Best> best(code.size() + 1);
  for (size_t i = last + 1; i-- > first;) {
    Best &own = best[i];
    auto consider = [&](size_t next) {
      if (next > last || !best[next].isThere ||
          (own.isThere && best[next].score <= own.score))
        return;
      own = {true, best[next].score, next};
    };
    const DeviceInstruction &instruction = code[i];
    if (i == last) {
      own.isThere = true;
    } else {
      bool ends = starts(instruction, "EXIT") || starts(instruction, "RET") ||
                  starts(instruction, "BRA");
      if (instruction.isPredicated || !ends)
        consider(i + 1);
      if (instruction.target && *instruction.target > i)
        consider(*instruction.target);
    }
    if (own.isThere) {
      Score added = score(instruction, i);
      for (size_t n = 0; n < added.size(); ++n)
        own.score[n] += added[n];
    }
  }
  std::vector<size_t> path;
  if (!best[first].isThere)
    return path;
  for (size_t i = first; i != last; i = best[i].next)
    path.push_back(i);
  path.push_back(last);
  return path;
}

/// Where loops begin and end, by jumps back.
std::map<size_t, size_t> findLoops(const Code &code) {
  std::map<size_t, size_t> loops;
  for (size_t i = 0; i < code.size(); ++i)
    if (code[i].target && *code[i].target <= i)
      loops[*code[i].target] = i;
  return loops;
}

bool isInteger(const DeviceInstruction &instruction) {
  const std::string &name = instruction.mnemonic;
  static const char *const names[] = {"IMAD", "IADD",  "LEA",   "LOP3",
                                      "SHF",  "ISETP", "IMNMX", "VIADD",
                                      "SEL",  "IABS",  "VIMNMX"};
  return !name.starts_with("IMAD.MOV") &&
         std::any_of(
             std::begin(names), std::end(names), [&](const char *prefix) {
               return name.substr(0, name.find('.')).starts_with(prefix);
             });
}

/// How many exponentials there are in front of the first mma that is behind a
/// shuffle: the maxima of rows are between the products.
long countExposed(const Code &code, const std::vector<size_t> &path) {
  long count = 0;
  bool isBehindShuffle = false;
  for (size_t i : path) {
    isBehindShuffle |= starts(code[i], "SHFL");
    if (isBehindShuffle && starts(code[i], "HMMA"))
      break;
    count += starts(code[i], "MUFU.EX2");
  }
  return count;
}

/// The number of narrow accesses from the start of a kernel through a loop to
/// the end; that of all of them if no path is found.
long countNarrow(const Code &code, size_t first, size_t last) {
  std::vector<size_t> best;
  long most = -1;
  for (size_t end = last; end < code.size(); ++end) {
    if (!starts(code[end], "EXIT") || code[end].isPredicated)
      continue;
    std::vector<size_t> path =
        findPath(code, 0, end, [&](const DeviceInstruction &next, size_t i) {
          bool isHot = i >= first && i <= last && starts(next, "HMMA");
          return Score{isHot, -long(isNarrow(next)), 0};
        });
    long products = std::count_if(path.begin(), path.end(), [&](size_t i) {
      return i >= first && i <= last && starts(code[i], "HMMA");
    });
    if (products > most) {
      most = products;
      best = path;
    }
  }
  if (most <= 0)
    return std::count_if(code.begin(), code.end(), isNarrow);
  return std::count_if(best.begin(), best.end(),
                       [&](size_t i) { return isNarrow(code[i]); });
}

} // namespace

std::optional<HotPath>
test::findHotPath(const std::vector<DeviceInstruction> &code) {
  std::vector<size_t> path;
  Score most = {0, 0, 0};
  for (auto [first, last] : findLoops(code)) {
    auto score = [](const DeviceInstruction &next, size_t) {
      return Score{starts(next, "HMMA"), starts(next, "LDGSTS"), -1};
    };
    std::vector<size_t> candidate = findPath(code, first, last, score);
    Score sum = {};
    for (size_t i : candidate)
      for (size_t n = 0; n < sum.size(); ++n)
        sum[n] += score(code[i], i)[n];
    if (sum[0] > 0 && sum > most) {
      most = sum;
      path = candidate;
    }
  }
  if (path.empty())
    return std::nullopt;
  HotPath hot;
  auto count = [&](auto matches) {
    return std::count_if(path.begin(), path.end(),
                         [&](size_t i) { return matches(code[i]); });
  };
  auto countOf = [&](const char *prefix) {
    return count(
        [&](const DeviceInstruction &next) { return starts(next, prefix); });
  };
  hot.instructions = long(path.size());
  hot.integer = count(isInteger);
  hot.products = countOf("HMMA");
  hot.matrixLoads = countOf("LDSM");
  hot.shuffles = countOf("SHFL");
  hot.exposedExponentials = countExposed(code, path);
  hot.narrowAccesses = countNarrow(code, path.front(), path.back());
  return hot;
}
