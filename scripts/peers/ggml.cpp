//===- ggml.cpp - ggml's fused attention ----------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph of one GGML_OP_FLASH_ATTN_EXT without a mask, on the CPU, with
// threads that stay from call to call. Query and output are f32, as llama.cpp
// has them.
//
//===----------------------------------------------------------------------===//

#include <ggml-cpu.h>
#include <ggml.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace {

struct Attention {
  ggml_context *context;
  ggml_tensor *query, *key, *value, *output;
  ggml_cgraph *graph;
  ggml_threadpool *threads;
  ggml_cplan plan;
  std::vector<std::uint8_t> work;
  std::vector<float> result;
};

} // namespace

/// Of one query row.
extern "C" void *attention_create(long queryHeads, long keyHeads, long keys,
                                  long size, bool f16, int threads) {
  ggml_cpu_init();
  auto *a = new Attention();
  a->context = ggml_init({ggml_tensor_overhead() * 16 + ggml_graph_overhead(),
                          nullptr, /*no_alloc=*/true});
  ggml_type type = f16 ? GGML_TYPE_F16 : GGML_TYPE_F32;
  auto create = [&](ggml_type type, long rows, long heads) {
    return ggml_new_tensor_4d(a->context, type, size, rows, heads, 1);
  };
  a->query = create(GGML_TYPE_F32, 1, queryHeads);
  a->key = create(type, keys, keyHeads);
  a->value = create(type, keys, keyHeads);
  a->output = ggml_flash_attn_ext(a->context, a->query, a->key, a->value,
                                  /*mask=*/nullptr, 1 / std::sqrt(float(size)),
                                  /*max_bias=*/0, /*logit_softcap=*/0);
  a->result.resize(std::size_t(queryHeads * size));
  a->output->data = a->result.data();
  a->graph = ggml_new_graph(a->context);
  ggml_build_forward_expand(a->graph, a->output);
  ggml_threadpool_params params = ggml_threadpool_params_default(threads);
  a->threads = ggml_threadpool_new(&params);
  a->plan = ggml_graph_plan(a->graph, threads, a->threads);
  a->work.resize(a->plan.work_size);
  a->plan.work_data = a->work.data();
  return a;
}

/// Gives the output, (query heads, size).
extern "C" const float *attention_run(void *handle, void *query, void *key,
                                      void *value) {
  auto *a = static_cast<Attention *>(handle);
  a->query->data = query;
  a->key->data = key;
  a->value->data = value;
  ggml_graph_compute(a->graph, &a->plan);
  return a->result.data();
}
