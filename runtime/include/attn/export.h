//===- export.h - Symbols of the shared library -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXPORT_H
#define ATTN_EXPORT_H

/// Marks what libattn.so offers; everything else in it is hidden.
#define ATTN_EXPORT __attribute__((visibility("default")))

#endif // ATTN_EXPORT_H
