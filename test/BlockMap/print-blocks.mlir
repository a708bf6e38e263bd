// RUN: mkdir -p %t
// RUN: cd %t
// RUN: attn-opt %s -attn-print-blocks="query-length=70 key-length=300 offset=200 batch=2 svg=picture.svg" -o /dev/null | FileCheck %s
// RUN: FileCheck %s --check-prefix=SVG < picture.svg
// RUN: python3 -c "import xml.dom.minidom as dom; dom.parse('picture.svg')"
// RUN: attn-opt %s --attn-target="{vector_bits = 512}" -attn-print-blocks="query-length=70 key-length=300 offset=200 batch=2" -o /dev/null | FileCheck %s --check-prefix=WIDE
// RUN: attn-opt %s -attn-print-blocks="query-length=70 key-length=300 offset=200 query-block=40 key-block=100" -o /dev/null | FileCheck %s --check-prefix=BLOCKS
// RUN: attn-opt %s -attn-print-blocks="query-length=0 key-length=0 offset=0 batch=0" -o /dev/null | FileCheck %s --check-prefix=EMPTY
// RUN: attn-opt %s -attn-cpu-pipeline -mlir-print-ir-after=attn-tile-keys -o /dev/null 2>&1 | FileCheck %s --check-prefix=KERNEL

!q = tensor<?x2x?x16xf32>

// CHECK: causal: 70 queries, 300 keys
// CHECK-NEXT: blocks of 16 queries (a line, by the position of the first) and 64 keys:
// CHECK-NEXT: '.' empty, '+' partial, '#' full, '?' known when it runs
// CHECK-NEXT: {{^}}every batch entry and head:
// CHECK-NEXT: {{^}}  200 ###+.{{$}}
// CHECK-NEXT: {{^}}  206 ###+.{{$}}
// CHECK-NEXT: {{^}}  222 ###+.{{$}}
// CHECK-NEXT: {{^}}  238 ###+.{{$}}
// CHECK-NEXT: {{^}}  254 ###++{{$}}
// CHECK-NEXT: 15 full, 6 partial: 21 of 25 blocks computed (84.0%)

// WIDE: blocks of 32 queries
// WIDE: {{^}}  200 ###+.{{$}}
// WIDE-NEXT: {{^}}  206 ###+.{{$}}
// WIDE-NEXT: {{^}}  238 ###++{{$}}

// BLOCKS: blocks of 40 queries (a line, by the position of the first) and 100 keys:
// BLOCKS: {{^}}  200 ##+{{$}}
// BLOCKS-NEXT: {{^}}  230 ##+{{$}}

// EMPTY: causal: 0 queries, 0 keys
// EMPTY: 0 full, 0 partial: 0 of 0 blocks computed

// The kernel's own tiles and blocks.
// KERNEL: func.func @causal
// KERNEL: scf.forall {{.*}} step (1, 1, 16)
// KERNEL: %[[BLOCK:.*]] = arith.constant 64 : index
// KERNEL: scf.for {{.*}} step %[[BLOCK]]

// SVG: <svg xmlns="http://www.w3.org/2000/svg"
// SVG: >causal: 70 queries, 300 keys</text>
// SVG: every batch entry and head: 21 of 25 blocks computed (84.0%)
// SVG: viewBox="0 0 300 70"
// SVG-NEXT: <path fill="#1f4e8c" d="M0 0h192v6h-192zM0 6h192v16h-192zM0 22h192v16h-192zM0 38h192v16h-192zM0 54h192v16h-192z"/>
// SVG-NEXT: <path fill="#f2a541" d="M192 0h14v6h-14zM192 6h30v16h-30zM192 22h46v16h-46zM192 38h62v16h-62zM192 54h78v16h-78z"/>
// SVG-NEXT: </svg>
// SVG: >key</text>
// SVG: >200</text>
// SVG: >position</text>
func.func @causal(%q: !q, %k: !q, %v: !q, %o: !q, %n: index) -> !q {
  %r = attn.attention ins(%q, %k, %v : !q, !q, !q) outs(%o : !q)
      offset(%n : index) mask causal
  return %r : !q
}

// Blocks start at the first key that is visible to the tile.
// CHECK: window: 70 queries, 300 keys
// CHECK: {{^}}  230 ..++.{{$}}
// CHECK-NEXT: {{^}}  236 ..++.{{$}}
// SVG: >window: 70
// SVG: <path fill="#f2a541" d="M130 0h106v6h-106zM136 6
func.func @window(%q: !q, %k: !q, %v: !q, %o: !q) -> !q {
  %c230 = arith.constant 230 : i32
  %r = attn.attention ins(%q, %k, %v : !q, !q, !q) outs(%o : !q)
      offset(%c230 : i32) mask causal, sliding_window(100, 0)
  return %r : !q
}

// Without a mask nothing is empty; a tile is larger.
// CHECK: plain: 70 queries, 300 keys
// CHECK-NEXT: blocks of 32 queries
// CHECK: {{^}}   0 #####{{$}}
// CHECK-NEXT: {{^}}   6 #####{{$}}
// CHECK-NEXT: {{^}}  38 #####{{$}}
// CHECK-NEXT: 15 full, 0 partial: 15 of 15 blocks computed (100.0%)
func.func @plain(%q: !q, %k: !q, %v: !q, %o: !q) -> !q {
  %r = attn.attention ins(%q, %k, %v : !q, !q, !q) outs(%o : !q)
  return %r : !q
}

// A pattern for each head, and for each offset.
// CHECK: heads: 70 queries, 300 keys
// CHECK: {{^}}batch 0, head 0:
// CHECK-NEXT: {{^}}   0 +....{{$}}
// CHECK: {{^}}batch 0, head 1:
// CHECK-NEXT: {{^}}   0 .....{{$}}
// CHECK: {{^}}batch 1, head 0:
// CHECK-NEXT: {{^}}  100 #+...{{$}}
// CHECK: {{^}}batch 1, head 1:
// CHECK-NEXT: {{^}}  100 +....{{$}}
func.func @heads(%q: tensor<2x2x?x16xf32>, %k: tensor<2x2x?x16xf32>,
                 %v: tensor<2x2x?x16xf32>, %o: tensor<2x2x?x16xf32>)
    -> tensor<2x2x?x16xf32> {
  %offsets = arith.constant dense<[0, 100]> : tensor<2xi32>
  %r = attn.attention ins(%q, %k, %v : tensor<2x2x?x16xf32>,
                          tensor<2x2x?x16xf32>, tensor<2x2x?x16xf32>)
      outs(%o : tensor<2x2x?x16xf32>) offset(%offsets : tensor<2xi32>)
      mask(%b, %h, %p, %j) {
    %c100 = arith.constant 100 : index
    %distance = arith.muli %h, %c100 : index
    %first = arith.addi %j, %distance : index
    %keep = arith.cmpi sle, %first, %p : index
    attn.yield %keep : i1
  }
  return %r : tensor<2x2x?x16xf32>
}

// Lengths in a constant are known. Batch entries that are alike are shown once.
// CHECK: lengths: 70 queries, 300 keys
// CHECK: {{^}}batch 0, 2, every head:
// CHECK-NEXT: {{^}}   0 #....{{$}}
// CHECK: {{^}}batch 1, every head:
// CHECK-NEXT: {{^}}   0 ##...{{$}}
// CHECK: 10 full, 0 partial: 10 of 25 blocks computed (40.0%)
func.func @lengths(%q: tensor<3x2x?x16xf16>, %k: tensor<3x2x?x16xf16>,
                   %v: tensor<3x2x?x16xf16>, %o: tensor<3x2x?x16xf16>)
    -> tensor<3x2x?x16xf16> {
  %lengths = arith.constant dense<[30, 100, 30]> : tensor<3xi32>
  %r = attn.attention ins(%q, %k, %v : tensor<3x2x?x16xf16>,
                          tensor<3x2x?x16xf16>, tensor<3x2x?x16xf16>)
      outs(%o : tensor<3x2x?x16xf16>) mask key_padding(%lengths : tensor<3xi32>)
  return %r : tensor<3x2x?x16xf16>
}

// In an argument they are not, unless the other mask decides.
// CHECK: data: 70 queries, 300 keys
// CHECK: {{^}}batch 0-1, every head:
// CHECK-NEXT: {{^}}   0 ?....{{$}}
// CHECK: {{^}}  54 ??...{{$}}
// CHECK-NEXT: 0 full, 0 partial, 6 known when it runs: 0 to 6 of 25 blocks computed
// SVG: >data: 70
// SVG: <path fill="#9aa0a6"
func.func @data(%q: !q, %k: !q, %v: !q, %o: !q, %n: tensor<?xi32>) -> !q {
  %r = attn.attention ins(%q, %k, %v : !q, !q, !q) outs(%o : !q)
      mask causal, key_padding(%n : tensor<?xi32>)
  return %r : !q
}

// What a kernel finds out about tables is known when it runs, too, in blocks at
// multiples of their size.
// CHECK: documents: 70 queries, 300 keys
// CHECK: {{^}}batch 0-1, every head:
// CHECK-NEXT: {{^}}  200 .???.{{$}}
// CHECK-NEXT: {{^}}  206 .???.{{$}}
// SVG: >documents: 70
// SVG: <path fill="#9aa0a6" d="M64 0h192v6h-192zM64 6h192
func.func @documents(%q: !q, %k: !q, %v: !q, %o: !q, %n: index,
                     %x: tensor<?x?xi32>, %y: tensor<?x?xi32>) -> !q {
  %r = attn.attention ins(%q, %k, %v : !q, !q, !q) outs(%o : !q)
      offset(%n : index)
      mask causal, sliding_window(100, 0),
           document(%x, %y : tensor<?x?xi32>, tensor<?x?xi32>)
  return %r : !q
}

// A sequence of a packed batch; the number of sequences is known by type.
// CHECK: packed: 70 queries, 300 keys
// CHECK: {{^}}every batch entry and head:
// CHECK-NEXT: {{^}}  230 ###+.{{$}}
func.func @packed(%q: tensor<1x2x?x16xf32>, %k: tensor<1x2x?x16xf32>,
                  %v: tensor<1x2x?x16xf32>, %o: tensor<1x2x?x16xf32>,
                  %c: tensor<3xi32>) -> tensor<1x2x?x16xf32> {
  %r = attn.attention ins(%q, %k, %v : tensor<1x2x?x16xf32>,
                          tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>)
      outs(%o : tensor<1x2x?x16xf32>)
      offset(bottom_right) sequences(%c, %c : tensor<3xi32>, tensor<3xi32>)
      mask causal
  return %r : tensor<1x2x?x16xf32>
}
