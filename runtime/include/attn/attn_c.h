/*===- attn_c.h - Compiles and runs attention, from C ---------------------===*\
|*
|* Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Errors are as attn/error_c.h says; the compiler's diagnostics follow, a line
|* each. Attention on a cache is in attn/cached_attention_c.h, layers are in
|* attn/multi_head_attention_c.h and attn/multi_token_attention_c.h, caches of
|* keys and values in attn/paged_cache_c.h, kernels compiled ahead of time in
|* attn/object_c.h.
|*
|*     attn_engine *engine;
|*     char *error = attn_engine_create(NULL, &engine);
|*
\*===----------------------------------------------------------------------===*/

#ifndef ATTN_ATTN_C_H
#define ATTN_ATTN_C_H

#include "attn/error_c.h"
#include "attn/parallel_for_c.h"
#include "attn/tensor_c.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*===----------------------------------------------------------------------===*\
|* Engines
\*===----------------------------------------------------------------------===*/

/** Compiles for the machine that it runs on. May be used from several threads
    at once. */
typedef struct attn_engine attn_engine;

/** All zero: the defaults. */
typedef struct attn_engine_options {
  /** Of compiled objects, which are executed: nobody but this user may be able
      to write it (see EngineOptions in attn/engine.h). NULL: none. */
  const char *cache_directory;
  unsigned threads;               /**< 0: as many as there are processors. */
  attn_parallel_for parallel_for; /**< The host's threads; NULL: a pool. */
  void *parallel_for_context;
  const char *cpu; /**< LLVM's name of a processor; NULL: this one. */
  /** Lowering of all kernels: "gpu", say; see CompileOptions in attn/engine.h.
      NULL: "cpu". */
  const char *pipeline;
  /** Use "cpu" where "gpu" fails. */
  bool fall_back_to_cpu;
  int gpu; /**< The GPU of "gpu", in the driver's order. */
} attn_engine_options;

/** `options` may be NULL. On failure, `*engine` is NULL. */
ATTN_EXPORT char *attn_engine_create(const attn_engine_options *options,
                                     attn_engine **engine);
/** Kernels live on. NULL is fine. */
ATTN_EXPORT void attn_engine_destroy(attn_engine *engine);

/*===----------------------------------------------------------------------===*\
|* Kernels
\*===----------------------------------------------------------------------===*/

/** A compiled kernel. May be used from several threads at once. */
typedef struct attn_kernel attn_kernel;

/** A size that is only known when a kernel is called. */
#define ATTN_DYNAMIC INT64_C(-1)

/** A variant of attention: of query (B, Hq, Sq, Dk), key (B, Hkv, Skv, Dk) and
    value (B, Hkv, Skv, Dv) the output (B, Hq, Sq, Dv). Sizes may be
    ATTN_DYNAMIC, but for heads and head sizes; the latter are at most 4096. */
typedef struct attn_attention {
  attn_element_type type; /**< Of the four tensors: a float. */
  int64_t query_heads;
  int64_t key_value_heads;
  int64_t head_size;
  int64_t value_head_size;
  int64_t batch;
  int64_t query_length;
  int64_t key_length;
  /** Also gives the log-sum-exp (B, Hq, Sq). */
  bool log_sum_exp;
  /** What the operation `attn.attention` says after its `outs`, such as
      "score alibi(%slopes : tensor<8xf32>) mask causal"; NULL: nothing. A
      tensor that is too small for the positions which read it is found where
      they do, when some of the output may be written. */
  const char *clauses;
  /** The arguments of the kernel after query, key and value that `clauses`
      read, such as "%slopes: tensor<8xf32>"; NULL: none. */
  const char *arguments;
  /** Operations before the attention, such as `attn.with_block_range` of an
      argument and its attn_block_summary; NULL: none. Values in them have names
      and not numbers. */
  const char *operations;
} attn_attention;

/** The kernel as IR, which the caller frees with attn_free. */
ATTN_EXPORT char *attn_attention_text(const attn_attention *attention,
                                      char **text);

/** Compiles the only public function of a text of IR. On failure, `*kernel` is
    NULL. */
ATTN_EXPORT char *attn_engine_compile(const attn_engine *engine,
                                      const char *text, attn_kernel **kernel);
/** The same for a variant. */
ATTN_EXPORT char *attn_engine_compile_attention(const attn_engine *engine,
                                                const attn_attention *attention,
                                                attn_kernel **kernel);
/** NULL is fine. */
ATTN_EXPORT void attn_kernel_destroy(attn_kernel *kernel);

/** Compiles what only calls with few queries need, so that no call does, and
    adds their remarks. Not while another thread uses the kernel. NULL, or an
    error, as from such a call. */
ATTN_EXPORT char *attn_kernel_prepare(attn_kernel *kernel);

/** Number of arguments and results of a kernel; 0 if it is NULL. */
ATTN_EXPORT size_t attn_kernel_num_arguments(const attn_kernel *kernel);
ATTN_EXPORT size_t attn_kernel_num_results(const attn_kernel *kernel);
/** Name of an argument, without '%'; it lives as long as the kernel. NULL if
    there is none of this index. */
ATTN_EXPORT const char *attn_kernel_argument_name(const attn_kernel *kernel,
                                                  size_t index);

/** Number of remarks of a kernel: where it is slower than its text lets expect,
    and why; 0 if it is NULL. */
ATTN_EXPORT size_t attn_kernel_num_remarks(const attn_kernel *kernel);
/** A remark, "file:3:5: remark: ..."; it lives as long as the kernel. NULL if
    there is none of this index. */
ATTN_EXPORT const char *attn_kernel_remark(const attn_kernel *kernel,
                                           size_t index);

/** What an argument is. */
typedef enum attn_argument_kind {
  ATTN_TENSOR,
  ATTN_INTEGER,
  ATTN_REAL
} attn_argument_kind;

/** An argument of a call: a tensor, or a scalar by value. */
typedef struct attn_argument {
  attn_argument_kind kind;
  union {
    attn_tensor tensor;
    int64_t integer;
    double real;
  } value;
} attn_argument;

/** Runs a kernel: reads `arguments`, writes `results`. Sizes, types, strides,
    alignment and overlaps are checked before anything is written. */
ATTN_EXPORT char *attn_kernel_run(const attn_kernel *kernel,
                                  const attn_argument *arguments,
                                  size_t num_arguments,
                                  const attn_tensor *results,
                                  size_t num_results);

/** Starts a kernel of "gpu" on tensors in the GPU's memory, in a stream (a
    CUstream or cudaStream_t) of its primary context, and returns. NULL is the
    default stream. The tensors and the kernel must live until it is done. */
ATTN_EXPORT char *attn_kernel_launch(const attn_kernel *kernel,
                                     const attn_argument *arguments,
                                     size_t num_arguments,
                                     const attn_tensor *results,
                                     size_t num_results, void *stream);

/*===----------------------------------------------------------------------===*\
|* Summaries of what masks read
\*===----------------------------------------------------------------------===*/

/** The smallest and the largest element of each block of a tensor that masks
    read, computed once for many calls; see attn/block_summary.h. Kernels take
    it as an argument of their own, which `attn.with_block_range` joins to the
    tensor:

        .clauses = "mask document(%s, %s : tensor<?x?xi32>, tensor<?x?xi32>)",
        .arguments = "%ids: tensor<?x?xi32>, %ranges: tensor<2x?x?xi32>",
        .operations = "%s = attn.with_block_range %ids, %ranges blocks [1, 32]"
                      " : tensor<?x?xi32>, tensor<2x?x?xi32>" */
typedef struct attn_block_summary attn_block_summary;

/** Of `table`, a tensor of integers or of i1, in blocks of `table->rank` sizes,
    which are powers of two. */
ATTN_EXPORT char *attn_block_summary_create(const attn_engine *engine,
                                            const attn_tensor *table,
                                            const int64_t *blocks,
                                            attn_block_summary **summary);
/** What a kernel takes. It lives as long as the summary. */
ATTN_EXPORT char *attn_block_summary_ranges(const attn_block_summary *summary,
                                            attn_tensor *ranges);
/** NULL is fine. */
ATTN_EXPORT void attn_block_summary_destroy(attn_block_summary *summary);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_ATTN_C_H */
