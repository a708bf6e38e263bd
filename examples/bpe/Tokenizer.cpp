//===- Tokenizer.cpp - Text to tokens and back ----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/bpe/Tokenizer.h"

#include "examples/gguf/Message.h"

using namespace bpe;
using attn::Error;
using attn::Expected;
using attn::Status;
using gguf::quoted;

Expected<FileTokens> bpe::readTokens(const gguf::File &file) {
  Expected<std::vector<std::string_view>> texts =
      file.texts("tokenizer.ggml.tokens");
  if (!texts)
    return texts.error();
  Expected<std::vector<std::int64_t>> types =
      file.integers("tokenizer.ggml.token_type");
  if (!types)
    return types.error();
  if (types->size() != texts->size())
    return Error{"'tokenizer.ggml.token_type': expected " +
                     std::to_string(texts->size()) +
                     " entries, as there are tokens, got " +
                     std::to_string(types->size()),
                 {}};
  return FileTokens{std::move(*texts), std::move(*types)};
}

/// The number of a token that the file names.
static Expected<std::int32_t> readSpecial(const gguf::File &file,
                                          const char *key, std::int64_t size) {
  Expected<std::int64_t> token = file.integer(key);
  if (!token)
    return token.error();
  if (*token < 0 || *token >= size)
    return Error{quoted(key) + ": expected one of " + std::to_string(size) +
                     " tokens, got " + std::to_string(*token),
                 {}};
  return std::int32_t(*token);
}

/// Whether a text begins with the token that the file names for that.
static Expected<bool> readBegins(const gguf::File &file, bool otherwise) {
  const char *key = "tokenizer.ggml.add_bos_token";
  return file.has(key) ? file.boolean(key) : Expected<bool>(otherwise);
}

Expected<Tokenizer> Tokenizer::create(const gguf::File &file) {
  const char *key = "tokenizer.ggml.model";
  Expected<std::string_view> kind = file.text(key);
  if (!kind)
    return kind.error();
  bool isLlama = *kind == "llama";
  if (!isLlama && *kind != "gpt2")
    return Error{
        quoted(key) + ": expected 'gpt2' or 'llama', got " + quoted(*kind), {}};
  Tokenizer tokenizer;
  auto create = isLlama ? createSentencePiece : createGpt2;
  Expected<std::unique_ptr<Encoder>> encoder =
      create(file, tokenizer.vocabulary);
  if (!encoder)
    return encoder.error();
  tokenizer.encoder = std::move(*encoder);
  Expected<std::int32_t> end =
      readSpecial(file, "tokenizer.ggml.eos_token_id", tokenizer.size());
  if (!end)
    return end.error();
  tokenizer.end = *end;
  Expected<bool> begins = readBegins(file, isLlama);
  if (!begins)
    return begins.error();
  if (*begins) {
    Expected<std::int32_t> begin =
        readSpecial(file, "tokenizer.ggml.bos_token_id", tokenizer.size());
    if (!begin)
      return begin.error();
    tokenizer.begin = *begin;
  }
  return tokenizer;
}

/// Text from one place to another, where it has no control tokens.
Status Tokenizer::encodeText(std::string_view text, std::size_t from,
                             std::size_t to,
                             std::vector<std::int32_t> &result) const {
  return from == to
             ? Status()
             : encoder->encode(text.substr(from, to - from), from, result);
}

Expected<std::vector<std::int32_t>>
Tokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> result;
  if (text.empty())
    return result;
  if (begin)
    result.push_back(*begin);
  std::size_t start = 0; // Of the text since the last control token.
  for (std::size_t i = 0; i < text.size();) {
    std::int32_t longest = -1;
    for (std::int32_t control : vocabulary.controls) {
      std::string_view name = vocabulary.tokens[std::size_t(control)];
      if (!name.empty() && text.substr(i).starts_with(name) &&
          (longest < 0 ||
           name.size() > vocabulary.tokens[std::size_t(longest)].size()))
        longest = control;
    }
    if (longest < 0) {
      ++i;
      continue;
    }
    if (Status status = encodeText(text, start, i, result); !status)
      return status.error();
    result.push_back(longest);
    start = i += vocabulary.tokens[std::size_t(longest)].size();
  }
  if (Status status = encodeText(text, start, text.size(), result); !status)
    return status.error();
  return result;
}

std::string_view Tokenizer::decode(std::int32_t token) const {
  if (token < 0 || token >= size())
    return {};
  return vocabulary.tokens[std::size_t(token)];
}
