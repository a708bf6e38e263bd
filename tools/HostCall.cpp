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
  std::vector<Argument> arguments;
  for (const HostArgument &argument : call.loaded)
    arguments.push_back(argument.argument());
  Expected<CallMemory> memory =
      CallMemory::create(kernel, std::move(arguments));
  if (!memory)
    return memory.error();
  call.memory = std::move(*memory);
  return call;
}

Expected<CallMemory> CallMemory::create(const Kernel &kernel,
                                        std::vector<Argument> arguments) {
  CallMemory memory;
  memory.original = std::move(arguments);
  Expected<std::vector<std::vector<std::int64_t>>> shapes =
      kernel.resultShapes(memory.original);
  if (!shapes)
    return shapes.error();
  for (std::size_t i = 0; i < shapes->size(); ++i) {
    const Parameter &result = kernel.signature().results[i];
    Expected<NpyArray> array = NpyArray::allocate(result.type, (*shapes)[i]);
    if (!array)
      return Error{"result " + std::to_string(i) + ": " + array.error().message,
                   {}};
    memory.arrays.push_back(std::move(*array));
    memory.updates.push_back(result.updates);
  }
  return memory;
}

CallMemory::Operands CallMemory::prepare() {
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
