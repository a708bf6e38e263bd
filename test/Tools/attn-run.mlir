// RUN: rm -rf %t && mkdir %t

// What is not given comes from --random, with the sizes that fit: the key's
// batch and length follow from the query and the value.
// RUN: attn-run %s --entry attend --random 1 --out %t/o.npy | FileCheck %s
// CHECK:      @attend from {{.*}}attn-run.mlir, pipeline cpu
// CHECK-NEXT:   argument 0 'query': 64x4x64x8xf32 from random
// CHECK-NEXT:   argument 1 'key': 64x2x64x8xf32 from random
// CHECK-NEXT:   argument 2 'value': 64x2x64x6xf32 from random
// CHECK-NEXT: compiled in {{[0-9.]+}} ms (parse {{[0-9.]+}}, passes {{[0-9.]+}}, {{.*}})
// CHECK-NEXT: ran in {{[0-9.]+}} ms
// CHECK-NEXT:   result 0: 64x4x64x6xf32 to {{.*}}o.npy

// The same seed gives the same numbers, another one others.
// RUN: attn-run %s --entry attend --random 1 --expect %t/o.npy \
// RUN:   | FileCheck %s --check-prefix=EQUAL
// EQUAL: result 0: 64x4x64x6xf32
// EQUAL-NEXT: passed: equal to what is expected
// RUN: not attn-run %s --entry attend --random 2 --expect %t/o.npy \
// RUN:   | FileCheck %s --check-prefix=FAILED
// FAILED: failed: largest relative error {{.*}} at ({{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}), got {{.*}}, expected {{.*}}; tolerance 2.0e-06

// Remarks come where they are asked for.
// RUN: attn-run %S/Inputs/table-of-floats.mlir --random 1 --remarks 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// REMARK: table-of-floats.mlir:9:{{[0-9]+}}: remark: hides no block of keys as a whole, because
// RUN: attn-run %S/Inputs/table-of-floats.mlir --random 1 2>&1 \
// RUN:   | FileCheck %s --check-prefix=QUIET --implicit-check-not=remark
// QUIET: @keep_heavy from

// The float64 interpreter agrees.
// RUN: attn-run %s --entry values --out %t/v.npy
// RUN: attn-run %s --entry attend --arg - --arg - --arg %t/v.npy --random 1 \
// RUN:   --check | FileCheck %s --check-prefix=CHECKED
// CHECKED: result 0: 1x4x64x6xf32
// CHECKED-NEXT: passed: largest relative error {{.*}}; tolerance 2.0e-06

// Sizes follow from what is given, wherever it stands.
// RUN: attn-run %s --entry attend --arg - --arg - --arg %t/v.npy --random 1 \
// RUN:   | FileCheck %s --check-prefix=SIZES
// SIZES:      argument 0 'query': 1x4x64x8xf32 from random
// SIZES-NEXT: argument 1 'key': 1x2x3x8xf32 from random
// SIZES-NEXT: argument 2 'value': 1x2x3x6xf32 from {{.*}}v.npy

// Scalars, and an f32 file for bf16. 1.00390625 lies halfway between two bf16
// numbers and goes to the even one, 1; so does the written result, as f32.
// RUN: attn-run %s --entry scalars --out %t/s.npy
// RUN: attn-run %s --entry by_hand --out %t/by-hand.npy
// RUN: attn-run %s --entry scale --arg %t/s.npy --arg 2.5:f32 --arg -3:index \
// RUN:   --expect %t/by-hand.npy | FileCheck %s --check-prefix=SCALE
// SCALE:      argument 0 'x': 2xbf16 from {{.*}}s.npy
// SCALE-NEXT: argument 1 'factor': f32 from 2.5:f32
// SCALE-NEXT: argument 2 'offset': i64 from -3:index
// SCALE:      passed: equal

// Times, the cache, and JSON.
// RUN: attn-run %s --entry by_hand --repeat 3 --cache-dir %t/cache \
// RUN:   | FileCheck %s --check-prefix=REPEAT
// REPEAT: compiled in
// REPEAT-NEXT: ran 3 times: min {{[0-9.]+}} ms, median {{[0-9.]+}} ms
// RUN: attn-run %s --entry by_hand --cache-dir %t/cache --json %t/report.json \
// RUN:   --expect %t/by-hand.npy --out %t/again.npy \
// RUN:   | FileCheck %s --check-prefix=CACHED
// CACHED: loaded from the disk cache in {{[0-9.]+}} ms
// RUN: cmp %t/by-hand.npy %t/again.npy
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t/report.json
// JSON: "arguments": []
// JSON: "source": "disk cache"
// JSON: "totalMs": {{[0-9.e-]+}}
// JSON: "entry": "by_hand"
// JSON: "pipeline": "cpu"
// JSON: "check": {
// JSON: "passed": true
// JSON: "to": "{{.*}}again.npy"
// JSON: "type": "2xf32"
// JSON: "medianMs": {{[0-9.e-]+}}
// JSON: "minMs": {{[0-9.e-]+}}
// JSON: "repeat": 1

// The work of attention: 2 * 1 * 4 heads * 64 * 3 pairs * (8 + 6).
// RUN: attn-run %s --entry attend --arg - --arg - --arg %t/v.npy --random 1 \
// RUN:   --json %t/flops.json
// RUN: FileCheck %s --check-prefix=FLOPS --input-file=%t/flops.json
// FLOPS: "denseFlops": 21504,
// FLOPS: "denseFlopsPerSecond": {{[0-9.e+]+}}

// RUN: attn-run %s --entry attend --random 1 --check --quantize-queries \
// RUN:   | FileCheck %s --check-prefix=QUANTIZE
// QUANTIZE: tolerance 2.0e-02

// RUN: attn-run --help | FileCheck %s --check-prefix=HELP
// HELP: USAGE: attn-run [options] file.mlir
// HELP: --arg <file|number:type|sizes|->
// HELP: --random <seed>

func.func @attend(%query: tensor<?x4x?x8xf32>, %key: tensor<?x2x?x8xf32>,
                  %value: tensor<?x2x?x6xf32>) -> tensor<?x4x?x6xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %query, %c0 : tensor<?x4x?x8xf32>
  %length = tensor.dim %query, %c2 : tensor<?x4x?x8xf32>
  %init = tensor.empty(%batch, %length) : tensor<?x4x?x6xf32>
  %output = attn.attention
      ins(%query, %key, %value : tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>,
          tensor<?x2x?x6xf32>)
      outs(%init : tensor<?x4x?x6xf32>)
  return %output : tensor<?x4x?x6xf32>
}

func.func @values() -> tensor<1x2x3x6xf32> {
  %values = arith.constant dense<0.5> : tensor<1x2x3x6xf32>
  return %values : tensor<1x2x3x6xf32>
}

func.func @scalars() -> tensor<2xf32> {
  %values = arith.constant dense<[1.00390625, 2.0]> : tensor<2xf32>
  return %values : tensor<2xf32>
}

// factor * x + offset
func.func @scale(%x: tensor<2xbf16>, %factor: f32, %offset: index)
    -> tensor<2xf32> {
  %0 = arith.index_cast %offset : index to i64
  %1 = arith.sitofp %0 : i64 to f32
  %init = tensor.empty() : tensor<2xf32>
  %result = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%x : tensor<2xbf16>) outs(%init : tensor<2xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %2 = arith.extf %in : bf16 to f32
    %3 = arith.mulf %2, %factor : f32
    %4 = arith.addf %3, %1 : f32
    linalg.yield %4 : f32
  } -> tensor<2xf32>
  return %result : tensor<2xf32>
}

func.func @by_hand() -> tensor<2xf32> {
  %values = arith.constant dense<[-0.5, 2.0]> : tensor<2xf32>
  return %values : tensor<2xf32>
}
