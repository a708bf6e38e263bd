//===- Functions.h - What emulated kernels call -------------- -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_FUNCTIONS_H
#define ATTN_RUNTIME_EMULATOR_FUNCTIONS_H

#include <cstdint>
#include <span>

namespace attn::emulator {

struct Function {
  const char *name;
  void *address;
};

/// The functions below, by name.
std::span<const Function> getFunctions();

} // namespace attn::emulator

// What `convert-nvvm-to-emulator` makes calls of, on the fiber of a thread.
// `site` is an operation and its place in the source. Operations of a warp wait
// for the lanes that take part. Semantics are those of PTX ISA 8.5.
extern "C" {
/// Special registers. `dimension` is 0 for x, 1 for y, 2 for z.
std::int32_t attn_emu_thread_id(std::int32_t dimension);
std::int32_t attn_emu_block_size(std::int32_t dimension);
std::int32_t attn_emu_block_id(std::int32_t dimension);
std::int32_t attn_emu_grid_size(std::int32_t dimension);
std::int32_t attn_emu_lane_id();
std::int32_t attn_emu_warp_id();
std::int32_t attn_emu_num_warps();

/// The begin of the block's shared memory.
void *attn_emu_shared_memory();

/// Checks an access before it takes place. `space` is the address space: 0
/// generic, 1 global, 3 shared. `kind` is 0 for a load, 1 for a store, 2 for
/// both.
void attn_emu_access(void *address, std::int64_t bytes, std::int64_t alignment,
                     std::int32_t kind, std::int32_t space, const char *site);

/// cp.async of `bytes`, of which the last `bytes - source_bytes` become zero.
void attn_emu_cp_async(void *target, const void *source, std::int32_t bytes,
                       std::int32_t source_bytes, const char *site);
void attn_emu_cp_async_commit_group();
void attn_emu_cp_async_wait_group(std::int32_t count);

/// mbarrier.init, .inval, .arrive, which gives the phase, and a loop of
/// .try_wait.parity.
void attn_emu_mbarrier_init(void *address, std::int32_t count,
                            const char *site);
void attn_emu_mbarrier_inval(void *address, const char *site);
std::int64_t attn_emu_mbarrier_arrive(void *address, std::int32_t count,
                                      bool releases, const char *site);
void attn_emu_mbarrier_wait(void *address, std::int32_t parity,
                            const char *site);
/// cp.async.mbarrier.arrive.noinc
void attn_emu_cp_async_mbarrier_arrive(void *address, const char *site);

/// barrier.cta.sync.aligned and .arrive.aligned; 0 threads: all of the block.
void attn_emu_barrier_sync(std::int32_t barrier, std::int32_t num_threads,
                           const char *site);
void attn_emu_barrier_arrive(std::int32_t barrier, std::int32_t num_threads,
                             const char *site);
/// barrier.cta.red.aligned.all at barrier 0. `kind` is 0 for popc, 1 and, 2 or.
std::int32_t attn_emu_barrier_reduce(std::int32_t predicate, std::int32_t kind,
                                     const char *site);
void attn_emu_warp_sync(std::int32_t mask, const char *site);

/// __assertfail: ends the launch with `message` at `location`, which ends in
/// ": " unless it is empty.
void attn_emu_assert_fail(const char *message, const char *location);

/// shfl.sync of 32 bits. `kind` is 0 for bfly, 1 up, 2 down, 3 idx. `values`
/// holds the value to give, and then the value taken and whether its lane was
/// in range.
void attn_emu_shuffle(std::int32_t *values, std::int32_t mask,
                      std::int32_t offset, std::int32_t clamp,
                      std::int32_t kind, const char *site);
/// vote.sync. `kind` is 0 for any, 1 all, 2 ballot, 3 uni.
std::int32_t attn_emu_vote(std::int32_t mask, bool predicate, std::int32_t kind,
                           const char *site);
/// redux.sync. `kind` is 1 for add, 2 and, 3 max, 4 min, 5 or, 6 umax, 7 umin,
/// 8 xor.
std::int32_t attn_emu_redux(std::int32_t value, std::int32_t mask,
                            std::int32_t kind, const char *site);

/// ldmatrix of `count` 8x8 matrices of 16 bits: `registers` gets one word of
/// each. `row` is the address of the row that the lane names.
void attn_emu_ldmatrix(std::int32_t *registers, const void *row,
                       std::int32_t count, bool transpose, const char *site);
/// movmatrix: `pair` is of an 8x8 matrix of 16 bits, the result of its
/// transpose.
std::int32_t attn_emu_movmatrix(std::int32_t pair, const char *site);
/// mma.sync.m16n8k8 or k16 with f32 accumulators. `fragments` holds the words
/// of A, of B and of C in this order, and gets those of D at its begin.
void attn_emu_mma(std::int32_t *fragments, std::int32_t k, bool is_bf16,
                  const char *site);

/// Begins a product as attn.warpgroup_mma describes it. `sums` holds what it is
/// added to, if it `accumulates`, and NaNs until it is waited for. `lhs` holds
/// the registers of the first factor, words, or, if the product `reads_both`,
/// a descriptor for each step; `steps` what each step adds to `descriptor`.
void attn_emu_wgmma(float *sums, const void *lhs, std::int64_t descriptor,
                    const std::int64_t *steps, std::int32_t num_steps,
                    std::int32_t columns, bool reads_both, bool is_transposed,
                    bool is_bf16, bool accumulates, const char *site);
/// Waits for all products of the warp but the `pending` youngest. Gives the
/// sums of that of which `sum` is one, as bits.
float *attn_emu_wgmma_wait(std::int32_t pending, std::int32_t sum,
                           const char *site);
/// fence.proxy.async of shared memory.
void attn_emu_fence_proxy_async();

/// ex2.approx.ftz.f32, with subnormal numbers taken for zero.
float attn_emu_ex2_ftz(float value);
/// rsqrt.approx.f32
float attn_emu_rsqrt(float value);
}

#endif // ATTN_RUNTIME_EMULATOR_FUNCTIONS_H
