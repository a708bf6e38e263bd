//===- BlockKeys.cpp - Keys of a block of attention -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/BlockKeys.h"
#include "lib/Plan/Plan.h"

#include "llvm/ADT/bit.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::attn;

/// Keys of a block for matrix units: fewer for long heads, whose output leaves
/// few registers for scores, and whose queries take workgroup memory.
static int64_t chooseKeysForMatrixUnits(int64_t size) {
  int64_t elements = size > 128 ? 1 << 12 : 1 << 13;
  int64_t keys =
      int64_t(llvm::bit_floor(uint64_t(elements / std::max<int64_t>(1, size))));
  return std::clamp<int64_t>(keys, 16, kMostKeysOfBlock);
}

int64_t attn::countProducts(Type stored, int64_t rows) {
  return rows * 8 / std::max(stored.getIntOrFloatBitWidth(), 16u);
}

int64_t attn::chooseBytesAhead(Type stored, int64_t rows, int64_t size,
                               int64_t keys, const CacheModel &model) {
  int64_t bits = stored.getIntOrFloatBitWidth(), bytes = size * bits / 8,
          products = countProducts(stored, rows);
  // Converting 8 bits takes longer than reading them.
  if (bits == 8 || !model.readsRowsInTurn(bytes, products))
    return 0;
  return (1 + products) * keys * bytes;
}

int64_t attn::chooseKeysOfBlock(OnlineLayout layout, Type type, Type stored,
                                int64_t rows, int64_t size,
                                const CacheModel &model) {
  size = std::max<int64_t>(size, 1);
  // Matrix units do not multiply f32. Whatever is stored, tiles are of it, and
  // none leaves the unit that parts of keys are made of. What they are copied
  // to has 16 rows at least.
  if (layout == OnlineLayout::Mma && type.isF32())
    return std::clamp<int64_t>(
        model.getStreamedKeys(size * 4, /*isInteger=*/false), 16,
        kMostKeysOfBlock);
  if (layout == OnlineLayout::Rows) {
    int64_t bytes = size * stored.getIntOrFloatBitWidth() / 8;
    if (isa<IntegerType>(stored))
      return model.getStreamedKeys(bytes, /*isInteger=*/true);
    return model.getStreamedKeys(bytes, /*isInteger=*/false,
                                 countProducts(stored, rows));
  }
  if (layout == OnlineLayout::Mma)
    return chooseKeysForMatrixUnits(size);
  int64_t most = model.getKeys();
  if (layout == OnlineLayout::Pairs)
    return std::max(most, OnlineAttentionOp::kKeysPerPack);
  if (type.isF32())
    return most;
  // Keys and values are converted in the block.
  return std::clamp<int64_t>(model.getConvertedKeys(size),
                             std::min<int64_t>(32, most), most);
}
