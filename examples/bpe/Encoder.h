//===- Encoder.h - Kinds of vocabularies ------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_BPE_ENCODER_H
#define ATTN_EXAMPLES_BPE_ENCODER_H

#include "attn/error.h"
#include "examples/gguf/File.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bpe {

/// The tokens of a file.
struct Vocabulary {
  std::vector<std::string> tokens; ///< Their bytes; of control tokens names.
  /// Tokens that stand in a text as a whole, such as control tokens.
  std::vector<std::int32_t> controls;
};

/// How text without control tokens becomes tokens.
class Encoder {
public:
  virtual ~Encoder() = default;

  /// Appends the tokens of a text, before which there were `numBefore` bytes.
  virtual attn::Status encode(std::string_view text, std::size_t numBefore,
                              std::vector<std::int32_t> &result) const = 0;
};

/// The encoding of GPT-2, on the bytes of words; see `splitWords`. The file has
/// a list of merges, in their order.
attn::Expected<std::unique_ptr<Encoder>> createGpt2(const gguf::File &file,
                                                    Vocabulary &vocabulary);

/// The encoding of Llama, on characters (Kudo and Richardson, "SentencePiece",
/// arXiv:1808.06226): spaces are a character of their own, one comes before
/// every text, the merge to the token of the highest score is next, and what is
/// in no token becomes tokens of bytes.
attn::Expected<std::unique_ptr<Encoder>>
createSentencePiece(const gguf::File &file, Vocabulary &vocabulary);

/// Entries of tokenizer.ggml.token_type.
enum TokenType : std::int64_t {
  normalType = 1,
  controlType = 3, ///< No text.
  userType = 4,    ///< Text that is never split.
  byteType = 6     ///< "<0x41>"
};

/// The tokens as the file has them, and their types. Errors: there are none, or
/// not as many of both.
struct FileTokens {
  std::vector<std::string_view> texts;
  std::vector<std::int64_t> types;
};
attn::Expected<FileTokens> readTokens(const gguf::File &file);

} // namespace bpe

#endif // ATTN_EXAMPLES_BPE_ENCODER_H
