//===- PrecompiledHeaders.cpp - Where headers are precompiled -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A target needs a source file to have precompiled headers.
