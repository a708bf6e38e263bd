// Windows that move over more keys than tiles of queries keep packs of values for
// where bf16 is multiplied in pairs: from the first tile to the last, or, as tiles
// of a length that is not theirs go, from the last to the first. Heads share keys.
// Sanitizers would watch the oracle for long, and not the kernels.
// UNSUPPORTED: sanitizer

// RUN: attn-run %s --entry forward --random 1 --check --threads 1 | FileCheck %s
// RUN: attn-run %s --entry forward --random 2 --check --threads 2 | FileCheck %s
// RUN: attn-run %s --entry backward --random 3 --check --threads 1 | FileCheck %s
// RUN: attn-run %s --entry backward --random 4 --check --threads 2 | FileCheck %s
// CHECK: passed: largest relative error {{.*}}; tolerance 1.6e-02

!q = tensor<1x2x1312x64xbf16>
!kv = tensor<1x1x1312x64xbf16>
func.func @forward(%query: !q, %key: !kv, %value: !kv) -> !q {
  %init = tensor.empty() : !q
  %output = attn.attention ins(%query, %key, %value : !q, !kv, !kv)
      outs(%init : !q) mask causal, sliding_window(300, 0)
  return %output : !q
}

!odd_q = tensor<2x1x1101x32xbf16>
!odd_kv = tensor<2x1x1101x32xbf16>
func.func @backward(%query: !odd_q, %key: !odd_kv, %value: !odd_kv) -> !odd_q {
  %init = tensor.empty() : !odd_q
  %output = attn.attention ins(%query, %key, %value : !odd_q, !odd_kv, !odd_kv)
      outs(%init : !odd_q) mask sliding_window(90, 40)
  return %output : !odd_q
}
