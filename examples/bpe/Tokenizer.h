//===- Tokenizer.h - Text to tokens and back --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_BPE_TOKENIZER_H
#define ATTN_EXAMPLES_BPE_TOKENIZER_H

#include "attn/error.h"
#include "examples/gguf/File.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bpe {

/// Byte-level byte-pair encoding: Sennrich et al., "Neural Machine Translation
/// of Rare Words with Subword Units" (arXiv:1508.07909), on the bytes of UTF-8,
/// as GPT-2 has it.
class Tokenizer {
public:
  /// From a file's `tokenizer.ggml` entries. Errors: another kind of tokenizer,
  /// a token that is not written in the alphabet of bytes, a merge of tokens
  /// that are not in the vocabulary.
  static attn::Expected<Tokenizer> create(const gguf::File &file);

  /// The tokens of UTF-8 text; the name of a control token, such as
  /// "<|im_start|>", is that token. Errors: bytes that are not UTF-8, or of
  /// which the vocabulary has no token.
  attn::Expected<std::vector<std::int32_t>> encode(std::string_view text) const;

  /// The bytes of a token, which may be a part of a character; of a control
  /// token its name. Empty for a number that is not a token's.
  std::string_view decode(std::int32_t token) const;

  std::int64_t size() const { return std::int64_t(tokens.size()); }
  /// The token after which nothing follows.
  std::int32_t endToken() const { return end; }

private:
  struct Merge {
    std::int32_t rank = 0; ///< Lower ones come first.
    std::int32_t token = 0;
  };

  attn::Status addTokens(const gguf::File &file);
  attn::Status addMerges(const gguf::File &file);
  attn::Status encodeText(std::string_view text, std::size_t begin,
                          std::size_t end,
                          std::vector<std::int32_t> &result) const;
  void encodePiece(std::vector<std::int32_t> &symbols) const;

  std::vector<std::string> tokens; ///< Their bytes.
  std::vector<std::int32_t> controls;
  std::vector<std::int32_t> tokenOfByte; ///< -1 where there is none.
  /// By the two tokens that are merged.
  std::unordered_map<std::uint64_t, Merge> merges;
  std::int32_t end = 0;
};

} // namespace bpe

#endif // ATTN_EXAMPLES_BPE_TOKENIZER_H
