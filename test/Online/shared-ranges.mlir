// RUN: attn-opt %s --attn-target="{vector_bits = 512}" -attn-plan -attn-summarize-tables -attn-plan -attn-tile-attention \
// RUN:   --attn-target="{vector_bits = 512}" -attn-plan -attn-attention-to-online -attn-tile-keys -canonicalize -cse \
// RUN:   | FileCheck %s
// RUN: %if gpu %{ attn-opt %s -attn-gpu-pipeline -o /dev/null \
// RUN:   -mlir-print-ir-after=attn-tile-keys 2>&1 \
// RUN:   | FileCheck %s --check-prefix=GPU %}

!q = tensor<?x8x?x64xf32>
!d = tensor<?x?xi32>

// On a GPU, every tile searches for itself.
// GPU-NOT: xindex>

// The range of keys that a tile sees is searched for once for all heads, by one
// thread for 32 tiles.
// CHECK-LABEL: func.func @documents
// CHECK-DAG: %[[BATCH:.*]] = tensor.dim %arg0, %c0
// CHECK-DAG: %[[LENGTH:.*]] = tensor.dim %arg0, %c2
// CHECK-DAG: %[[TILES:.*]] = affine.apply #{{.*}}()[%[[LENGTH]]]
// CHECK: %[[FOUND:.*]] = scf.forall (%[[B:.*]], %[[T:.*]]) = (0, 0) to (%[[BATCH]], %[[TILES]]) step (1, 32)
// CHECK: scf.for
// CHECK-COUNT-2: scf.while
// CHECK: scf.yield
// CHECK: scf.yield
// CHECK: tensor.insert
// CHECK: tensor.insert
// CHECK: scf.forall (%[[B:.*]], %{{.*}}, %[[I:.*]]) = (0, 0, 0) to (%[[BATCH]], 8, %[[LENGTH]])
// CHECK-NOT: scf.while (%{{.*}}) : (index, index)
// CHECK: %[[TILE:.*]] = affine.apply #{{.*}}(%[[I]]){{$}}
// CHECK-NOT: scf.while (%{{.*}}) : (index, index)
// CHECK: %[[BEGIN:.*]] = tensor.extract %[[FOUND]][%[[B]], %[[TILE]], %c0]
// CHECK: %[[END:.*]] = tensor.extract %[[FOUND]][%[[B]], %[[TILE]], %c1]
// CHECK: scf.while {{.*}}tensor<64x32xf32>
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step
func.func @documents(%q: !q, %k: !q, %v: !q, %o: !q, %d: !d) -> !q {
  %r = attn.attention ins(%q, %k, %v : !q, !q, !q) outs(%o : !q)
      mask causal, document(%d, %d : !d, !d)
  return %r : !q
}

// What a head sees of its own is searched for by its tiles.
// CHECK-LABEL: func.func @of_head
// CHECK-NOT: xindex>
// CHECK: scf.while (%{{.*}}) : (index, index)
// CHECK-NOT: xindex>
func.func @of_head(%q: !q, %k: !q, %v: !q, %o: !q, %d: !d) -> !q {
  %r = attn.attention ins(%q, %k, %v : !q, !q, !q) outs(%o : !q)
      mask(%b, %h, %p, %j) captures(%t = %d : !d) {
        %x = tensor.extract %t[%h, %p] : !d
        %y = tensor.extract %t[%h, %j] : !d
        %same = arith.cmpi eq, %x, %y : i32
        attn.yield %same : i1
      }
  return %r : !q
}

// Nor is there anything to share with one head or one tile.
// CHECK-LABEL: func.func @one_head
// CHECK-NOT: xindex>
// CHECK: scf.while (%{{.*}}) : (index, index)
// CHECK-NOT: xindex>
func.func @one_head(%q: tensor<?x1x?x64xf32>, %o: tensor<?x1x?x64xf32>, %d: !d)
    -> tensor<?x1x?x64xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x1x?x64xf32>,
          tensor<?x1x?x64xf32>, tensor<?x1x?x64xf32>)
      outs(%o : tensor<?x1x?x64xf32>) mask document(%d, %d : !d, !d)
  return %r : tensor<?x1x?x64xf32>
}

// CHECK-LABEL: func.func @one_tile
// CHECK-NOT: xindex>
// CHECK: scf.while (%{{.*}}) : (index, index)
// CHECK-NOT: xindex>
func.func @one_tile(%q: tensor<?x8x16x64xf32>, %k: !q, %o: tensor<?x8x16x64xf32>,
                    %x: !d, %y: !d) -> tensor<?x8x16x64xf32> {
  %r = attn.attention ins(%q, %k, %k : tensor<?x8x16x64xf32>, !q, !q)
      outs(%o : tensor<?x8x16x64xf32>) mask document(%x, %y : !d, !d)
  return %r : tensor<?x8x16x64xf32>
}
