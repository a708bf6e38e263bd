//===- Warpgroups.cpp - The products of warpgroups ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Emulator/Warpgroups.h"

#include "attn/element_type.h"

#include <algorithm>
#include <cstring>

using namespace attn::emulator;

//===----------------------------------------------------------------------===//
// Matrix descriptors
//===----------------------------------------------------------------------===//

const char *MatrixDescriptor::check() const {
  constexpr std::uint64_t field = 0x3FFF;
  constexpr std::uint64_t all = field | field << 16 | field << 32 |
                                std::uint64_t(7) << 49 | std::uint64_t(3) << 62;
  if (bits & ~all)
    return "has bits that belong to no field";
  if (bits >> 49 & 7)
    return "has a base offset, which is not emulated";
  if (bits >> 62 != 1)
    return "has a swizzle mode that is not emulated, only that of 128 bytes is";
  return nullptr;
}

std::size_t MatrixDescriptor::getChunk(unsigned i, unsigned columns,
                                       bool isTransposed) const {
  constexpr std::size_t rowBytes = 128, tileRows = 8;
  std::size_t offset = start();
  if (isTransposed) {
    unsigned perRow = columns / 8, row = i / perRow, column = i % perRow * 8;
    offset += column / 64 * leadingOffset() + row / tileRows * strideOffset() +
              row % tileRows * rowBytes + column % 64 * 2;
  } else {
    unsigned column = i / 2, row = i % 2 * 8;
    offset += column / tileRows * strideOffset() +
              column % tileRows * rowBytes + std::size_t(row) * 2;
  }
  return offset ^ ((offset >> 7 & 7) << 4);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void Warpgroups::reset(std::size_t count, std::size_t sharedBytes) {
  warps.clear();
  warps.resize(count);
  issued.assign((count + numWarps - 1) / numWarps, {});
  agents.assign(count, {});
  numPending = 0;
  numBegun = 0;
  numChunks = (sharedBytes + chunkBytes - 1) / chunkBytes;
  readers.clear();
}

std::optional<unsigned> Warpgroups::begin(unsigned warp, const char *site,
                                          Descriptors descriptors) {
  readers.resize(numChunks);
  ++numPending;
  constexpr std::uint32_t payload = 0x3FFFFF;
  warps[warp].products.emplace_back();
  getYoungest(warp).number = ++numBegun & payload;
  std::vector<Issued> &all = issued[warp / numWarps];
  std::size_t index = warps[warp].numIssued++;
  if (index == all.size())
    all.push_back({site, descriptors, warp});
  const Issued &other = all[index];
  if (other.site != site || other.descriptors != descriptors)
    return other.warp;
  return std::nullopt;
}

bool Warpgroups::isTarget(unsigned warp, const float *sums) const {
  const std::deque<Product> &products = warps[warp].products;
  return std::any_of(
      products.begin(), products.end(),
      [&](const Product &product) { return product.targets[0] == sums; });
}

void Warpgroups::addChunk(unsigned warp, std::size_t offset) {
  getYoungest(warp).chunks.push_back(offset);
  ++readers[offset / chunkBytes];
}

/// Adds rows of a product to its sums.
template <typename Element>
static void multiply(Warpgroups::Product &product, const char *shared) {
  constexpr unsigned numRows = Warpgroups::numRows, perChunk = 8;
  unsigned chunksOfStep = 2 * product.columns;
  std::size_t numSteps = product.lhs.size() / (Warpgroups::stepRows * numRows);
  for (std::size_t i = 0; i < numSteps * chunksOfStep; ++i) {
    std::uint16_t bits[perChunk];
    std::memcpy(bits, shared + product.chunks[i], sizeof(bits));
    std::size_t inStep = i % chunksOfStep;
    std::size_t firstRow = i / chunksOfStep * Warpgroups::stepRows;
    std::size_t perRow = product.columns / perChunk;
    std::size_t k = firstRow + (product.isTransposed ? inStep / perRow
                                                     : inStep % 2 * perChunk);
    std::size_t column =
        product.isTransposed ? inStep % perRow * perChunk : inStep / 2;
    for (unsigned e = 0; e < perChunk; ++e) {
      auto value = float(Element::fromBits(bits[e]));
      const float *lhs =
          product.lhs.data() + (product.isTransposed ? k : k + e) * numRows;
      float *sums = product.sums.data() +
                    (product.isTransposed ? column + e : column) * numRows;
      for (unsigned row = 0; row < numRows; ++row)
        sums[row] += lhs[row] * value;
    }
  }
}

/// Of each step, two chunks of each row.
template <typename Element>
static void loadFirstFactor(Warpgroups::Product &product, const char *shared) {
  constexpr unsigned rows = Warpgroups::numRows, perStep = 2 * rows;
  std::size_t count = product.lhs.size() / 8;
  const std::size_t *chunks =
      product.chunks.data() + product.chunks.size() - count;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t row = i % perStep / 2;
    std::size_t column = i / perStep * Warpgroups::stepRows + i % 2 * 8;
    std::uint16_t bits[8];
    std::memcpy(bits, shared + chunks[i], sizeof(bits));
    for (unsigned e = 0; e < 8; ++e)
      product.lhs[(column + e) * rows + row] =
          float(Element::fromBits(bits[e]));
  }
}

static void compute(Warpgroups::Product &product, const char *shared) {
  product.isComputed = true;
  if (product.readsBoth && product.isBF16)
    loadFirstFactor<attn::bf16>(product, shared);
  else if (product.readsBoth)
    loadFirstFactor<attn::f16>(product, shared);
  if (product.isBF16)
    multiply<attn::bf16>(product, shared);
  else
    multiply<attn::f16>(product, shared);
}

void Warpgroups::computeNext(unsigned warp, const char *shared) {
  std::deque<Product> &products = warps[warp].products;
  auto next =
      std::find_if(products.begin(), products.end(),
                   [](const Product &product) { return !product.isComputed; });
  if (next != products.end())
    compute(*next, shared);
}

void Warpgroups::end(unsigned warp, const char *shared) {
  Product &product = warps[warp].products.front();
  if (!product.isComputed)
    compute(product, shared);
  for (unsigned lane = 0; lane < product.targets.size(); ++lane) {
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < product.columns / 2; ++i) {
      unsigned row = g + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * t + i % 2;
      product.targets[lane][i] = product.sums[column * numRows + row];
    }
  }
  for (std::size_t offset : product.chunks)
    --readers[offset / chunkBytes];
  constexpr std::size_t kept = 16;
  std::deque<Product> &ended = warps[warp].ended;
  ended.push_back(std::move(product));
  if (ended.size() > kept)
    ended.pop_front();
  warps[warp].products.pop_front();
  --numPending;
}

float *Warpgroups::findTarget(unsigned warp, unsigned lane,
                              std::uint32_t number) const {
  for (const std::deque<Product> *products :
       {&warps[warp].products, &warps[warp].ended})
    for (const Product &product : *products)
      if (product.number == number)
        return product.targets[lane];
  return nullptr;
}

const char *Warpgroups::findPendingReader(std::size_t offset,
                                          std::size_t bytes) const {
  std::size_t first = offset / chunkBytes;
  std::size_t last = (offset + bytes - 1) / chunkBytes;
  for (std::size_t chunk = first; chunk <= last; ++chunk) {
    if (readers[chunk] == 0)
      continue;
    for (const Warp &warp : warps)
      for (const Product &product : warp.products)
        if (std::find(product.chunks.begin(), product.chunks.end(),
                      chunk * chunkBytes) != product.chunks.end())
          return product.site;
  }
  return nullptr;
}

std::optional<Warpgroups::Absence> Warpgroups::findAbsence() const {
  for (unsigned warp = 0; warp < warps.size(); ++warp) {
    const std::vector<Issued> &all = issued[warp / numWarps];
    if (warps[warp].numIssued < all.size())
      return Absence{all[warps[warp].numIssued].site, warp};
  }
  return std::nullopt;
}
