//===- LaneValues.h - Scalars of a lane for vectors -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_VECTORTOLANES_LANEVALUES_H
#define ATTN_GPU_VECTORTOLANES_LANEVALUES_H

#include "dialect/Shared/IndexBuilder.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::attn {

/// Whether a value is a vector of the workgroup. One of fewer elements than a
/// warp has rows is of one thread, which keeps it.
inline bool isVector(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  return type && (type.getRank() != 1 || type.getDimSize(0) >= kRowsOfWarp);
}

inline bool hasVectors(Operation *op) {
  return llvm::any_of(op->getOperands(), isVector) ||
         llvm::any_of(op->getResults(), isVector);
}

/// Which lane a thread is; see attn-distribute-to-lanes.
struct LaneIndex {
  Value thread;      ///< In the workgroup, or in its share.
  Value share;       ///< The number of that; null if there are none.
  Value lane;        ///< In its warp.
  Value firstRow;    ///< R * w + g, or R * w + 2 * t where it is transposed.
  Value firstColumn; ///< 2 * t, or g.
  Value isLeader;    ///< i1: t is 0, or g is.
  Value rowOfFactor, columnOfFactor; ///< R * w + g, and 2 * t.
};

/// Workgroup memory of a launch, all of it dynamic. Buffers share it that are
/// not used at the same time. Where warps share a workgroup, a buffer may be of
/// a warp: each has its own.
class WorkgroupMemory {
public:
  enum class Owner { Workgroup, Warp };

  explicit WorkgroupMemory(gpu::LaunchOp launch) : launch(launch) {}

  /// Emits, at the start of the launch, memory of its own for a buffer of a
  /// static shape, which begins at a multiple of `alignment` bytes. Uses of two
  /// buffers that may share memory are on two sides of a barrier.
  Value allocate(MemRefType type, Owner owner, int64_t alignment = 16,
                 bool isKept = false);

  /// Whether what is in such a buffer is written and read by one warp alone.
  bool isOfWarp(Value memory) const;

  /// Gives buffers their places, and the launch the size of all of them, when
  /// everything that uses them is there. Emits an error if it is more than a
  /// workgroup may have.
  LogicalResult setSize();

private:
  gpu::LaunchOp launch;
  Value base;
  struct Buffer {
    memref::ViewOp view;
    Owner owner;
    int64_t alignment; ///< Bytes.
    bool isKept;       ///< Shares its memory with no other.
  };
  SmallVector<Buffer> buffers;
};

/// Which elements of a vector a lane has; see attn-distribute-to-lanes.
enum class Layout { Fragment, Rows, Columns };

/// The scalars that a lane has of the vectors of a launch, in this order:
///
///   fragment (M, N)    element (H * n + h) * 2 + e  is row h, column (n, e)
///   row slice (M)      element h
///   column slice (N)   element 2 * n + e
///
/// where a lane has H rows, two of each 16 of its warp. Where products are
/// transposed, it has two rows e of 8, which are all that there are:
///
///   fragment (M, N)    element 2 * n + e  is row e, column n
///   row slice (M)      element e
///   column slice (N)   element n
class LaneValues {
public:
  /// Emits the index of the lane at the start of `launch`, and sets `b` behind
  /// it. `numThreads`, of a workgroup, are whole warps, each of `warpRows`.
  LaneValues(gpu::LaunchOp launch, OpBuilder &builder, int64_t numThreads,
             int64_t warpRows, bool isTransposed);

  /// Warps that share the workgroup, each with keys of its own. Between
  /// `enterWarp` and `leaveWarp` is what each of them executes by itself.
  int64_t getNumShares() const { return numShares; }
  void enterWarp() { inWarp = true; }
  void leaveWarp() { inWarp = false; }
  bool isInWarp() const { return inWarp; }

  /// The threads that execute what is converted, together: of all the
  /// workgroup, or of a warp that shares it.
  struct Threads {
    Value thread;
    int64_t number;
  };
  Threads getThreads();

  /// Memory for these threads, and a barrier for them, or for those that
  /// `memory` is of.
  Value allocate(MemRefType type);
  void emitBarrier();
  void emitBarrier(Value memory);

  /// Nothing for a type that is not distributed.
  std::optional<Layout> getLayout(VectorType type) const;

  /// How many scalars a lane has of a vector with a layout.
  int64_t getNumElements(VectorType type) const;

  /// Whether a vector was converted, or can be where it is used.
  bool isKnown(Value vector) const;

  /// The lane's elements of a vector that was converted, or of a constant,
  /// which may stand before the launch.
  SmallVector<Value> get(Value vector);

  void set(Value vector, SmallVector<Value> elements) {
    scalars[vector] = std::move(elements);
  }

  /// Neighbours in rows of a fragment, two by two, as registers hold 16 bits.
  SmallVector<Value> pair(ArrayRef<Value> elements);

  /// Replaces vectors by their elements, or pairs of them if they have 16 bits;
  /// other values stay.
  SmallVector<Value> flatten(ValueRange values);
  SmallVector<Type> flattenTypes(TypeRange types);

  /// Says that `to` are the values of `from`, flattened.
  void assign(ValueRange from, ValueRange to);

  /// The numbers of the lane's rows in the tile.
  SmallVector<Value> rows();
  /// The numbers of the lane's columns of `count`, in the order of a slice.
  SmallVector<Value> columns(int64_t count);

  /// Where an element of a fragment is: in a slice of rows, and of columns.
  int64_t getRow(int64_t element) const {
    return isTransposed ? element % 2 : element / 2 % laneRows;
  }
  int64_t getColumn(int64_t element) const {
    return isTransposed ? element / 2
                        : element / (2 * laneRows) * 2 + element % 2;
  }
  int64_t getElement(int64_t row, int64_t column) const {
    return isTransposed ? 2 * column + row
                        : (column / 2 * laneRows + row) * 2 + column % 2;
  }
  /// The first of the elements in 8 columns, and how many there are.
  int64_t getElementsOfBlock() const { return isTransposed ? 2 : 2 * laneRows; }
  int64_t getBlock(int64_t columns) const {
    return columns * getElementsOfBlock();
  }
  /// Of a fragment that is not transposed, the first one of a pair of
  /// neighbours in columns `2 * t` of 8.
  int64_t getPair(int64_t row, int64_t columns) const {
    return getBlock(columns) + 2 * row;
  }

  /// Elements of 16 bits of a transposed fragment as pairs of neighbours in
  /// `rowOfFactor`, of columns `2 * t` of each 8, or such pairs as a fragment.
  SmallVector<Value> toFactor(ArrayRef<Value> elements);
  SmallVector<Value> fromFactor(ArrayRef<Value> pairs);

  IndexBuilder b; ///< In front of what is converted.
  const int64_t numThreads, warpRows, laneRows, numRows;
  /// Whether products compute the transpose of a tile, of at most 8 rows. Else
  /// 8 of 16 rows would be computed for nobody.
  const bool isTransposed;
  LaneIndex index;
  WorkgroupMemory memory;
  DenseMap<Value, Value> shared; ///< Workgroup memory, by the vector read.
  /// Pairs as of `toFactor`, of what is nothing but the first factor of
  /// products.
  DenseMap<Value, SmallVector<Value>> factors;

private:
  void emitBarrierOfAll();

  const int64_t numShares;
  bool inWarp = false;

  bool isPassedInPairs(VectorType type) const;
  SmallVector<Value> emitElements(ValueRange pairs);

  DenseMap<Value, SmallVector<Value>> scalars;
};

} // namespace mlir::attn

#endif // ATTN_GPU_VECTORTOLANES_LANEVALUES_H
