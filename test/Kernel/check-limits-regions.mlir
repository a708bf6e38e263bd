// RUN: awk -v count=4095 -f %S/Inputs/long-mask.awk > %t.largest.mlir
// RUN: attn-opt %t.largest.mlir --attn-check-limits -o /dev/null
// RUN: awk -v count=4096 -f %S/Inputs/long-mask.awk > %t.larger.mlir
// RUN: not attn-opt %t.larger.mlir --attn-check-limits -o /dev/null 2>&1 \
// RUN:   | FileCheck %s
// RUN: not attn-opt %t.larger.mlir --attn-cpu-pipeline -o /dev/null 2>&1 \
// RUN:   | FileCheck %s
// RUN: not attn-run %t.larger.mlir --random 1 2>&1 | FileCheck %s

// CHECK: larger.mlir:3:{{.*}} 'attn.attention' op 'mask' region: expected at most 4096 operations, got 4097
