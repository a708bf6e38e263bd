//===- engine.h - Compiles IR text into kernels -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ENGINE_H
#define ATTN_ENGINE_H

#include "attn/error.h"
#include "attn/export.h"
#include "attn/kernel.h"

#include <memory>
#include <string>
#include <string_view>

namespace attn {

struct EngineOptions {
  /// Directory of compiled objects, shared by engines and processes; created
  /// when missing. Empty: kernels are cached in memory only.
  std::string cacheDirectory;
};

struct CompileOptions {
  /// Function to compile, without '@'. Empty: the module's only public
  /// function.
  std::string entry;
  /// Lowering: "reference".
  std::string pipeline = "reference";
  /// Name of the source text in diagnostics.
  std::string fileName = "<string>";
};

/// Compiles MLIR text for the CPU it runs on. Copies share one engine. All
/// members may be called from several threads at once.
class ATTN_EXPORT Engine {
public:
  static Expected<Engine> create(const EngineOptions &options = {});

  /// Compiles one function of `text`. The same text and options compiled again
  /// give the same code from the cache. An error carries the MLIR diagnostics
  /// with their locations.
  Expected<Kernel> compile(std::string_view text,
                           const CompileOptions &options = {}) const;

private:
  struct Impl;
  explicit Engine(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl;
};

} // namespace attn

#endif // ATTN_ENGINE_H
