// RUN: not attn-opt %s -attn-pad-heads="multiple=0" 2>&1 | FileCheck %s --check-prefix=HEADS
// RUN: not attn-opt %s -attn-pad-heads="lane-multiple=0" 2>&1 | FileCheck %s --check-prefix=HEADLANES
// RUN: not attn-opt %s -attn-tile-attention="variant-queries=0" 2>&1 | FileCheck %s --check-prefix=TILES
// RUN: not attn-opt %s -attn-attention-to-online="lane-multiple=0" 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: not attn-opt %s -attn-split-keys="chunk=100" 2>&1 | FileCheck %s --check-prefix=CHUNKS

// HEADS: error: expected multiples of at least 1, got 0 and 16
// HEADLANES: error: expected multiples of at least 1, got 32 and 0
// TILES: error: expected tiles of at least 1 query, got 64 and 0
// LANES: error: expected at least 1 lane, got 64, and a multiple of 0
// CHUNKS: error: expected chunks of a multiple of 256 keys, got 100
module {}
