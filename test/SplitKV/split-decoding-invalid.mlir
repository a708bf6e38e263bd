// RUN: not attn-opt %s -attn-split-decoding="workgroups=0" 2>&1 | FileCheck %s

// CHECK: error: workgroups: expected 1 to 2147483647, got 0
module {}
