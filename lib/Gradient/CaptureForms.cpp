//===- CaptureForms.cpp - Where scores load from --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Gradient/CaptureSums.h"
#include "lib/Regions/RegionDependence.h"

using namespace mlir;
using namespace mlir::attn;

/// Groups of keys that a tile has sums for at most: as many as a block has
/// keys, about.
static constexpr int64_t kMostGroups = 64;

/// The indices that the key decides, where each is decided by the query or by
/// the key alone, and the latter are of few.
static std::optional<SmallVector<size_t>>
findGroups(const RegionDependence &dependence, ArrayRef<Value> indices,
           ShapedType type) {
  SmallVector<size_t> ofKeys;
  int64_t groups = 1;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (!dependence.onRow(index))
      continue;
    int64_t size = type.getDimSize(unsigned(dim));
    if (dependence.onLane(index) || ShapedType::isDynamic(size) ||
        size > kMostGroups / std::max<int64_t>(groups, 1))
      return std::nullopt;
    groups *= size;
    ofKeys.push_back(dim);
  }
  return ofKeys;
}

void attn::findForm(Region &score, ArrayRef<Value> indices, ShapedType type,
                    CaptureVariable &variable) {
  using Form = CaptureVariable::Form;
  RegionDependence dependence(score, /*isScore=*/true);
  auto onLane = [&](Value index) { return dependence.onLane(index); };
  auto onRow = [&](Value index) { return dependence.onRow(index); };
  auto isOfDistance = [&](Value index) {
    return (!onLane(index) && !onRow(index)) || dependence.onDistance(index);
  };
  if (llvm::none_of(indices, onLane) && llvm::none_of(indices, onRow)) {
    variable.form = Form::Uniform;
    return;
  }
  if (llvm::all_of(indices, isOfDistance)) {
    variable.form = Form::Distances;
    return;
  }
  ArrayRef<Value> others = indices.drop_back();
  std::optional<RegionDependence::Linear> last =
      dependence.getLinear(indices.back());
  if (llvm::none_of(others, onRow) && last && last->key == 1) {
    variable.form = Form::Keys;
    return;
  }
  if (std::optional<SmallVector<size_t>> ofKeys =
          findGroups(dependence, indices, type)) {
    variable.form = Form::Groups;
    variable.ofKeys = *ofKeys;
    return;
  }
  bool areLines = llvm::none_of(others, onLane) && last && last->position == 1;
  variable.form = areLines ? Form::Queries : Form::Scattered;
}
