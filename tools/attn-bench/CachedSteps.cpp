//===- CachedSteps.cpp - Decode steps on pages and rings ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/DecodeCase.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace attn;
using namespace attn::bench;

namespace {

/// Sequences of different lengths, read with attn.cache_read. Their last tokens
/// are the queries, causally masked.
class CachedStep : public DecodeCase {
public:
  CachedStep(std::string name, std::vector<Index> lengths,
             Index queryLength = 1, bool isDynamic = false)
      : DecodeCase(std::move(name), Index(lengths.size()), /*queryHeads=*/32,
                   /*keyValueHeads=*/8, queryLength),
        lengths(std::move(lengths)), isDynamic(isDynamic) {}

  Index keyLength(Index batch) const override {
    return lengths[std::size_t(batch)];
  }
  bool sees(Index batch, Index query, Index position) const override {
    return position <= keyLength(batch) - queryLength + query;
  }
  std::vector<Operand> operands() const override;

protected:
  bool isDraft() const { return queryLength > 1 || isDynamic; }
  /// Of the positions that a query sees.
  std::string mask() const;
  /// The function, with `before` before its reads. `cacheSizes` are written
  /// without the head size; `kind` is the clause of a read, `mask` those of the
  /// attention.
  std::string write(ElementType type, const std::string &cacheSizes,
                    const std::string &parameters, const std::string &before,
                    const std::string &kind, const std::string &mask) const;

  std::vector<Index> lengths;
  bool isDynamic; ///< The kernel does not know the number of queries.
};

class ContiguousStep : public CachedStep {
public:
  using CachedStep::CachedStep;

  std::vector<Index> cacheSizes() const override {
    return {batches, keyValueHeads, lengths.front(), headSize};
  }
  Index rowOf(Index batch, Index head, Index position) const override {
    return (batch * keyValueHeads + head) * lengths.front() + position;
  }
  std::string text(ElementType type) const override;
};

class PagedStep : public CachedStep {
public:
  PagedStep(std::string name, std::vector<Index> sequenceLengths, PageSize size,
            Index queryLength = 1, bool isDynamic = false);

  std::vector<Index> cacheSizes() const override {
    return {pages, keyValueHeads, pageSize, headSize};
  }
  Index rowOf(Index batch, Index head, Index position) const override {
    Index page = table[std::size_t(batch * maxPages + position / pageSize)];
    return (page * keyValueHeads + head) * pageSize + position % pageSize;
  }
  std::vector<Operand> operands() const override;
  std::string text(ElementType type) const override;

private:
  Index pageSize;
  bool hasStaticSize;
  Index pages = 0, maxPages = 0;
  std::vector<Index> table; ///< (B, max_pages), -1 where nothing is.
};

class RingStep : public CachedStep {
public:
  using CachedStep::CachedStep;

  std::vector<Index> cacheSizes() const override {
    return {batches, keyValueHeads, capacity, headSize};
  }
  Index rowOf(Index batch, Index head, Index position) const override {
    return (batch * keyValueHeads + head) * capacity + position % capacity;
  }
  bool sees(Index batch, Index, Index position) const override {
    return position >= keyLength(batch) - window;
  }
  std::vector<Operand> operands() const override;
  std::string text(ElementType type) const override;

private:
  static constexpr Index window = 1024, capacity = window + 64;
};

} // namespace

std::vector<Operand> CachedStep::operands() const {
  auto lengthAt = [lengths = lengths](Index i) {
    return double(lengths[std::size_t(i)]);
  };
  std::vector<Operand> operands = {
      {"lengths", ElementType::i32, {batches}, lengthAt}};
  if (isDraft())
    operands.push_back({"before",
                        ElementType::i32,
                        {batches},
                        [lengthAt, queries = queryLength](Index i) {
                          return lengthAt(i) - double(queries);
                        }});
  return operands;
}

std::string CachedStep::mask() const {
  std::string numbers = "tensor<" + std::to_string(batches) + "xi32>)";
  return isDraft() ? "offset(%before : " + numbers + " mask causal"
                   : "mask key_padding(%lengths : " + numbers;
}

std::string CachedStep::write(ElementType type, const std::string &cacheSizes,
                              const std::string &parameters,
                              const std::string &before,
                              const std::string &kind,
                              const std::string &mask) const {
  std::string start = std::to_string(batches) + "x",
              size = "x" + std::to_string(headSize);
  ElementType activation = getActivationType(type);
  std::string query =
      tensorText(start + std::to_string(queryHeads) + "x" +
                     (isDynamic ? "?" : std::to_string(queryLength)) + size,
                 activation);
  std::string cache = tensorText(cacheSizes + size, type);
  std::string scales = tensorText(cacheSizes, ElementType::f32);
  std::string key = tensorText(
      start + std::to_string(keyValueHeads) + "x?" + size, activation);
  bool isQuantized = type == ElementType::i8;
  std::string lengths =
      "%lengths : tensor<" + std::to_string(batches) + "xi32>";
  auto read = [&](const std::string &name, const std::string &from) {
    return "  " + name + " = attn.cache_read ins(" + from +
           (isQuantized ? ", " + name + "_scales" : "") + " : " + cache +
           (isQuantized ? ", " + scales : "") + ")\n      lengths(" + lengths +
           ") " + kind + " size(%n) -> " + key + "\n";
  };
  return "func.func @decode(%query: " + query + ", %keys: " + cache +
         ", %values: " + cache +
         (isQuantized
              ? ", %key_scales: " + scales + ", %value_scales: " + scales
              : "") +
         ", " + lengths +
         (isDraft() ? ", %before: tensor<" + std::to_string(batches) + "xi32>"
                    : "") +
         parameters + ") -> " + query + " {\n" + before +
         read("%key", "%keys") + read("%value", "%values") +
         "  %row_dim = arith.constant 2 : index\n"
         "  %tokens = tensor.dim %query, %row_dim : " +
         query + "\n  %init = tensor.empty(" + (isDynamic ? "%tokens" : "") +
         ") : " + query +
         "\n"
         "  %output = attn.attention\n"
         "      ins(%query, %key, %value : " +
         query + ", " + key + ", " + key + ")\n      outs(%init : " + query +
         ")\n      " + mask + "\n  return %output : " + query + "\n}\n";
}

std::string ContiguousStep::text(ElementType type) const {
  std::string sizes = std::to_string(batches) + "x" +
                      std::to_string(keyValueHeads) + "x?",
              cache = tensorText(sizes + "x" + std::to_string(headSize), type);
  return write(type, sizes, "",
               "  %c2 = arith.constant 2 : index\n"
               "  %n = tensor.dim %keys, %c2 : " +
                   cache + "\n",
               "", mask());
}

PagedStep::PagedStep(std::string name, std::vector<Index> sequenceLengths,
                     PageSize size, Index queryLength, bool isDynamic)
    : CachedStep(std::move(name), std::move(sequenceLengths), queryLength,
                 isDynamic),
      pageSize(size.positions), hasStaticSize(size.isStatic) {
  auto countPages = [&](Index length) {
    return (length + pageSize - 1) / pageSize;
  };
  for (Index length : lengths) {
    pages += countPages(length);
    maxPages = std::max(maxPages, countPages(length));
  }
  std::vector<Index> order(static_cast<std::size_t>(pages));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, std::mt19937_64(3));
  auto next = order.begin();
  for (Index length : lengths)
    for (Index i = 0; i < maxPages; ++i)
      table.push_back(i < countPages(length) ? *next++ : -1);
}

std::vector<Operand> PagedStep::operands() const {
  std::vector<Operand> operands = CachedStep::operands();
  operands.push_back(
      {"table",
       ElementType::i32,
       {batches, maxPages},
       [table = table](Index i) { return double(table[std::size_t(i)]); }});
  return operands;
}

std::string PagedStep::text(ElementType type) const {
  std::string rows = hasStaticSize ? std::to_string(pageSize) : "?",
              batch = std::to_string(batches);
  std::string sizes = "?x" + std::to_string(keyValueHeads) + "x" + rows,
              cache = tensorText(sizes + "x" + std::to_string(headSize), type),
              table = "tensor<" + batch + "x?xi32>";
  return write(type, sizes, ", %table: " + table,
               "  %c1 = arith.constant 1 : index\n"
               "  %c2 = arith.constant 2 : index\n"
               "  %pages = tensor.dim %table, %c1 : " +
                   table +
                   "\n"
                   "  %rows = tensor.dim %keys, %c2 : " +
                   cache +
                   "\n"
                   "  %n = arith.muli %pages, %rows : index\n",
               "table(%table : " + table + ")", mask());
}

std::vector<Operand> RingStep::operands() const {
  std::vector<Operand> operands = CachedStep::operands();
  operands.push_back(
      {"positions", ElementType::i32, {batches}, [lengths = lengths](Index i) {
         return double(lengths[std::size_t(i)] - 1);
       }});
  return operands;
}

std::string RingStep::text(ElementType type) const {
  std::string batch = std::to_string(batches);
  std::string positions = "tensor<" + batch + "xi32>";
  return write(type,
               batch + "x" + std::to_string(keyValueHeads) + "x" +
                   std::to_string(capacity),
               ", %positions: " + positions,
               "  %n = arith.constant " +
                   std::to_string(std::ranges::max(lengths)) + " : index\n",
               "ring",
               "offset(%positions : " + positions +
                   ")\n      mask causal, sliding_window(" +
                   std::to_string(window - 1) + ", 0)");
}

/// From one to another, equally far apart.
static std::vector<Index> spread(Index first, Index last, Index count) {
  std::vector<Index> numbers;
  for (Index i = 0; i < count; ++i)
    numbers.push_back(first + (last - first) * i / (count - 1));
  return numbers;
}

DecodePointer bench::makeContiguousStep(std::string name, Index batches,
                                        Index keyLength) {
  return std::make_shared<ContiguousStep>(
      std::move(name),
      std::vector<Index>(static_cast<std::size_t>(batches), keyLength));
}

DecodePointer bench::makePagedStep(std::string name) {
  return std::make_shared<PagedStep>(std::move(name), spread(100, 8000, 8),
                                     PageSize{16});
}

DecodePointer bench::makeCachedDraftStep(std::string name, Index length,
                                         Index queryLength, bool isDynamic,
                                         PageSize pages) {
  std::vector<Index> lengths = {length};
  if (pages.positions > 0)
    return std::make_shared<PagedStep>(std::move(name), std::move(lengths),
                                       pages, queryLength, isDynamic);
  return std::make_shared<ContiguousStep>(std::move(name), std::move(lengths),
                                          queryLength, isDynamic);
}

DecodePointer bench::makeRingStep(std::string name) {
  return std::make_shared<RingStep>(std::move(name),
                                    spread(20'000, 100'000, 8));
}
