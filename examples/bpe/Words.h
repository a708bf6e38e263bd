//===- Words.h - Text in pieces that tokens do not cross --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_BPE_WORDS_H
#define ATTN_EXAMPLES_BPE_WORDS_H

#include "attn/error.h"

#include <string_view>
#include <vector>

namespace bpe {

/// Splits UTF-8 text as models of the kind "smollm" do: each number character
/// stands alone, and what is between them is split as GPT-2 does (Radford et
/// al., "Language Models are Unsupervised Multitask Learners", 2019), by
///
///     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|
///     ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
///
/// The pieces are parts of `text`, one after the other. Error: bytes that are
/// not UTF-8, at a place that counts the `numBefore` bytes before the text.
attn::Expected<std::vector<std::string_view>>
splitWords(std::string_view text, std::size_t numBefore = 0);

} // namespace bpe

#endif // ATTN_EXAMPLES_BPE_WORDS_H
