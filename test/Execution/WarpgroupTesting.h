//===- WarpgroupTesting.h - Products of warpgroups in tests --- -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_WARPGROUPTESTING_H
#define ATTN_TEST_EXECUTION_WARPGROUPTESTING_H

#include "attn/element_type.h"
#include "test/Execution/EmulatorTesting.h"

#include <string>
#include <vector>

namespace attn::test {

/// Threads of a warpgroup, and rows of its products.
inline constexpr unsigned groupSize = 128, groupRows = 64;

/// Of a matrix descriptor, in bytes.
struct MatrixFields {
  std::uint64_t start = 0, leadingOffset = 0, strideOffset = 0;
  std::uint64_t baseOffset = 0, swizzle = 1;

  std::uint64_t getBits() const {
    return start >> 4 | leadingOffset >> 4 << 16 | strideOffset >> 4 << 32 |
           baseOffset << 49 | swizzle << 62;
  }
};

/// The shape of a product, and where its factors lie.
struct ProductCase {
  std::int64_t columns = 64, numSteps = 4;
  bool isTransposed = false; ///< The columns of a row are next to each other.
  bool isCopied = false;     ///< By cp.async, else by stores.
  /// The first factor is in memory, behind the second one, else in registers.
  bool readsBoth = false;

  std::int64_t depth() const { return 16 * numSteps; }
  std::int64_t numSums() const { return columns / 2; }
  std::int64_t numWords() const { return readsBoth ? 0 : 4 * numSteps; }
  /// Of the second factor, in units of what 128 threads copy at once, 2,048
  /// bytes; and of both.
  std::int64_t numCopiesOfSecond() const;
  std::int64_t numCopies() const;
  MatrixFields getFields() const;
  /// Of the first factor; it begins `start` bytes behind the second one.
  MatrixFields getFieldsOfFirst() const;
  /// What each step adds to the descriptor, and to that of the first factor.
  std::string getSteps() const;
  std::string getStepsOfFirst() const;
};

/// What makes stores, and copies that have arrived, visible to products.
inline constexpr const char *proxyFence =
    "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, "
    "space = #nvvm.shared_space<cta>}";

/// What brings factors from %source to %target, as thread %tid.
std::string makeCopies(const ProductCase &product);

/// "%name0, %name1, ..."
std::string listValues(const std::string &name, std::int64_t count);
/// "f32, f32, ..."
std::string listTypes(const std::string &type, std::int64_t count);

/// Loads what a thread's registers hold, %lhs and %sum, from %registers of
/// `thread`, an i32.
std::string makeLoads(const ProductCase &product, const std::string &element,
                      const std::string &thread);

/// An attn.warpgroup_mma of them.
std::string makeProduct(const ProductCase &product, const std::string &element,
                        const std::string &result, bool accumulates);

/// attn.warpgroup_wait for `sums`.
std::string makeWait(const ProductCase &product, const std::string &result,
                     const std::string &sums, unsigned pending);

/// The factors of a product, and what it is added to.
struct WarpgroupFactors {
  std::vector<float> lhs, rhs, sums; ///< By rows.
};

/// Random numbers that elements have.
template <typename Element>
WarpgroupFactors makeWarpgroupFactors(const ProductCase &product,
                                      std::uint64_t seed) {
  auto make = [&](std::int64_t count, std::uint64_t part) {
    std::vector<float> result;
    for (Element x : makeNumbers<Element>(std::size_t(count), 3 * seed + part))
      result.push_back(float(x));
    return result;
  };
  return {make(groupRows * product.depth(), 0),
          make(product.depth() * product.columns, 1),
          make(groupRows * product.columns, 2)};
}

/// The row and column of sum `i` of a thread.
std::pair<std::size_t, std::size_t> findSum(unsigned thread, unsigned i);

/// What threads hold in their registers: `numWords` words and the sums.
template <typename Element>
std::vector<std::int32_t> makeRegisters(const ProductCase &product,
                                        const WarpgroupFactors &factors) {
  std::vector<std::int32_t> result;
  for (unsigned thread = 0; thread < groupSize; ++thread) {
    unsigned warp = thread / 32, g = thread % 32 / 4, t = thread % 4;
    for (unsigned i = 0; i < product.numWords(); ++i) {
      std::uint32_t word = 0;
      for (unsigned e = 0; e < 2; ++e) {
        std::size_t row = 16 * warp + g + 8 * (i % 2);
        std::size_t column = 16 * (i / 4) + 8 * (i / 2 % 2) + 2 * t + e;
        Element x(factors.lhs[row * std::size_t(product.depth()) + column]);
        word |= std::uint32_t(x.bits) << (16 * e);
      }
      result.push_back(std::int32_t(word));
    }
    for (unsigned i = 0; i < product.numSums(); ++i) {
      auto [row, column] = findSum(thread, i);
      result.push_back(std::bit_cast<std::int32_t>(
          factors.sums[row * std::size_t(product.columns) + column]));
    }
  }
  return result;
}

/// The offset of an element of the second factor, in elements, with the
/// swizzle of 128 bytes.
std::size_t findElement(const ProductCase &product, std::size_t row,
                        std::size_t column);

/// The same of the first factor, behind where that begins.
std::size_t findElementOfFirst(std::size_t row, std::size_t column);

/// The second factor as it lies in shared memory, and the first one if it does.
template <typename Element>
std::vector<std::uint16_t> makeTile(const ProductCase &product,
                                    const WarpgroupFactors &factors) {
  std::vector<std::uint16_t> tile(std::size_t(product.numCopies()) * groupSize *
                                  8);
  for (std::size_t i = 0; i < factors.rhs.size(); ++i) {
    auto columns = std::size_t(product.columns);
    tile[findElement(product, i / columns, i % columns)] =
        Element(factors.rhs[i]).bits;
  }
  std::size_t begin = std::size_t(product.numCopiesOfSecond()) * groupSize * 8;
  auto depth = std::size_t(product.depth());
  for (std::size_t i = 0; product.readsBoth && i < factors.lhs.size(); ++i)
    tile[begin + findElementOfFirst(i / depth, i % depth)] =
        Element(factors.lhs[i]).bits;
  return tile;
}

/// The sums and `factor` times the product, by rows.
std::vector<double> multiplyFactors(const ProductCase &product,
                                    const WarpgroupFactors &factors,
                                    double factor);

/// By rows what threads hold as sums.
std::vector<float> collectSums(const ProductCase &product,
                               const std::vector<float> &held);

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_WARPGROUPTESTING_H
