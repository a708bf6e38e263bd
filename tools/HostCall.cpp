//===- HostCall.cpp - A call with the memory it needs ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/HostCall.h"
#include "runtime/Support/StridedCopy.h"
#include "tools/Weights.h"

using namespace attn;
using namespace attn::run;

Expected<HostCall> HostCall::create(const Kernel &kernel, std::string_view text,
                                    const std::string &fileName,
                                    std::span<const std::string> given,
                                    std::optional<std::uint64_t> seed) {
  HostCall call;
  const Signature &signature = kernel.signature();
  Expected<std::vector<std::vector<int>>> weights =
      findWeights(text, fileName, signature.entry);
  if (!weights)
    return weights.error();
  Expected<std::vector<HostArgument>> loaded =
      loadArguments(signature, given, seed, *weights);
  if (!loaded)
    return loaded.error();
  call.loaded = std::move(*loaded);
  for (const HostArgument &argument : call.loaded)
    call.original.push_back(argument.argument());

  Expected<std::vector<std::vector<std::int64_t>>> shapes =
      kernel.resultShapes(call.original);
  if (!shapes)
    return shapes.error();
  for (std::size_t i = 0; i < shapes->size(); ++i) {
    const Parameter &result = signature.results[i];
    Expected<NpyArray> array = NpyArray::allocate(result.type, (*shapes)[i]);
    if (!array)
      return Error{"result " + std::to_string(i) + ": " + array.error().message,
                   {}};
    call.arrays.push_back(std::move(*array));
    call.updates.push_back(result.updates);
  }
  return call;
}

HostCall::Memory HostCall::prepare() {
  inputs = original;
  outputs.clear();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    outputs.push_back(arrays[i].view());
    if (updates[i] < 0)
      continue;
    Argument &updated = inputs[std::size_t(updates[i])];
    support::copyElements(*updated.view(), outputs.back());
    updated = outputs.back();
  }
  return {inputs, outputs};
}
