// The example of multi-token attention, through both pipelines, against the oracle.
// RUN: attn-run %S/../../examples/multi_token/paper.mlir --random 1 --check \
// RUN:   --threads 2 | FileCheck %s
// RUN: attn-run %S/../../examples/multi_token/paper.mlir --random 3 --check \
// RUN:   --pipeline reference | FileCheck %s

// CHECK: result 0:
// CHECK-NEXT: passed
