//===- SignatureText.h - Signatures in files --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SUPPORT_SIGNATURETEXT_H
#define ATTN_RUNTIME_SUPPORT_SIGNATURETEXT_H

#include "attn/kernel.h"

#include <optional>
#include <string>
#include <string_view>

namespace attn::support {

std::string writeSignature(const Signature &signature);

/// Nothing if `text` is not what `writeSignature` of this version wrote.
std::optional<Signature> readSignature(std::string_view text);

/// The same of one size.
std::string writeSize(const SizeExpr &size);
std::optional<SizeExpr> readSize(std::string_view text);

} // namespace attn::support

#endif // ATTN_RUNTIME_SUPPORT_SIGNATURETEXT_H
