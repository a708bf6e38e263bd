//===- GalleryRunner.h - A variant with its tensors -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_GALLERYRUNNER_H
#define ATTN_TOOLS_ATTN_BENCH_GALLERYRUNNER_H

#include "tools/attn-bench/Buffer.h"
#include "tools/attn-bench/GalleryCases.h"
#include "tools/attn-bench/Kernels.h"

#include <random>
#include <vector>

namespace attn::bench {

/// The kernel of a variant, or one on the same sizes, with its tensors.
class GalleryRunner {
public:
  static Expected<GalleryRunner> create(const GalleryCase &variant,
                                        const Attention &attention,
                                        unsigned threads,
                                        const Options &options);
  /// Gives the seconds that a call takes.
  Expected<double> run() const {
    return timeKernel(kernel, arguments, results);
  }
  double compileMs() const { return kernel.stats().totalMs; }
  const Signature &signature() const { return kernel.signature(); }
  /// What it is called with.
  const std::vector<Argument> &getArguments() const { return arguments; }
  const std::vector<TensorView> &getResults() const { return results; }

private:
  explicit GalleryRunner(const Kernel &kernel) : kernel(kernel) {}
  Status addArgument(const GalleryCase &variant, const Parameter &parameter);
  void addTensor(ElementType type, std::vector<Index> sizes) {
    std::mt19937_64 random(arguments.size());
    Buffer &buffer = buffers.emplace_back(type, std::move(sizes));
    buffer.fillNormal(random);
    arguments.emplace_back(buffer.view());
  }

  Kernel kernel;
  std::vector<Buffer> buffers;
  std::vector<Argument> arguments;
  std::vector<TensorView> results;
};

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_GALLERYRUNNER_H
