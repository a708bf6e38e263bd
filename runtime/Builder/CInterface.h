//===- CInterface.h - What parts of the host API for C share ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BUILDER_CINTERFACE_H
#define ATTN_RUNTIME_BUILDER_CINTERFACE_H

#include "attn/attn_c.h"

#include "attn/engine.h"
#include "runtime/Builder/AttentionWriter.h"

struct attn_engine {
  attn::Engine engine;
  attn::CompileOptions options; ///< Of all kernels.
};

namespace attn::builder {

/// What a function for C returns: the message, and the diagnostics after it.
char *failForC(const Error &error);

/// Stores a text, which the caller frees, or gives the message.
char *storeForC(const Expected<std::string> &text, char **result);

/// A string that may be null, and is `otherwise` then.
inline const char *getText(const char *text, const char *otherwise = "") {
  return text ? text : otherwise;
}

/// An error names the member.
Expected<ElementType> convertType(const char *member, attn_element_type type);

/// Everything but what is already IR.
Expected<Attention> convert(const attn_attention &attention);
Verbatim getVerbatim(const attn_attention &attention);

} // namespace attn::builder

#endif // ATTN_RUNTIME_BUILDER_CINTERFACE_H
