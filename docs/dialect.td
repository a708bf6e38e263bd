//===- dialect.td - What docs/dialect.md is made from ------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialect/AttnOps.td"
include "dialect/Sharding/RankOps.td"
