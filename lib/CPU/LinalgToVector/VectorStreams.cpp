//===- VectorStreams.cpp - Reading a matrix from memory in streams --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How blocks of a product are computed where memory is all that they wait for,
// as of one token and a weight. Two streams come sooner than one, since a
// processor that fetches ahead by itself begins anew in each page. What it does
// not see, where the next block begins, is fetched as the same streams.
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/VectorBlocks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::attn;

static constexpr int64_t mostStreams = 2;
/// Vectors of sums that leave registers for everything else.
static constexpr int64_t mostSums = 16;

void VectorBlocks::emitInStreams(ValueRange rows, ValueRange columns,
                                 SmallVector<Value> &acc) {
  int64_t steps = getNumSteps(0);
  numStreams = steps % mostStreams == 0 ? mostStreams : 1;
  steps /= numStreams;
  size_t numVectors = columns.size();
  // Streams have sums of their own if there is room, which are rounded less.
  if (rows.size() * numVectors * numStreams <= mostSums)
    acc.append((numStreams - 1) * numVectors,
               arith::ConstantOp::create(b, loc,
                                         b.getZeroAttr(acc.front().getType())));
  fetched = contraction.next;
  stepsAhead = 0;
  if (rows.size() == 1) {
    MemRefType type = contraction.b.getType();
    int64_t bytes = type.getNumElements() / getNumSteps(0) *
                    type.getElementTypeBitWidth() / 8;
    int64_t ahead =
        std::clamp<int64_t>(contraction.bytesAhead / bytes, 1, steps);
    // The end of a stream has the next block's beginning fetched.
    fetched = contraction.stream;
    stepsAhead = ahead;
    emitSteps(rows, columns, {}, 0, steps - ahead, acc);
    fetched = contraction.next;
    stepsAhead = ahead - steps;
    emitSteps(rows, columns, {}, steps - ahead, steps, acc);
  } else {
    // Other rows read these again, so that there is time to fetch all.
    emitSteps(rows, columns, {}, 0, steps, acc);
  }
  while (acc.size() > numVectors) {
    Value sums = acc.pop_back_val();
    Value &first = acc[acc.size() % numVectors];
    first = arith::AddFOp::create(b, loc, first, sums);
  }
}

void VectorBlocks::emitStreams(ValueRange rows, ValueRange columns,
                               ValueRange k, SmallVector<Value> &acc) {
  size_t numVectors = columns.size();
  bool hasOwnSums = acc.size() > numVectors;
  for (int64_t i = 0; i < numStreams; ++i) {
    SmallVector<Value> ofStream(k);
    if (i > 0)
      ofStream[0] = b.add(ofStream[0], i * (getNumSteps(0) / numStreams));
    emitStep(rows, columns, ofStream,
             MutableArrayRef(acc).slice(hasOwnSums ? i * numVectors : 0,
                                        numVectors));
  }
}

void VectorBlocks::fetchRow(ValueRange k, Value column) {
  SmallVector<Value> later(k);
  later[0] = b.add(later[0], stepsAhead);
  SmallVector<Value> at =
      getIndices(contraction.mapOfB, /*row=*/{}, column, later);
  if (contraction.hasPairs())
    at.push_back(b.index(0));
  // To the second level: the first has few lines under way at a time.
  memref::PrefetchOp::create(b, loc, fetched, at, /*isWrite=*/false,
                             /*localityHint=*/2, /*isDataCache=*/true);
}
