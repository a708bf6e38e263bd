//===- CacheText.h - Caches in the text of kernels --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_CACHETEXT_H
#define ATTN_TEST_EXECUTION_CACHETEXT_H

#include "test/Execution/TestTensor.h"

#include <string>
#include <vector>

namespace attn::test {

enum class CacheKind { contiguous, ring, paged };

inline const std::vector<CacheKind> allCacheKinds = {
    CacheKind::contiguous, CacheKind::ring, CacheKind::paged};

inline std::string nameOf(CacheKind kind) {
  return kind == CacheKind::ring    ? "ring"
         : kind == CacheKind::paged ? "paged"
                                    : "contiguous";
}

/// Of rows that are attended to, and of the caches that hold them.
struct CachedTypes {
  ElementType type, stored;
};

/// A cache of each kind of numbers: rows' own, others and i8 with scales; where
/// all cases are run, all of rows of each type.
std::vector<CachedTypes> selectCachedTypes();

std::string tensorType(const std::string &dims, ElementType type);

/// A parameter that is a cache, with scales if it stores i8, and operations on
/// it.
struct CacheText {
  std::string name; ///< With "%": scales are called NAME_scales.
  CacheKind kind = CacheKind::contiguous;
  ElementType stored = ElementType::f32;
  Index heads = 1, size = 1;
  std::string batch = "?";      ///< Number of sequences.
  std::string rows = "?";       ///< The capacity, or the rows of a page.
  std::string table = "%table"; ///< Of pages.

  bool hasScales() const { return stored == ElementType::i8; }
  bool isPaged() const { return kind == CacheKind::paged; }

  std::string type() const;
  std::string scalesType() const;
  /// Types of the cache, and of its scales, as those of results.
  std::string types() const;
  /// Parameters of a function, each with `attributes`, but the table.
  std::string parameters(const std::string &attributes = "") const;
  /// What `append` makes: values of `types`.
  std::string updated() const;

  /// Appends `rows`, "%x : type"; the clauses say where.
  std::string append(const std::string &rows, const std::string &clauses) const;
  /// Defines `result`, of %n rows: what is in the cache, or in what `append`
  /// made of it.
  std::string read(const std::string &result, const std::string &clauses,
                   const std::string &resultType) const;
  std::string readUpdated(const std::string &result, const std::string &clauses,
                          const std::string &resultType) const;

private:
  std::string kindClause() const;
  std::string operands() const;
  std::string readFrom(const std::string &values, const std::string &result,
                       const std::string &clauses,
                       const std::string &resultType) const;
};

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_CACHETEXT_H
