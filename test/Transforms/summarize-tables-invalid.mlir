// RUN: not attn-opt %s -attn-summarize-tables="keys=0" 2>&1 | FileCheck %s

// CHECK: error: expected sizes of at least 1, got queries 32 and keys 0
module {}
