// RUN: mkdir -p %t
// RUN: cd %t
// RUN: attn-opt %s -attn-print-blocks="query-length=70 key-length=300 svg=picture.svg" -o /dev/null | FileCheck %s
// RUN: FileCheck %s --check-prefix=SVG < picture.svg
// RUN: python3 -c "import xml.dom.minidom as dom; dom.parse('picture.svg')"

// What no kernel computes has no blocks; its name may be anything.
// CHECK: buffers&: 70 queries, 300 keys
// CHECK-NEXT: without blocks, by the reference path, because it works on memrefs
// SVG: >buffers&amp;: 70
// SVG: without blocks, by the reference path, because it works on memrefs</text>
func.func @"buffers&"(%q: memref<1x2x?x16xf32>) {
  attn.attention
      ins(%q, %q, %q : memref<1x2x?x16xf32>, memref<1x2x?x16xf32>,
          memref<1x2x?x16xf32>)
      outs(%q : memref<1x2x?x16xf32>) mask causal
  return
}
