//===- passes.td - What docs/passes.md is made from --------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "lib/Attention/Passes.td"
include "lib/BlockMap/Passes.td"
include "lib/CPU/Passes.td"
include "lib/GPU/Passes.td"
include "lib/Gradient/Passes.td"
include "lib/Kernel/Passes.td"
include "lib/Layer/Passes.td"
include "lib/Memory/Passes.td"
include "lib/MultiToken/Passes.td"
include "lib/Online/Passes.td"
include "lib/Projection/Passes.td"
include "lib/Raise/Passes.td"
include "lib/Reference/Passes.td"
include "lib/Sharding/Passes.td"
include "lib/SplitKV/Passes.td"
