// RUN: not attn-opt %s -attn-pad-heads="multiple=0" 2>&1 | FileCheck %s --check-prefix=HEADS
// RUN: not attn-opt %s -attn-pad-heads="lane-multiple=0" 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: not attn-opt %s -attn-pad-heads="lane-multiple=3" 2>&1 | FileCheck %s --check-prefix=THREE
// RUN: not attn-opt %s -attn-fold-groups="maximum-rows=-1" 2>&1 | FileCheck %s --check-prefix=GROUPS
// RUN: not attn-opt %s -attn-fold-groups="plain-rows=4097" 2>&1 | FileCheck %s --check-prefix=PLAINROWS
// RUN: not attn-opt %s -attn-tile-attention="plain-queries=9223372036854775807" 2>&1 | FileCheck %s --check-prefix=PLAIN
// RUN: not attn-opt %s -attn-tile-attention="variant-queries=0" 2>&1 | FileCheck %s --check-prefix=VARIANT
// RUN: not attn-opt %s -attn-attention-to-online="lane-multiple=0" 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: not attn-opt %s -attn-attention-to-online="maximum-lanes=0" 2>&1 | FileCheck %s --check-prefix=MOST
// RUN: not attn-opt %s -attn-split-keys="chunk=100" 2>&1 | FileCheck %s --check-prefix=CHUNKS
// RUN: not attn-opt %s -attn-split-decoding="workgroups=0" 2>&1 | FileCheck %s --check-prefix=WORKGROUPS
// RUN: not attn-opt %s -attn-split-decoding="lane-multiple=0" 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: not attn-opt %s -attn-split-decoding="maximum-rows=0" 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not attn-opt %s -attn-tile-keys="block=0" 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: not attn-opt %s -attn-tile-projections="lane-multiple=0" 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: not attn-opt %s -attn-decompose-online="i8-dot=96" 2>&1 | FileCheck %s --check-prefix=DOT
// RUN: not attn-opt %s -attn-multi-token-to-panels="tile-rows=0" 2>&1 | FileCheck %s --check-prefix=PANELS
// RUN: not attn-opt %s -attn-print-blocks="vector-bits=96" 2>&1 | FileCheck %s --check-prefix=BITS
// RUN: not attn-opt %s -convert-attn-to-vector="vector-bits=96" 2>&1 | FileCheck %s --check-prefix=BITS
// RUN: not attn-opt %s -attn-vectorize-contractions="vector-bits=96" 2>&1 | FileCheck %s --check-prefix=BITS
// RUN: not attn-opt %s -attn-vectorize-contractions="vector-registers=0" 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: not attn-opt %s -attn-vectorize-rows="vector-bits=96" 2>&1 | FileCheck %s --check-prefix=BITS

// A pipeline refuses them before it is built.
// RUN: not attn-opt %s -attn-cpu-pipeline="vector-bits=96" 2>&1 | FileCheck %s --check-prefix=BITS
// RUN: not attn-opt %s -attn-reference-pipeline="vector-bits=96" 2>&1 | FileCheck %s --check-prefix=BITS
// RUN: not attn-opt %s -attn-gpu-pipeline="vector-bits=96" 2>&1 | FileCheck %s --check-prefix=BITS
// RUN: not attn-opt %s -attn-cpu-pipeline="vector-registers=0" 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: not attn-opt %s -attn-cpu-pipeline="vector-bits=99999999999" 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: attn-opt %s -attn-cpu-pipeline="vector-bits=128 vector-registers=32"

// HEADS: error: multiple: expected 1 to 4096, got 0
// LANES: error: lane-multiple: expected 1, 2, 4, 8, 16, 32 or 64, got 0
// THREE: error: lane-multiple: expected 1, 2, 4, 8, 16, 32 or 64, got 3
// GROUPS: error: maximum-rows: expected 1 to 4096, got -1
// PLAINROWS: error: plain-rows: expected 1 to 4096, got 4097
// PLAIN: error: plain-queries: expected 1 to 4096, got 9223372036854775807
// VARIANT: error: variant-queries: expected 1 to 4096, got 0
// MOST: error: maximum-lanes: expected 1 to 4096, got 0
// CHUNKS: error: chunk: expected a multiple of 256 from 256 to 2147483647, got 100
// WORKGROUPS: error: workgroups: expected 1 to 2147483647, got 0
// ROWS: error: maximum-rows: expected 1 to 4096, got 0
// BLOCK: error: block: expected 1 to 4096, got 0
// DOT: error: i8-dot: expected 0, 32 or 64, got 96
// PANELS: error: tile-rows: expected 1 to 4096, got 0
// BITS: vector-bits: expected 128, 256 or 512, got 96
// REGISTERS: vector-registers: expected 8, 16 or 32, got 0
// HUGE: '99999999999' value invalid
module {}
