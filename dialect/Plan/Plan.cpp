//===- Plan.cpp - How a kernel computes an op -----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace mlir::attn;

PlanAttr PlanAttr::get(MLIRContext *context, const PlanFields &fields) {
  return get(context, fields.layout, fields.heads, fields.rows, fields.lanes,
             fields.headSize, fields.keys, fields.chunk, fields.columns,
             fields.features, fields.packs, fields.ahead, fields.inWarpgroups,
             fields.isBatchInvariant, fields.rest);
}

PlanFields PlanAttr::getFields() const {
  return {getLayout(),         getHeads(), getRows(),  getLanes(),
          getHeadSize(),       getKeys(),  getChunk(), getColumns(),
          getFeatures(),       getPacks(), getAhead(), getWarpgroups(),
          getBatchInvariant(), getRest()};
}

LogicalResult PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               std::optional<OnlineLayout>, int64_t heads,
                               int64_t rows, int64_t lanes, int64_t headSize,
                               int64_t keys, int64_t chunk, int64_t columns,
                               int64_t features, std::optional<Packs>,
                               int64_t ahead, bool, bool, PlanAttr rest) {
  // Each row, lane and key may become an operation.
  constexpr int64_t kMostOfTile = 4096, kMost = int64_t(1) << 30;
  struct Parameter {
    StringRef name;
    int64_t value, most;
  };
  for (const Parameter &parameter :
       {Parameter{"heads", heads, kMostOfTile},
        Parameter{"rows", rows, kMostOfTile},
        Parameter{"lanes", lanes, kMostOfTile},
        Parameter{"head_size", headSize, 2 * kMostOfTile},
        Parameter{"keys", keys, kMostOfTile}, Parameter{"chunk", chunk, kMost},
        Parameter{"columns", columns, kMost},
        Parameter{"features", features, kMost},
        Parameter{"ahead", ahead, kMost}})
    if (parameter.value < 0 || parameter.value > parameter.most)
      return emitError() << parameter.name << ": expected 1 to "
                         << parameter.most << ", got " << parameter.value;
  if (rest && (rest.getRest() || rest.getRows() == 0))
    return emitError() << "rest: expected a plan with 'rows' and without a "
                          "rest of its own";
  return success();
}
