//===- Options.h - What a user asks for -------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_SMOLLM2_OPTIONS_H
#define ATTN_EXAMPLES_SMOLLM2_OPTIONS_H

#include "attn/element_type.h"
#include "attn/error.h"

#include <cstdint>
#include <string>

namespace smollm2 {

struct Options {
  std::string model;
  std::string prompt;
  std::string sequences;  ///< File of prompts, instead of one.
  std::int64_t batch = 8; ///< How many of them run at the same time.
  std::int64_t stepTokens = 512;
  std::int64_t draftTokens = 0;
  std::int64_t tokens = 64; ///< At least 1.
  double temperature = 0;   ///< 0: always the most likely token.
  std::uint64_t seed = 0;
  unsigned threads = 0; ///< 0: one for each processor.
  /// What activations are rounded to where they are multiplied: f32 or bf16.
  attn::ElementType activations = attn::ElementType::f32;
  attn::ElementType weights = attn::ElementType::bf16; ///< Or i8.
  std::string cacheDirectory;
  std::int64_t repeat = 1; ///< How often the prompt is read.
  bool ofRanks = false;    ///< One of several processes that MPI starts.
  bool help = false;

  /// Errors name the argument, what was expected and what came.
  static attn::Expected<Options> parse(int argc, char **argv);
};

/// How the program is called, in lines.
extern const char usage[];

} // namespace smollm2

#endif // ATTN_EXAMPLES_SMOLLM2_OPTIONS_H
