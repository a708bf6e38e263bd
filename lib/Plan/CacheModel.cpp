//===- CacheModel.cpp - What has to fit where -----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/CacheModel.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace mlir::attn;

static int64_t floorToPower(int64_t number) {
  return int64_t(llvm::bit_floor(uint64_t(std::max<int64_t>(number, 1))));
}

int64_t CacheModel::getPlainRows() const {
  return std::max<int64_t>(4 * target.getLanes(), 32);
}

int64_t CacheModel::getVariantRows(int64_t elements) const {
  bool fits = 4 * elements * getKeys() <= target.getL1Bytes();
  return std::max<int64_t>(2 * target.getLanes(), fits ? 16 : 32);
}

int64_t CacheModel::getKeys() const {
  constexpr int64_t kBytesOfKeyAndValue = 2 * 64 * 4;
  return std::clamp<int64_t>(
      floorToPower(target.getL1Bytes() / kBytesOfKeyAndValue), 16, 256);
}

int64_t CacheModel::getConvertedKeys(int64_t size) const {
  int64_t bytesOfRow = 4 * std::max<int64_t>(size, 1);
  return floorToPower(floorToPower(target.getL1Bytes()) / 2 / bytesOfRow);
}

int64_t CacheModel::getStreamedKeys(int64_t bytes, bool isInteger,
                                    int64_t products) const {
  auto underWay = int64_t(llvm::bit_ceil(uint64_t(getBytesUnderWay())));
  int64_t turn = std::max(underWay / (isInteger ? 2 : 4), kBytesOfRun);
  constexpr int64_t kWidest = 16; // Lanes, of 512 bits.
  constexpr int64_t kLongest = 4;
  turn *=
      std::clamp<int64_t>(products * target.getLanes() / kWidest, 1, kLongest);
  if (products == 0 && isMemoryFar())
    turn /= 2;
  constexpr int64_t kLeast = 8; // As rows of scores come.
  constexpr int64_t kMost = 256;
  return std::clamp<int64_t>(floorToPower(turn / bytes), kLeast, kMost);
}

bool CacheModel::isMemoryFar() const {
  return getBytesUnderWay() > 2 * kBytesOfRun;
}

bool CacheModel::readsRowsInTurn(int64_t bytes, int64_t products) const {
  constexpr int64_t kLines = 8;
  return isMemoryFar() && target.getVectorBits() >= 8 * target.getLineBytes() &&
         (products == 0 ||
          (products == 1 && bytes >= kLines * target.getLineBytes()));
}

int64_t CacheModel::getChunk() const {
  constexpr int64_t kBlocks = 16;
  return kBlocks * getKeys();
}

CacheModel::ProjectionSizes
CacheModel::getProjectionSizes(bool inPairs, int64_t numParts) const {
  ProjectionSizes sizes = {.rows = 384, .columns = 256, .features = 384};
  if (inPairs)
    sizes = {.rows = 256, .columns = numParts > 1 ? 768 : 512, .features = 640};
  constexpr int64_t kBytesOfSum = 4, kLeastRows = 32;
  int64_t fitting = target.getL2Bytes() * 3 / 4 / (kBytesOfSum * sizes.columns);
  sizes.rows =
      std::clamp(fitting / kLeastRows * kLeastRows, kLeastRows, sizes.rows);
  return sizes;
}

int64_t CacheModel::getStreamedFeatures(bool hasPanels) const {
  constexpr int64_t kBytesOfWeight = 4, kLeastFeatures = 64;
  int64_t columns = hasPanels ? 64 : 256, blocks = hasPanels ? 2 : 4;
  return std::max<int64_t>(
      floorToPower(target.getL2Bytes() / (blocks * columns * kBytesOfWeight)),
      kLeastFeatures);
}

int64_t CacheModel::getResidentBytes() const {
  int64_t share = target.getL2Bytes() * 5 / 8;
  return target.getBf16Tiles() ? share : 2 * share;
}

int64_t CacheModel::getUsualWorkgroups(Workgroup workgroup) {
  return workgroup.rowSize * workgroup.warpRows <= 64 * 16 ? 3 : 2;
}

int64_t CacheModel::getWantedWorkgroups(Workgroup workgroup) {
  return std::max<int64_t>(getUsualWorkgroups(workgroup),
                           llvm::divideCeil(kWantedWarps, workgroup.warps));
}

int64_t CacheModel::getFreeBytes(int64_t workgroups, int64_t queryBytes) const {
  return target.getGpuSharedBytes() / workgroups - kReservedOfWorkgroup -
         queryBytes;
}

bool CacheModel::wantsMoreWorkgroups(Workgroup workgroup) {
  return getWantedWorkgroups(workgroup) > getUsualWorkgroups(workgroup);
}

int64_t CacheModel::getBlocksOfWanted(int64_t bytes, int64_t queryBytes,
                                      Workgroup workgroup) const {
  int64_t free = getFreeBytes(getWantedWorkgroups(workgroup), queryBytes);
  return std::max<int64_t>(free, 0) / bytes;
}

bool CacheModel::takesTurns(int64_t bytes, int64_t queryBytes,
                            Workgroup workgroup) const {
  return wantsMoreWorkgroups(workgroup) &&
         getBlocksOfWanted(bytes, queryBytes, workgroup) < 2;
}

/// Blocks in workgroup memory at most.
static constexpr int64_t kMostStages = 4;

int64_t CacheModel::getStages(int64_t bytes, int64_t queryBytes,
                              Workgroup workgroup) const {
  constexpr int64_t kLeastBytes = 48 << 10, kMostBytes = 96 << 10;
  if (int64_t blocks = getBlocksOfWanted(bytes, queryBytes, workgroup);
      wantsMoreWorkgroups(workgroup) && blocks >= 2)
    return std::min(blocks, kMostStages);
  int64_t free = std::max(
      getFreeBytes(getUsualWorkgroups(workgroup), queryBytes), kLeastBytes);
  return std::clamp<int64_t>(free / bytes, 2 * bytes <= kMostBytes ? 2 : 1,
                             kMostStages);
}

int64_t CacheModel::getStagesOfWarpgroups(int64_t bytes,
                                          int64_t otherBytes) const {
  // Some is for what tells of stages.
  int64_t free = getFreeBytes(1, otherBytes + kReservedOfWorkgroup);
  return std::clamp<int64_t>(free / bytes, 1, kMostStages);
}

CacheModel::Occupancy CacheModel::getOccupancy(int64_t bytes,
                                               BesideBlocks beside,
                                               Workgroup workgroup) const {
  int64_t blocks = takesTurns(bytes, /*queryBytes=*/0, workgroup)
                       ? 1
                       : getStages(bytes, /*queryBytes=*/0, workgroup);
  int64_t ofWarp = blocks * bytes + beside.factors;
  Occupancy best = {1, 1};
  for (int64_t shares = workgroup.warps > 1 ? 1 : kMostShares; shares > 0;
       --shares) {
    int64_t ofEach = shares > 1 ? std::max(ofWarp, beside.state) : ofWarp;
    auto count = [&](int64_t each) {
      return target.getGpuSharedBytes() /
             (shares * each + kReservedOfWorkgroup);
    };
    if (shares > 1 && count(ofEach + beside.positions) == 0)
      continue;
    if (count(ofEach) * shares > best.workgroups * best.shares)
      best = {count(ofEach), shares};
    if (best.workgroups * best.shares >= kWantedWarps)
      break;
  }
  return best;
}

int64_t CacheModel::getMostKeys(int64_t bytes, Workgroup workgroup) const {
  if (!wantsMoreWorkgroups(workgroup))
    return std::numeric_limits<int64_t>::max();
  return floorToPower(std::max<int64_t>(
      getBlocksOfWanted(bytes, /*queryBytes=*/0, workgroup), 1));
}

bool CacheModel::waitsForL3(int64_t bytes) const {
  // Hundreds of instructions, a few of which are started in each cycle.
  constexpr int64_t kNsLookedAhead = 40;
  return 4 * bytes > 3 * target.getL2Bytes() &&
         target.getL3Ns() > kNsLookedAhead;
}

int64_t CacheModel::getBytesUnderWay() const {
  return target.getMemoryNs() * target.getMemoryGbs();
}
