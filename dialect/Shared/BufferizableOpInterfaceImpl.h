//===- BufferizableOpInterfaceImpl.h - Bufferization of attn ops *- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SHARED_BUFFERIZABLEOPINTERFACEIMPL_H
#define ATTN_DIALECT_SHARED_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;

namespace attn {
/// Lets one-shot bufferization turn attn ops on tensors into the same ops on
/// memrefs.
void registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry);
} // namespace attn
} // namespace mlir

#endif // ATTN_DIALECT_SHARED_BUFFERIZABLEOPINTERFACEIMPL_H
