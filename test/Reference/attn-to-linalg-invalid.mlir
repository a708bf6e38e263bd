// RUN: attn-opt %s --convert-attn-to-linalg --verify-diagnostics

func.func @buffers(%x: memref<1x1x3x4xf32>, %o: memref<1x1x3x4xf32>) {
  // expected-error @below {{'attn.attention' on memrefs is not lowered by this pass: expected tensors}}
  attn.attention
      ins(%x, %x, %x : memref<1x1x3x4xf32>, memref<1x1x3x4xf32>,
          memref<1x1x3x4xf32>)
      outs(%o : memref<1x1x3x4xf32>)
  return
}
