// RUN: not attn-opt %s -attn-summarize-tables="keys=0" 2>&1 | FileCheck %s

// CHECK: error: keys: expected 1 to 4096, got 0
module {}
