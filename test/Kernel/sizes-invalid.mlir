// RUN: not attn-opt %s -attn-split-decoding="workgroups=0" 2>&1 | FileCheck %s --check-prefix=WORKGROUPS
// RUN: not attn-opt %s -attn-multi-token-to-panels="tile-rows=0" 2>&1 | FileCheck %s --check-prefix=PANELS

// WORKGROUPS: error: workgroups: expected 1 to 2147483647, got 0
// PANELS: error: tile-rows: expected 1 to 4096, got 0
module {}
