//===- RankCall.cpp - A call on several ranks -----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-run/RankCall.h"
#include "tools/Weights.h"

#include "llvm/ADT/STLExtras.h"

using namespace attn;
using namespace attn::run;

Expected<RankCall> RankCall::create(const Ranks &ranks,
                                    const RankKernel &kernel,
                                    std::string_view text,
                                    const std::string &fileName,
                                    std::span<const std::string> given,
                                    std::optional<std::uint64_t> seed) {
  RankCall call;
  bool keepsWhole = ranks.rank() == 0;
  Expected<std::vector<std::vector<int>>> weights =
      findWeights(text, fileName, kernel.signature.entry);
  if (!weights)
    return weights.error();
  Expected<std::vector<HostArgument>> loaded =
      loadArguments(kernel.signature, given, seed, *weights);
  if (!loaded)
    return loaded.error();
  for (std::size_t i = 0; i < loaded->size(); ++i) {
    HostArgument &argument = (*loaded)[i];
    const NpyArray *array = argument.array();
    const Parameter &parameter = kernel.signature.arguments[i];
    call.described.push_back({array ? formatType(array->shape(), array->type())
                                    : formatType({}, parameter.type),
                              argument.source});
    // What is wrong with a file, the kernel says.
    const Shard &shard = kernel.arguments[i];
    if (!array || shard.isWhole() || array->shape().size() != shard.axes.size())
      continue;
    Expected<NpyArray> part = NpyArray::allocate(
        array->type(), kernel.partSizes(shard, array->view(), ranks.rank()));
    if (!part)
      return part.error();
    kernel.copyPart(shard, array->view(), ranks.rank(), part->view());
    call.parts.push_back(std::move(*part));
  }
  std::vector<Argument> inputs;
  std::size_t nextPart = 0;
  for (std::size_t i = 0; i < loaded->size(); ++i) {
    HostArgument &argument = (*loaded)[i];
    const NpyArray *array = argument.array();
    const Shard &shard = kernel.arguments[i];
    bool isPart =
        array && !shard.isWhole() && array->shape().size() == shard.axes.size();
    if (keepsWhole)
      call.whole.push_back(argument.argument());
    inputs.push_back(isPart ? Argument(call.parts[nextPart++].view())
                            : argument.argument());
    if (!isPart || keepsWhole)
      call.loaded.push_back(std::move(argument));
  }

  Expected<CallMemory> memory =
      CallMemory::create(kernel.kernel, std::move(inputs));
  if (!memory)
    return memory.error();
  call.memory = std::move(*memory);
  return call;
}

Expected<std::vector<NpyArray>>
RankCall::gather(const Ranks &ranks, const RankKernel &kernel) const {
  std::span<const NpyArray> results = memory.results();
  std::vector<NpyArray> wholes;
  std::vector<std::vector<std::int64_t>> shapes(results.size());
  if (ranks.rank() == 0) {
    Expected<std::vector<std::vector<std::int64_t>>> ofWhole =
        kernel.resultShapes(whole);
    if (!ofWhole)
      return ofWhole.error();
    shapes = std::move(*ofWhole);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    TensorView view;
    if (ranks.rank() == 0) {
      Expected<NpyArray> array =
          NpyArray::allocate(results[i].type(), shapes[i]);
      if (!array)
        return Error{
            "result " + std::to_string(i) + ": " + array.error().message, {}};
      wholes.push_back(std::move(*array));
      view = wholes.back().view();
    }
    if (Status status = ranks.collect(kernel, i, results[i].view(), view);
        !status)
      return status.error();
  }
  return wholes;
}
