//===- GgufFuzzer.cpp - Parses arbitrary bytes as a model file ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a file that parses, every entry, tensor and token can be read, and what is
// encoded decodes to itself.
//
//===----------------------------------------------------------------------===//

#include "examples/bpe/Tokenizer.h"
#include "examples/smollm2/Panels.h"

#include <cstdlib>

using namespace smollm2;
using attn::Expected;

static void readTensors(const gguf::File &file) {
  for (auto &[name, tensor] : file.tensors()) {
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < tensor.sizes.size(); ++i)
      rows *= tensor.sizes[i];
    if (tensor.data.empty())
      continue;
    std::vector<float> row(std::size_t(tensor.sizes.back()));
    for (std::int64_t i = 0; i < rows; ++i)
      gguf::dequantizeRow(tensor, i, row);
    for (attn::ElementType type :
         {attn::ElementType::bf16, attn::ElementType::i8}) {
      std::vector<PanelMemory::Line> memory;
      if (tensor.sizes.size() == 2)
        memory.resize(PanelMemory::linesOf(tensor.sizes, type));
      (void)Panels::create(tensor, type, memory);
    }
  }
}

static void useTokenizer(const gguf::File &file) {
  Expected<bpe::Tokenizer> tokenizer = bpe::Tokenizer::create(file);
  if (!tokenizer)
    return;
  bool isGpt2 = *file.text("tokenizer.ggml.model") == "gpt2";
  for (std::string_view text : {"abc abab", "a 12\n  n\u00e9nnn<end>"}) {
    Expected<std::vector<std::int32_t>> tokens = tokenizer->encode(text);
    if (!tokens)
      continue;
    std::string decoded;
    for (std::int32_t token : *tokens)
      decoded += tokenizer->decode(token);
    // Others have spaces before texts.
    if (isGpt2 && !decoded.ends_with(text))
      std::abort();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data,
                                      std::size_t size) {
  Expected<gguf::File> file =
      gguf::File::parse(std::as_bytes(std::span(data, size)));
  if (!file)
    return 0;
  readTensors(*file);
  useTokenizer(*file);
  return 0;
}
