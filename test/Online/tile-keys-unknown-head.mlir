// RUN: attn-opt %s -attn-tile-keys -canonicalize -verify-diagnostics | FileCheck %s

// Other tiles on the same thread may have other values: none are kept.
// CHECK-LABEL: func.func @rows(
// CHECK-NOT: attn.kept_packs
// CHECK: attn.online_attention layout<pairs> ins(%{{.*}} : tensor<8x16x2xbf16>, tensor<?x16xbf16>, tensor<?x24xbf16>)
// CHECK: return
func.func @rows(%q: tensor<8x16x2xbf16>, %k: tensor<?x16xbf16>, %v: tensor<?x24xbf16>,
                %o: tensor<24x16xf32>, %m: tensor<16xf32>, %n: index, %out: tensor<4x24x16xf32>) -> tensor<4x24x16xf32> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %no = arith.constant false
  %all = scf.forall (%i) in (4) shared_outs(%to = %out) -> tensor<4x24x16xf32> {
    %rows = tensor.extract_slice %v[%i, 0] [%n, 24] [1, 1] : tensor<?x24xbf16> to tensor<?x24xbf16>
    // expected-remark @below {{values are packed in each block, because it is not known of which head they are}}
    %r:3 = attn.online_attention layout<pairs> keeps_packs
        ins(%q, %k, %rows : tensor<8x16x2xbf16>, tensor<?x16xbf16>, tensor<?x24xbf16>)
        outs(%o, %m, %m : tensor<24x16xf32>, tensor<16xf32>, tensor<16xf32>)
        at(%c0, %c0, %c0, %c0) queries(%c16) exact(%no)
        {attn.plan = #attn.plan<keys = 64>}
      -> tensor<24x16xf32>, tensor<16xf32>, tensor<16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r#0 into %to[%i, 0, 0] [1, 24, 16] [1, 1, 1]
          : tensor<24x16xf32> into tensor<4x24x16xf32>
    }
  }
  return %all : tensor<4x24x16xf32>
}

// All tiles have the same values where these are there before.
// CHECK-LABEL: func.func @alone(
// CHECK: attn.kept_packs[%{{.*}}, %{{.*}}] most(%{{.*}}) overlap 1
// CHECK: attn.online_attention layout<pairs> packed_values
func.func @alone(%q: tensor<8x16x2xbf16>, %k: tensor<?x16xbf16>, %v: tensor<?x24xbf16>,
                 %o: tensor<24x16xf32>, %m: tensor<16xf32>) -> tensor<24x16xf32> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %no = arith.constant false
  %r:3 = attn.online_attention layout<pairs> keeps_packs
      ins(%q, %k, %v : tensor<8x16x2xbf16>, tensor<?x16xbf16>, tensor<?x24xbf16>)
      outs(%o, %m, %m : tensor<24x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%c0, %c0, %c0, %c0) queries(%c16) exact(%no)
      {attn.plan = #attn.plan<keys = 64>}
      -> tensor<24x16xf32>, tensor<16xf32>, tensor<16xf32>
  return %r#0 : tensor<24x16xf32>
}
