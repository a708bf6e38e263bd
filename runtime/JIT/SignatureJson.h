//===- SignatureJson.h - Signatures in files --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_SIGNATUREJSON_H
#define ATTN_RUNTIME_JIT_SIGNATUREJSON_H

#include "attn/kernel.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace attn::jit {

std::string writeSignature(const Signature &signature);

/// Nothing if `json` is not what `writeSignature` wrote.
std::optional<Signature> readSignature(llvm::StringRef json);

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_SIGNATUREJSON_H
