//===- GalleryRunner.cpp - A variant with its tensors ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/GalleryRunner.h"

#include <span>

namespace attn::bench {

Status GalleryRunner::addArgument(const GalleryCase &variant,
                                  const Parameter &parameter) {
  for (const auto &[name, value] : variant.scalars)
    if (name == parameter.name) {
      arguments.emplace_back(value);
      return {};
    }
  for (const Operand &operand : variant.tensors)
    if (operand.name == parameter.name) {
      Buffer &buffer = buffers.emplace_back(*operand.type, operand.sizes);
      buffer.fill(operand.valueAt);
      arguments.emplace_back(buffer.view());
      return {};
    }
  return Error{"no value for argument '" + parameter.name + "'", {}};
}

Expected<GalleryRunner> GalleryRunner::create(const GalleryCase &variant,
                                              const Attention &attention,
                                              unsigned threads,
                                              const Options &options) {
  Expected<Engine> engine = createEngine(options, threads);
  if (!engine)
    return engine.error();
  CompileOptions compileOptions;
  if (!options.pipeline.empty())
    compileOptions.pipeline = options.pipeline;
  compileOptions.fileName = variant.name;
  Expected<Kernel> kernel = engine->compile(attention, compileOptions);
  if (!kernel)
    return kernel.error();
  GalleryRunner runner(*kernel);
  Index keyHeads = attention.keyValueHeads.value_or(attention.queryHeads);
  runner.addTensor(attention.type, {1, attention.queryHeads,
                                    variant.queryLength, attention.headSize});
  runner.addTensor(attention.type,
                   {1, keyHeads, variant.keyLength, attention.headSize});
  runner.addTensor(attention.type,
                   {1, keyHeads, variant.keyLength,
                    attention.valueHeadSize.value_or(attention.headSize)});
  for (const Parameter &parameter :
       std::span(kernel->signature().arguments).subspan(3))
    if (Status added = runner.addArgument(variant, parameter); !added)
      return added.error();
  auto shapes = kernel->resultShapes(runner.arguments);
  if (!shapes)
    return shapes.error();
  for (std::size_t i = 0; i < shapes->size(); ++i)
    runner.results.push_back(
        runner.buffers
            .emplace_back(kernel->signature().results[i].type, (*shapes)[i])
            .view());
  return runner;
}

} // namespace attn::bench
