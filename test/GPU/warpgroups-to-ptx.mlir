// RUN: attn-opt %s -attn-warpgroups-to-ptx | FileCheck %s

// Operands of the assembly are the sums, pairs of the first factor as registers, and
// the descriptor, whose first word a step adds to. Of a product without sums, the first step begins at 0.
// CHECK-LABEL: llvm.func @no_sums
// CHECK-SAME: %[[A:.*]]: vector<2xf16>, %[[B:.*]]: vector<2xf16>, %[[RHS:.*]]: i64
// CHECK-COUNT-7: llvm.bitcast %[[A]] : vector<2xf16> to i32
// CHECK: %[[LAST:.*]] = llvm.bitcast %[[B]] : vector<2xf16> to i32
// CHECK: %[[SUMS:.*]] = llvm.inline_asm has_side_effects asm_dialect = att
// CHECK-SAME: "{\0A.reg .b64 lhs, rhs;\0A.reg .b32 begin, rest;\0A.reg .pred begun;\0Asetp.ne.b32 begun, 0, 0;\0A
// CHECK-SAME: wgmma.fence.sync.aligned;\0A
// CHECK-SAME: mov.b64 {begin, rest}, $12;\0Aadd.u32 begin, begin, 0;\0Amov.b64 rhs, {begin, rest};\0A
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, {$4, $5, $6, $7}, rhs, begun, 1, 1, 0;\0A
// CHECK-SAME: mov.b64 {begin, rest}, $12;\0Aadd.u32 begin, begin, 2;\0Amov.b64 rhs, {begin, rest};\0A
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, {$8, $9, $10, $11}, rhs, 1, 1, 1, 0;\0A
// CHECK-SAME: wgmma.commit_group.sync.aligned;\0A}"
// CHECK-SAME: "=f,=f,=f,=f,r,r,r,r,r,r,r,r,l"
// CHECK-SAME: %[[LAST]], %[[RHS]] :
// CHECK-SAME: -> !llvm.struct<(f32, f32, f32, f32)>
// CHECK: llvm.extractvalue %[[SUMS]][0]
// CHECK: %[[FOURTH:.*]] = llvm.extractvalue %[[SUMS]][3]
// CHECK: %[[END:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "wgmma.wait_group.sync.aligned 1;", "=f,=f,=f,=f,0,1,2,3"
// CHECK-SAME: %[[FOURTH]] :
// CHECK: %[[R:.*]] = llvm.extractvalue %[[END]][0]
// CHECK: llvm.return %[[R]]
llvm.func @no_sums(%a: vector<2xf16>, %b: vector<2xf16>, %rhs: i64) -> f32 {
  %p:4 = attn.warpgroup_mma
      lhs(%a, %a, %a, %a, %a, %a, %a, %b
          : vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>,
            vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)
      rhs(%rhs) columns 8 steps [0, 2] : f32, f32, f32, f32
  %r:4 = attn.warpgroup_wait %p#0, %p#1, %p#2, %p#3 pending 1 : f32, f32, f32, f32
  llvm.return %r#0 : f32
}

// Sums are in the registers of the results, to which each step adds.
// CHECK-LABEL: llvm.func @sums
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att
// CHECK-SAME: mov.b64 {begin, rest}, $12;\0Aadd.u32 begin, begin, 0;\0Amov.b64 rhs, {begin, rest};\0A
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {$0, $1, $2, $3, $4, $5, $6, $7}, {$8, $9, $10, $11}, rhs, 1, 1, 1, 1;\0A
// CHECK-SAME: "=f,=f,=f,=f,=f,=f,=f,=f,r,r,r,r,l,0,1,2,3,4,5,6,7"
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "wgmma.wait_group.sync.aligned 0;"
// CHECK-NOT: attn.
llvm.func @sums(%a: vector<2xbf16>, %rhs: i64, %c: f32) -> f32 {
  %p:8 = attn.warpgroup_mma
      lhs(%a, %a, %a, %a : vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>)
      rhs(%rhs) transposed
      sums(%c, %c, %c, %c, %c, %c, %c, %c : f32, f32, f32, f32, f32, f32, f32, f32)
      columns 16 steps [0] : f32, f32, f32, f32, f32, f32, f32, f32
  %r:8 = attn.warpgroup_wait %p#0, %p#1, %p#2, %p#3, %p#4, %p#5, %p#6, %p#7 pending 0
      : f32, f32, f32, f32, f32, f32, f32, f32
  llvm.return %r#0 : f32
}

// Of a first factor in memory, each step has a descriptor, too; neither is transposed.
// CHECK-LABEL: llvm.func @both
// CHECK-SAME: %[[LHS:.*]]: i64, %[[RHS:.*]]: i64, %[[C:.*]]: f32
// CHECK-NOT: llvm.bitcast
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att
// CHECK-SAME: wgmma.fence.sync.aligned;\0A
// CHECK-SAME: mov.b64 {begin, rest}, $4;\0Aadd.u32 begin, begin, 0;\0Amov.b64 lhs, {begin, rest};\0A
// CHECK-SAME: mov.b64 {begin, rest}, $5;\0Aadd.u32 begin, begin, 0;\0Amov.b64 rhs, {begin, rest};\0A
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, lhs, rhs, 1, 1, 1, 0, 0;\0A
// CHECK-SAME: mov.b64 {begin, rest}, $4;\0Aadd.u32 begin, begin, 1024;\0Amov.b64 lhs, {begin, rest};\0A
// CHECK-SAME: mov.b64 {begin, rest}, $5;\0Aadd.u32 begin, begin, 64;\0Amov.b64 rhs, {begin, rest};\0A
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, lhs, rhs, 1, 1, 1, 0, 0;\0A
// CHECK-SAME: wgmma.commit_group.sync.aligned;\0A}"
// CHECK-SAME: "=f,=f,=f,=f,l,l,0,1,2,3" %[[LHS]], %[[RHS]], %[[C]], %[[C]], %[[C]], %[[C]] :
llvm.func @both(%lhs: i64, %rhs: i64, %c: f32) -> f32 {
  %p:4 = attn.warpgroup_mma lhs(%lhs : i64) rhs(%rhs)
      sums(%c, %c, %c, %c : f32, f32, f32, f32)
      columns 8 steps [0, 64] lhs_steps [0, 1024] of bf16 : f32, f32, f32, f32
  %r:4 = attn.warpgroup_wait %p#0, %p#1, %p#2, %p#3 pending 0 : f32, f32, f32, f32
  llvm.return %r#0 : f32
}

// The columns of a row of the second factor are next to each other.
// CHECK-LABEL: llvm.func @both_transposed
// CHECK: lhs, rhs, begun, 1, 1, 0, 1;\0A
// CHECK-NOT: attn.
llvm.func @both_transposed(%lhs: i64, %rhs: i64) -> f32 {
  %p:4 = attn.warpgroup_mma lhs(%lhs : i64) rhs(%rhs) transposed
      columns 8 steps [0] lhs_steps [0] of f16 : f32, f32, f32, f32
  %r:4 = attn.warpgroup_wait %p#0, %p#1, %p#2, %p#3 pending 0 : f32, f32, f32, f32
  llvm.return %r#0 : f32
}

// CHECK-LABEL: llvm.func @transpose
// CHECK-SAME: %[[PAIR:.*]]: vector<2xbf16>
// CHECK: %[[WORD:.*]] = llvm.bitcast %[[PAIR]] : vector<2xbf16> to i32
// CHECK: %[[OTHER:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r" %[[WORD]] : (i32) -> i32
// CHECK: llvm.bitcast %[[OTHER]] : i32 to vector<2xbf16>
llvm.func @transpose(%pair: vector<2xbf16>) -> vector<2xbf16> {
  %r = attn.transpose_in_warp %pair : vector<2xbf16>
  llvm.return %r : vector<2xbf16>
}
