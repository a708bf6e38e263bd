//===- RanksHost.cpp - A host that calls MPI itself -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Usage: ranks-host LIBRARY MODE
// Starts MPI, runs an attention on all ranks twice and ends MPI. The last rank
// does what MODE says: "well", or it is "late" or "killed" before the second
// call, has a "slice" of another batch size, or another "kernel". With
// "causal", the mask is, and all have two pieces of rows. A rank with an error
// prints it and ends with 1, without a word to the others.
//
//===----------------------------------------------------------------------===//

#include "attn/ranks.h"
#include "test/Execution/TextReplacement.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <thread>

using namespace attn;

namespace {

constexpr const char *text = R"mlir(
!t = tensor<?x2x?x16xf32>
shard.grid @ranks(shape = ?)
func.func @attention(%query: !t, %key: !t, %value: !t) -> !t {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] ORDER : !shard.sharding
  %q = shard.shard %query to %rows annotate_for_users : !t
  %k = shard.shard %key to %rows annotate_for_users : !t
  %v = shard.shard %value to %rows annotate_for_users : !t
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %query, %c0 : !t
  %n = tensor.dim %query, %c2 : !t
  %init = tensor.empty(%b, %n) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask MASK
  return %o : !t
}
)mlir";

[[noreturn]] void fail(const Error &error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  for (const Diagnostic &diagnostic : error.diagnostics)
    std::fprintf(stderr, "%s\n", formatDiagnostic(diagnostic).c_str());
  std::_Exit(1);
}

/// A function of the MPI library, which this file has no header of.
template <typename Function> Function find(void *library, const char *name) {
  auto function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    fail({std::string("no ") + name, {}});
  return function;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3)
    fail({"usage: ranks-host LIBRARY MODE", {}});
  const std::string mode = argv[2];
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    fail({dlerror(), {}});
  find<int (*)(int *, char ***)>(library, "MPI_Init")(nullptr, nullptr);
  {
    Expected<Ranks> ranks = Ranks::create(
        {.timeLimit = mode == "well" || mode == "causal" ? 30.0 : 1.5});
    if (!ranks)
      fail(ranks.error());
    bool isLast = ranks->rank() == ranks->size() - 1;
    Expected<Engine> engine = Engine::create({.threads = 1});
    if (!engine)
      fail(engine.error());
    std::string own = test::replaceAll(text, "ORDER",
                                       mode == "causal" ? "{attn.zigzag}" : "");
    own = test::replaceAll(own, "MASK",
                           mode == "causal" ? "causal"
                           : mode == "kernel" && isLast
                               ? "sliding_window(20, -1)"
                               : "sliding_window(30, -1)");
    Expected<RankKernel> kernel =
        ranks->compile(*engine, own, {.pipeline = "reference"});
    if (!kernel)
      fail(kernel.error());

    std::int64_t batch = mode == "slice" && isLast ? 3 : 2;
    // Ranks have parts of different sizes.
    std::vector<std::int64_t> sizes = {batch, 2, 40 + ranks->rank(), 16};
    std::vector<float> ones(std::size_t(batch * 2 * sizes[2] * 16), 1), output;
    std::uint64_t before = ranks->bytesSent();
    for (int call = 0; call < 2; ++call) {
      if (call == 1 && isLast && mode == "late")
        std::this_thread::sleep_for(std::chrono::seconds(4));
      if (call == 1 && isLast && mode == "killed")
        std::raise(SIGKILL);
      output.assign(ones.size(), 0);
      Status status =
          kernel->kernel.run({TensorView(std::as_const(ones).data(), sizes),
                              TensorView(std::as_const(ones).data(), sizes),
                              TensorView(std::as_const(ones).data(), sizes)},
                             {TensorView(output.data(), sizes)});
      if (!status)
        fail(status.error());
      for (float element : output)
        if (element < 0.999F || element > 1.001F)
          fail({"a mean of ones is " + std::to_string(element), {}});
    }
    std::printf("rank %d sent %llu bytes\n", ranks->rank(),
                static_cast<unsigned long long>(ranks->bytesSent() - before));
  }
  int isEnded = 1;
  find<int (*)(int *)>(library, "MPI_Finalized")(&isEnded);
  if (isEnded)
    fail({"MPI was ended, which the host does", {}});
  find<int (*)()>(library, "MPI_Finalize")();
}
