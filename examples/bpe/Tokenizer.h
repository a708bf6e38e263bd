//===- Tokenizer.h - Text to tokens and back --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_BPE_TOKENIZER_H
#define ATTN_EXAMPLES_BPE_TOKENIZER_H

#include "attn/error.h"
#include "examples/bpe/Encoder.h"
#include "examples/gguf/File.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace bpe {

/// Byte-pair encoding: Sennrich et al., "Neural Machine Translation of Rare
/// Words with Subword Units" (arXiv:1508.07909), as GPT-2 and as Llama have it.
class Tokenizer {
public:
  /// From a file's `tokenizer.ggml` entries. Errors: another kind of tokenizer,
  /// tokens that are not written as it writes them, merges of tokens that are
  /// not in the vocabulary.
  static attn::Expected<Tokenizer> create(const gguf::File &file);

  /// The tokens of UTF-8 text, after the one that texts begin with, if the
  /// vocabulary has such; the name of a control token, such as "<|im_start|>",
  /// is that token. None of no text. Errors: bytes that are not UTF-8, or of
  /// which the vocabulary has no token.
  attn::Expected<std::vector<std::int32_t>> encode(std::string_view text) const;

  /// The bytes of a token, which may be a part of a character; of a control
  /// token its name. Empty for a number that is not a token's.
  std::string_view decode(std::int32_t token) const;

  std::int64_t size() const { return std::int64_t(vocabulary.tokens.size()); }
  /// The token after which nothing follows.
  std::int32_t endToken() const { return end; }

private:
  attn::Status encodeText(std::string_view text, std::size_t from,
                          std::size_t to,
                          std::vector<std::int32_t> &result) const;

  Vocabulary vocabulary;
  std::shared_ptr<const Encoder> encoder;
  std::optional<std::int32_t> begin;
  std::int32_t end = 0;
};

} // namespace bpe

#endif // ATTN_EXAMPLES_BPE_TOKENIZER_H
