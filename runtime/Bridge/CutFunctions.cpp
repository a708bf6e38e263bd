//===- CutFunctions.cpp - Large functions in two --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Bridge/CutFunctions.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/CodeExtractor.h"

#include <algorithm>

/// Instructions of a function that is worth two threads.
static constexpr size_t kLarge = 800;

template <typename Blocks> static size_t countInstructions(Blocks &&blocks) {
  size_t count = 0;
  for (const llvm::BasicBlock *block : blocks)
    count += block->size();
  return count;
}

/// The innermost loop with most of the code of a function of `size`
/// instructions, as that over blocks of keys is.
static const llvm::Loop *findBody(const llvm::LoopInfo &loops, size_t size) {
  const llvm::Loop *body = nullptr;
  llvm::ArrayRef<llvm::Loop *> level = loops.getTopLevelLoops();
  while (true) {
    auto *most = llvm::find_if(level, [&](const llvm::Loop *loop) {
      return 3 * countInstructions(loop->blocks()) >= 2 * size;
    });
    if (most == level.end())
      return body;
    body = *most;
    level = body->getSubLoops();
  }
}

namespace {
/// A block that every iteration of a loop comes by, not within loops in it.
struct Station {
  llvm::BasicBlock *block;
  size_t size = 0; ///< Instructions from here to the next station.
};
} // namespace

/// The stations of `body`, the last one, its latch, first.
static llvm::SmallVector<Station>
collectStations(const llvm::Loop &body, const llvm::LoopInfo &loops,
                const llvm::DominatorTree &dominators) {
  llvm::SmallVector<Station> stations;
  llvm::DenseMap<const llvm::DomTreeNode *, size_t> numbers;
  for (const llvm::DomTreeNode *node = dominators.getNode(body.getLoopLatch());
       node->getBlock() != body.getHeader(); node = node->getIDom()) {
    llvm::BasicBlock *block = node->getBlock();
    const llvm::Loop *loop = loops.getLoopFor(block);
    if (loop != &body &&
        (loop->getHeader() != block || loop->getParentLoop() != &body))
      continue;
    numbers[node] = stations.size();
    stations.push_back({block});
  }
  for (const llvm::BasicBlock *block : body.blocks()) {
    const llvm::DomTreeNode *node = dominators.getNode(block);
    while (node->getBlock() != body.getHeader() && !numbers.contains(node))
      node = node->getIDom();
    if (auto number = numbers.find(node); number != numbers.end())
      stations[number->second].size += block->size();
  }
  return stations;
}

/// What an iteration of `body` does from `first` on until it comes to `end`;
/// nothing if it can go elsewhere.
static llvm::SmallVector<llvm::BasicBlock *>
collectPart(const llvm::Loop &body, llvm::BasicBlock *first,
            llvm::BasicBlock *end, const llvm::DominatorTree &dominators) {
  auto isIn = [&](llvm::BasicBlock *block) {
    return body.contains(block) && dominators.dominates(first, block) &&
           !dominators.dominates(end, block);
  };
  llvm::SmallVector<llvm::BasicBlock *> part = {first};
  for (llvm::BasicBlock *block : body.blocks())
    if (block != first && isIn(block))
      part.push_back(block);
  for (llvm::BasicBlock *block : part)
    if (!llvm::all_of(llvm::successors(block), [&](llvm::BasicBlock *next) {
          return next == end || isIn(next);
        }))
      return {};
  return part;
}

/// The blocks to make a function of, the first one first; none if no cut leaves
/// at least a quarter of `size` on both sides.
static llvm::SmallVector<llvm::BasicBlock *>
findHalf(llvm::Function &function, size_t size,
         llvm::DominatorTree &dominators) {
  llvm::LoopInfo loops(dominators);
  const llvm::Loop *body = findBody(loops, size);
  if (!body || !body->getLoopLatch())
    return {};
  auto stations = collectStations(*body, loops, dominators);
  size_t bestFirst = 0, bestEnd = 0, leastLarger = size;
  for (size_t end = 0; end < stations.size(); ++end) {
    size_t part = 0;
    for (size_t first = end + 1; first < stations.size(); ++first) {
      part += stations[first].size;
      size_t larger = std::max(part, size - part);
      if (larger >= leastLarger)
        continue;
      leastLarger = larger;
      bestFirst = first;
      bestEnd = end;
    }
  }
  if (4 * leastLarger > 3 * size)
    return {};
  return collectPart(*body, stations[bestFirst].block, stations[bestEnd].block,
                     dominators);
}

/// Whether it computes with tiles of AMX, which are configured anew around each
/// call.
static bool usesTiles(const llvm::Function &function) {
  return llvm::any_of(llvm::instructions(function),
                      [](const llvm::Instruction &instruction) {
                        return instruction.getType()->isX86_AMXTy();
                      });
}

static void cut(llvm::Function &function) {
  size_t size = function.getInstructionCount();
  if (size < kLarge || usesTiles(function))
    return;
  llvm::DominatorTree dominators(function);
  llvm::SmallVector<llvm::BasicBlock *> half =
      findHalf(function, size, dominators);
  if (half.empty())
    return;
  llvm::CodeExtractor extractor(
      half, &dominators, /*AggregateArgs=*/false, /*BFI=*/nullptr,
      /*BPI=*/nullptr, /*AC=*/nullptr, /*AllowVarArgs=*/false,
      /*AllowAlloca=*/false, /*AllocationBlock=*/nullptr, "half");
  if (!extractor.isEligible())
    return;
  llvm::Function *other =
      extractor.extractCodeRegion(llvm::CodeExtractorAnalysisCache(function));
  if (!other)
    return;
  other->removeFnAttr(llvm::Attribute::AlwaysInline);
  other->addFnAttr(llvm::Attribute::NoInline);
}

void attn::cutFunctions(llvm::Module &module) {
  llvm::SmallVector<llvm::Function *> functions;
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      functions.push_back(&function);
  for (llvm::Function *function : functions)
    cut(*function);
}
