//===- BlockMapText.cpp - Block maps as text ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/BlockMap/BlockMap.h"

#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// In words
//===----------------------------------------------------------------------===//

/// "0-3, 6".
static std::string describeNumbers(ArrayRef<int64_t> numbers) {
  std::string text;
  for (size_t first = 0, last; first < numbers.size(); first = last + 1) {
    last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[first]);
    if (last > first)
      text += "-" + std::to_string(numbers[last]);
  }
  return text;
}

std::string attn::describePlaces(const BlockMap &map,
                                 const BlockPattern &pattern) {
  if (!map.batchesDiffer && !map.headsDiffer)
    return "every batch entry and head";
  std::map<int64_t, std::vector<int64_t>> headsOfBatch;
  for (auto [batch, head] : pattern.places)
    headsOfBatch[batch].push_back(head);
  // Batch entries with the same heads together.
  std::map<std::vector<int64_t>, std::vector<int64_t>> batchesOfHeads;
  for (const auto &[batch, heads] : headsOfBatch)
    batchesOfHeads[heads].push_back(batch);
  std::string text;
  for (const auto &[heads, batches] : batchesOfHeads) {
    text += text.empty() ? "" : "; ";
    text += map.batchesDiffer ? "batch " + describeNumbers(batches)
                              : "every batch entry";
    text +=
        map.headsDiffer ? ", head " + describeNumbers(heads) : ", every head";
  }
  return text;
}

std::string attn::describeShare(const BlockCounts &counts) {
  int64_t computed = counts.full + counts.partial;
  std::string text = std::to_string(computed);
  if (counts.unknown)
    text += " to " + std::to_string(computed + counts.unknown);
  text += " of " + std::to_string(counts.all) + " blocks computed";
  if (counts.all && !counts.unknown) {
    int64_t perMille = computed * 1000 / counts.all;
    text += " (" + std::to_string(perMille / 10) + "." +
            std::to_string(perMille % 10) + "%)";
  }
  return text;
}

//===----------------------------------------------------------------------===//
// In characters
//===----------------------------------------------------------------------===//

static char getSymbol(BlockKind kind) {
  switch (kind) {
  case BlockKind::Empty:
    return '.';
  case BlockKind::Partial:
    return '+';
  case BlockKind::Full:
    return '#';
  case BlockKind::Unknown:
    return '?';
  }
  llvm_unreachable("unknown kind");
}

static void printPattern(llvm::raw_ostream &os, const BlockMap &map,
                         const BlockPattern &pattern) {
  os << describePlaces(map, pattern) << ":\n";
  std::vector<std::string> labels;
  size_t width = 0;
  for (size_t i = 0; i < pattern.rows.size(); ++i) {
    labels.push_back(
        std::to_string(pattern.offset + map.getFirstQuery(int64_t(i))));
    width = std::max(width, labels.back().size());
  }
  for (auto [label, row] : llvm::zip_equal(labels, pattern.rows)) {
    std::string line(size_t(map.getNumColumns()), '.');
    // In the column of its first key.
    for (auto [index, kind] : llvm::enumerate(row.blocks))
      line[size_t(row.firstKey / map.keyBlock) + index] = getSymbol(kind);
    os << llvm::right_justify(label, unsigned(width) + 2) << ' ' << line
       << '\n';
  }
  BlockCounts counts = map.count(pattern);
  os << "  " << counts.full << " full, " << counts.partial << " partial";
  if (counts.unknown)
    os << ", " << counts.unknown << " known when it runs";
  os << ": " << describeShare(counts) << '\n';
}

void attn::printBlockMaps(llvm::raw_ostream &os, ArrayRef<BlockMap> maps) {
  for (const BlockMap &map : maps) {
    if (&map != maps.begin())
      os << '\n';
    os << describeSizes(map) << '\n';
    if (!map.obstacle.empty()) {
      os << "without blocks, by the reference path, because " << map.obstacle
         << '\n';
      continue;
    }
    os << "blocks of " << map.queryBlock << " queries (a line, by the position "
       << "of the first) and " << map.keyBlock << " keys:\n"
       << "'.' empty, '+' partial, '#' full, '?' known when it runs\n";
    for (const BlockPattern &pattern : map.patterns)
      printPattern(os, map, pattern);
  }
}

std::string attn::describeSizes(const BlockMap &map) {
  return map.function + ": " + std::to_string(map.numQueries) + " queries, " +
         std::to_string(map.numKeys) + " keys";
}
