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
#include <array>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <sstream>

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
      DeviceInstruction next{match[2], match[1].matched, {}, operands};
      std::smatch target;
      // A call of a label in the kernel, not of a function, never returns.
      bool isBranch = (next.mnemonic.starts_with("BRA") ||
                       next.mnemonic.starts_with("CALL")) &&
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

/// How many bytes of global memory a lane accesses.
long countBytes(const DeviceInstruction &instruction) {
  const std::string &name = instruction.mnemonic;
  auto has = [&](const char *part) {
    return name.find(part) != std::string::npos;
  };
  if (isNarrow(instruction))
    return has("16") ? 2 : 1;
  return has(".128") ? 16 : has(".64") ? 8 : 4;
}

/// Which instructions may follow one.
std::vector<size_t> findNext(const Code &code, size_t i) {
  const DeviceInstruction &instruction = code[i];
  bool ends = instruction.target || starts(instruction, "EXIT") ||
              starts(instruction, "RET") || starts(instruction, "BRA");
  std::vector<size_t> next;
  if ((instruction.isPredicated || !ends) && i + 1 < code.size())
    next.push_back(i + 1);
  if (instruction.target)
    next.push_back(*instruction.target);
  return next;
}

/// What may follow what in a kernel, without what begins loops again. Blocks
/// may lie anywhere: those that seldom run are behind the end, and jump back.
struct Flow {
  std::vector<std::vector<size_t>> next;
  std::vector<size_t> order; ///< All that can be reached, before what follows.
  std::vector<std::pair<size_t, size_t>> loops; ///< Their first and last.
};

Flow findFlow(const Code &code) {
  enum State { New, Open, Closed };
  Flow flow;
  flow.next.resize(code.size());
  std::vector<State> states(code.size(), New);
  struct Visit {
    size_t instruction;
    std::vector<size_t> left; ///< Of what may follow.
  };
  std::vector<Visit> stack;
  auto open = [&](size_t i) {
    states[i] = Open;
    stack.push_back({i, findNext(code, i)});
  };
  open(0);
  while (!stack.empty()) {
    auto &[i, left] = stack.back();
    if (left.empty()) {
      states[i] = Closed;
      flow.order.push_back(i);
      stack.pop_back();
      continue;
    }
    size_t next = left.back();
    left.pop_back();
    if (states[next] == Open) {
      flow.loops.emplace_back(next, i);
      continue;
    }
    flow.next[i].push_back(next);
    if (states[next] == New)
      open(next);
  }
  std::reverse(flow.order.begin(), flow.order.end());
  return flow;
}

/// The best path from `first` to an instruction that `isLast`, which begins no
/// loop again; empty if there is none.
std::vector<size_t> findPath(const Flow &flow, size_t first,
                             const std::function<bool(size_t)> &isLast,
                             const std::function<Score(size_t)> &score) {
  struct Best {
    bool isThere = false;
    Score score = {};
    std::optional<size_t> next;
  };
  std::vector<Best> best(flow.next.size());
  for (size_t n = flow.order.size(); n-- > 0;) {
    size_t i = flow.order[n];
    Best &own = best[i];
    if (isLast(i))
      own.isThere = true;
    else
      for (size_t next : flow.next[i])
        if (best[next].isThere &&
            (!own.isThere || best[next].score > own.score))
          own = {true, best[next].score, next};
    Score added = score(i);
    for (size_t k = 0; k < added.size(); ++k)
      own.score[k] += added[k];
  }
  std::vector<size_t> path;
  if (best[first].isThere)
    for (std::optional<size_t> i = first; i; i = best[*i].next)
      path.push_back(*i);
  return path;
}

/// Which instructions are in a loop in the loop that begins with `first`.
std::vector<bool> findInner(const Flow &flow, size_t first) {
  std::vector<bool> isInner(flow.next.size());
  for (auto [begin, end] : flow.loops) {
    std::vector<bool> isIn(flow.next.size());
    isIn[end] = true;
    bool isBehind = false; // What may follow `begin` is before it here.
    for (size_t n = flow.order.size(); n-- > 0 && !isBehind;) {
      size_t i = flow.order[n];
      for (size_t next : flow.next[i])
        isIn[i] = isIn[i] || (isIn[next] && i != end);
      isBehind = i == begin;
    }
    if (isIn[begin] && !isIn[first])
      for (size_t i = 0; i < isIn.size(); ++i)
        isInner[i] = isInner[i] || isIn[i];
  }
  return isInner;
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

/// How many exponentials there are at most between two mma that follow each
/// other.
long countExposed(const Code &code, const std::vector<size_t> &path) {
  long most = 0, count = 0;
  for (size_t i : path) {
    count = starts(code[i], "HMMA") ? 0 : count + starts(code[i], "MUFU.EX2");
    most = std::max(most, count);
  }
  return most;
}

/// How many exponentials there are while no product of the warpgroup is
/// pending.
long countExposedOfWarpgroup(const Code &code,
                             const std::vector<size_t> &path) {
  long count = 0;
  bool isPending = false;
  for (size_t i : path) {
    if (starts(code[i], "HGMMA"))
      isPending = true;
    else if (starts(code[i], "WARPGROUP.DEPBAR") &&
             code[i].operands.find("0x0") != std::string::npos)
      isPending = false;
    else
      count += !isPending && starts(code[i], "MUFU.EX2");
  }
  return count;
}

/// The path from the start of a kernel through a path in a loop to the end that
/// has the fewest narrow accesses of those that access all rows: they load the
/// most bytes in front of the loop, and store the most behind it, where what is
/// rare loads, too. Empty if there is none.
std::vector<size_t> findWidePath(const Code &code, const Flow &flow,
                                 const std::vector<size_t> &loop) {
  std::vector<bool> isHot(code.size()), isBehind(code.size());
  for (size_t i : loop)
    isHot[i] = true;
  for (size_t i : flow.order)
    if (isHot[i] || isBehind[i])
      for (size_t next : flow.next[i])
        isBehind[next] = true;
  return findPath(
      flow, 0,
      [&](size_t i) {
        return starts(code[i], "EXIT") && !code[i].isPredicated;
      },
      [&](size_t i) {
        bool counts =
            isBehind[i] ? starts(code[i], "STG")
                        : starts(code[i], "LDG.") || starts(code[i], "LDGSTS.");
        return Score{isHot[i], counts ? countBytes(code[i]) : 0,
                     -long(isNarrow(code[i]))};
      });
}

} // namespace

std::optional<HotPath>
test::findHotPath(const std::vector<DeviceInstruction> &code) {
  const char *product = "FFMA";
  for (const DeviceInstruction &next : code)
    for (const char *matrixProduct : {"HMMA", "HGMMA"})
      if (starts(next, matrixProduct))
        product = matrixProduct;
  Flow flow = findFlow(code);
  std::vector<size_t> path;
  Score most = {0, 0, 0};
  for (auto [first, last] : flow.loops) {
    // Copies in loops of their own are what runs where rows are missing.
    std::vector<bool> isInner = findInner(flow, first);
    auto score = [&](size_t i) {
      return Score{starts(code[i], product),
                   starts(code[i], "LDGSTS") && !isInner[i], -1};
    };
    std::vector<size_t> candidate = findPath(
        flow, first, [last = last](size_t i) { return i == last; }, score);
    Score sum = {};
    for (size_t i : candidate)
      for (size_t n = 0; n < sum.size(); ++n)
        sum[n] += score(i)[n];
    if (sum[0] > 0 && sum > most) {
      most = sum;
      path = candidate;
    }
  }
  if (path.empty())
    return std::nullopt;
  std::vector<size_t> wide = findWidePath(code, flow, path);
  if (wide.empty())
    return std::nullopt;
  HotPath hot;
  auto count = [&](const std::vector<size_t> &instructions, auto matches) {
    return std::count_if(instructions.begin(), instructions.end(),
                         [&](size_t i) { return matches(code[i]); });
  };
  auto countOf = [&](const char *prefix) {
    return count(path, [&](const DeviceInstruction &next) {
      return starts(next, prefix);
    });
  };
  hot.instructions = long(path.size());
  hot.integer = count(path, isInteger);
  hot.products = countOf(product);
  hot.matrixLoads = countOf("LDSM");
  hot.asyncCopies = countOf("LDGSTS");
  hot.barriers = countOf("BAR.");
  hot.shuffles = countOf("SHFL");
  hot.spills = countOf("LDL") + countOf("STL");
  hot.waits = countOf("WARPGROUP.DEPBAR");
  // A fence for the asynchronous proxy is a load to nowhere.
  hot.sharedLoads = count(path, [](const DeviceInstruction &next) {
    return starts(next, "LDS") && !starts(next, "LDSM") &&
           next.operands.find("RZ,") != 0;
  });
  if (product == std::string_view("HGMMA"))
    hot.exposedExponentials = countExposedOfWarpgroup(code, path);
  else if (product == std::string_view("HMMA"))
    hot.exposedExponentials = countExposed(code, path);
  hot.narrowAccesses = count(wide, isNarrow);
  return hot;
}

std::optional<PTXCounts> test::countPTX(const std::string &ptx,
                                        const std::string &kernel) {
  static const std::regex instruction(
      R"(^\s*(@!?%\w+\s+)?([a-z][\w.:]*)[\s;].*)"),
      narrow(R"(^(ld|st)\.(\w+\.)*global(\.\w+)*\.[bsuf](8|16)$)"),
      vector(R"(\.v[248]\.)");
  std::size_t entry = ptx.find(".entry " + kernel + "(");
  if (entry == std::string::npos)
    return std::nullopt;
  PTXCounts counts;
  long ofMatrices = 0, fused = 0, depth = 0;
  // Assembly that is inline may be in braces of its own.
  std::istringstream lines(ptx.substr(ptx.find("\n{", entry) + 1));
  for (std::string line; std::getline(lines, line);) {
    depth += std::ranges::count(line, '{') - std::ranges::count(line, '}');
    if (depth == 0)
      break;
    std::smatch parts;
    if (!std::regex_match(line, parts, instruction))
      continue;
    ++counts.instructions;
    std::string name = parts[2];
    ofMatrices += name.starts_with("mma.") || name.starts_with("wgmma.mma_");
    fused += name.starts_with("fma.rn.f32");
    counts.narrowAccesses +=
        std::regex_match(name, narrow) && !std::regex_search(name, vector);
  }
  counts.products = ofMatrices ? ofMatrices : fused;
  return counts;
}
