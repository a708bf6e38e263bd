//===- WarpFunctions.cpp - Operations of a warp ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Emulator/Block.h"
#include "runtime/Emulator/Functions.h"

#include "attn/element_type.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace attn::emulator;

/// Calls `function(lane, slot)` for each lane of `lanes`.
template <typename Slot, typename Function>
static void forEachLane(void *const *slots, std::uint32_t lanes,
                        Function function) {
  for (; lanes; lanes &= lanes - 1) {
    auto lane = unsigned(std::countr_zero(lanes));
    function(lane, *static_cast<Slot *>(slots[lane]));
  }
}

void attn_emu_warp_sync(std::int32_t mask, const char *site) {
  Block::current().meet({site, std::uint32_t(mask), /*isAligned=*/false,
                         [](void *const *, std::uint32_t lanes) {
                           Block::current().orderLanes(lanes);
                         }},
                        nullptr);
}

//===----------------------------------------------------------------------===//
// Exchange of values
//===----------------------------------------------------------------------===//

namespace {
struct ShuffleSlot {
  const char *site;
  std::int32_t given, offset, clamp, kind;
  std::int32_t taken;
  bool isInRange;
};
} // namespace

/// The lane whose value `lane` takes, and whether that is in its segment; else
/// it takes its own.
static std::pair<unsigned, bool> findSource(unsigned lane,
                                            const ShuffleSlot &slot) {
  // All numbers of lanes have 5 bits.
  unsigned offset = unsigned(slot.offset) & 31;
  unsigned clamp = unsigned(slot.clamp) & 31;
  unsigned segment = (unsigned(slot.clamp) >> 8) & 31;
  unsigned first = lane & segment;
  unsigned last = first | (clamp & ~segment);
  unsigned source = lane;
  bool isInRange = true;
  enum { butterfly, up, down, index };
  switch (slot.kind) {
  case butterfly:
    source = lane ^ offset;
    isInRange = source <= last;
    break;
  case up:
    isInRange = int(lane) - int(offset) >= int(last);
    source = lane - offset;
    break;
  case down:
    source = lane + offset;
    isInRange = source <= last;
    break;
  case index:
    source = first | (offset & ~segment);
    isInRange = source <= last;
    break;
  default:
    __builtin_unreachable();
  }
  return {isInRange ? source : lane, isInRange};
}

void attn_emu_shuffle(std::int32_t *values, std::int32_t mask,
                      std::int32_t offset, std::int32_t clamp,
                      std::int32_t kind, const char *site) {
  ShuffleSlot slot = {site, values[0], offset, clamp, kind, 0, false};
  auto together = [](void *const *slots, std::uint32_t lanes) {
    forEachLane<ShuffleSlot>(slots, lanes, [&](unsigned lane, auto &slot) {
      auto [source, isInRange] = findSource(lane, slot);
      if (!(lanes >> source & 1))
        Block::current().fail(slot.site,
                              "lane %u takes the value of lane %u, which does "
                              "not take part",
                              lane, source);
      slot.taken = static_cast<ShuffleSlot *>(slots[source])->given;
      slot.isInRange = isInRange;
    });
  };
  Block::current().meet(
      {site, std::uint32_t(mask), /*isAligned=*/false, together}, &slot);
  values[0] = slot.taken;
  values[1] = slot.isInRange;
}

namespace {
struct ReductionSlot {
  std::uint32_t value;
  std::int32_t kind;
  std::uint32_t result;
};
} // namespace

std::int32_t attn_emu_vote(std::int32_t mask, bool predicate, std::int32_t kind,
                           const char *site) {
  ReductionSlot slot = {predicate, kind, 0};
  auto together = [](void *const *slots, std::uint32_t lanes) {
    std::uint32_t ballot = 0;
    forEachLane<ReductionSlot>(slots, lanes, [&](unsigned lane, auto &slot) {
      ballot |= slot.value << lane;
    });
    forEachLane<ReductionSlot>(slots, lanes, [&](unsigned, auto &slot) {
      const std::uint32_t results[] = {ballot != 0, ballot == lanes, ballot,
                                       ballot == 0 || ballot == lanes};
      slot.result = results[slot.kind];
    });
  };
  Block::current().meet(
      {site, std::uint32_t(mask), /*isAligned=*/false, together}, &slot);
  return std::int32_t(slot.result);
}

static std::uint32_t reduce(std::int32_t kind, std::uint32_t a,
                            std::uint32_t b) {
  enum { add = 1, bitAnd, max, min, bitOr, unsignedMax, unsignedMin, bitXor };
  switch (kind) {
  case add:
    return a + b;
  case bitAnd:
    return a & b;
  case max:
    return std::uint32_t(std::max(std::int32_t(a), std::int32_t(b)));
  case min:
    return std::uint32_t(std::min(std::int32_t(a), std::int32_t(b)));
  case bitOr:
    return a | b;
  case unsignedMax:
    return std::max(a, b);
  case unsignedMin:
    return std::min(a, b);
  case bitXor:
    return a ^ b;
  default:
    __builtin_unreachable();
  }
}

std::int32_t attn_emu_redux(std::int32_t value, std::int32_t mask,
                            std::int32_t kind, const char *site) {
  ReductionSlot slot = {std::uint32_t(value), kind, 0};
  auto together = [](void *const *slots, std::uint32_t lanes) {
    auto &first = *static_cast<ReductionSlot *>(slots[std::countr_zero(lanes)]);
    std::uint32_t result = first.value;
    forEachLane<ReductionSlot>(slots, lanes & (lanes - 1),
                               [&](unsigned, auto &slot) {
                                 result = reduce(slot.kind, result, slot.value);
                               });
    forEachLane<ReductionSlot>(
        slots, lanes, [&](unsigned, auto &slot) { slot.result = result; });
  };
  Block::current().meet(
      {site, std::uint32_t(mask), /*isAligned=*/false, together}, &slot);
  return std::int32_t(slot.result);
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

namespace {
/// Rows and columns of an 8x8 matrix.
constexpr unsigned tile = 8;

struct LoadSlot {
  std::int32_t *registers;
  const void *row;
  unsigned count;
  bool transpose;
};
} // namespace

void attn_emu_ldmatrix(std::int32_t *registers, const void *row,
                       std::int32_t count, bool transpose, const char *site) {
  Block &block = Block::current();
  // Lanes from 8 * count on name rows that are not read.
  if (block.self().lane() < tile * unsigned(count)) {
    constexpr std::int64_t rowBytes = 16;
    enum { load = 0, shared = 3 };
    attn_emu_access(const_cast<void *>(row), rowBytes, rowBytes, load, shared,
                    site);
  }
  LoadSlot slot = {registers, row, unsigned(count), transpose};
  auto together = [](void *const *slots, std::uint32_t lanes) {
    forEachLane<LoadSlot>(slots, lanes, [&](unsigned lane, auto &slot) {
      for (unsigned matrix = 0; matrix < slot.count; ++matrix) {
        std::uint16_t pair[2];
        for (unsigned e = 0; e < 2; ++e) {
          unsigned i = lane / 4, j = 2 * (lane % 4) + e;
          if (slot.transpose)
            std::swap(i, j);
          auto &owner = *static_cast<LoadSlot *>(slots[matrix * tile + i]);
          pair[e] = static_cast<const std::uint16_t *>(owner.row)[j];
        }
        std::memcpy(slot.registers + matrix, pair, sizeof(pair));
      }
    });
  };
  block.meet({site, wholeWarp, /*isAligned=*/true, together}, &slot);
}

std::int32_t attn_emu_movmatrix(std::int32_t pair, const char *site) {
  auto together = [](void *const *slots, std::uint32_t lanes) {
    std::uint16_t matrix[tile][tile];
    forEachLane<std::int32_t>(slots, lanes, [&](unsigned lane, auto &pair) {
      std::memcpy(&matrix[lane / 4][2 * (lane % 4)], &pair, sizeof(pair));
    });
    forEachLane<std::int32_t>(slots, lanes, [&](unsigned lane, auto &pair) {
      const std::uint16_t transposed[] = {matrix[2 * (lane % 4)][lane / 4],
                                          matrix[2 * (lane % 4) + 1][lane / 4]};
      std::memcpy(&pair, transposed, sizeof(pair));
    });
  };
  Block::current().meet({site, wholeWarp, /*isAligned=*/true, together}, &pair);
  return pair;
}

/// One of the two elements of 16 bits in a register.
template <typename Element>
static float readElement(std::int32_t word, unsigned index) {
  return float(
      Element::fromBits(std::uint16_t(std::uint32_t(word) >> (16 * index))));
}

/// Lane 4g+t has of A rows g and g+8 and columns 2t, 2t+1 of each 8x8 tile, of
/// B rows 2t, 2t+1 and column g of each, of C and D as of A.
template <typename Element, unsigned k>
static void multiply(void *const *slots, std::uint32_t lanes) {
  constexpr unsigned m = 16, n = 8;
  constexpr unsigned numA = k / 4, numB = k / 8;
  float a[m][k], b[k][n];
  forEachLane<std::int32_t>(slots, lanes, [&](unsigned lane, auto &words) {
    unsigned g = lane / 4, t = lane % 4;
    const std::int32_t *wordsA = &words, *wordsB = &words + numA;
    for (unsigned e = 0; e < 2; ++e) {
      for (unsigned r = 0; r < numA; ++r)
        a[g + tile * (r % 2)][2 * t + e + tile * (r / 2)] =
            readElement<Element>(wordsA[r], e);
      for (unsigned r = 0; r < numB; ++r)
        b[2 * t + e + tile * r][g] = readElement<Element>(wordsB[r], e);
    }
  });
  forEachLane<std::int32_t>(slots, lanes, [&](unsigned lane, auto &words) {
    unsigned g = lane / 4, t = lane % 4;
    std::int32_t *wordsC = &words + numA + numB;
    for (unsigned r = 0; r < 4; ++r) {
      float sum = std::bit_cast<float>(wordsC[r]);
      for (unsigned i = 0; i < k; ++i)
        sum += a[g + tile * (r / 2)][i] * b[i][2 * t + r % 2];
      (&words)[r] = std::bit_cast<std::int32_t>(sum);
    }
  });
}

void attn_emu_mma(std::int32_t *fragments, std::int32_t k, bool isBF16,
                  const char *site) {
  Together together =
      k == 8 ? (isBF16 ? &multiply<attn::bf16, 8> : &multiply<attn::f16, 8>)
             : (isBF16 ? &multiply<attn::bf16, 16> : &multiply<attn::f16, 16>);
  Block::current().meet({site, wholeWarp, /*isAligned=*/true, together},
                        fragments);
}
