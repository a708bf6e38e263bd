// Every mistake ends in one clear line and an exit code of 1.

// RUN: rm -rf %t && mkdir %t
// RUN: attn-run %s --entry matrix --out %t/matrix.npy
// RUN: echo garbage > %t/garbage.npy

// RUN: not attn-run 2>&1 | FileCheck %s --check-prefix=NOFILE
// NOFILE: attn-run: error: expected one input file, got 0; see --help

// RUN: not attn-run %s --entrance f 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: attn-run: error: unknown argument '--entrance'

// RUN: not attn-run %s --entry 2>&1 | FileCheck %s --check-prefix=NOVALUE
// NOVALUE: attn-run: error: --entry: missing argument

// RUN: not attn-run %t/none.mlir 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: attn-run: error: {{.*}}none.mlir: cannot open: No such file or directory

// RUN: not attn-run %s --entry none 2>&1 | FileCheck %s --check-prefix=ENTRY
// ENTRY: error: no function 'none' in the module

// RUN: not attn-run %S/Inputs/syntax-error.mlir 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SYNTAX
// SYNTAX: syntax-error.mlir:2:10: error: use of undeclared SSA value name

// RUN: not attn-run %s --entry sum --pipeline fast 2>&1 \
// RUN:   | FileCheck %s --check-prefix=PIPELINE
// PIPELINE: attn-run: error: unknown pipeline 'fast'

// Without a driver, or with one that shows no GPU.
// RUN: env CUDA_VISIBLE_DEVICES= not attn-run %s --entry sum --pipeline gpu 2>&1 \
// RUN:   | FileCheck %s --check-prefix=GPU --implicit-check-not={{.}}
// GPU: attn-run: error: no GPU: {{.+}}
// RUN: env CUDA_VISIBLE_DEVICES= attn-run %s --entry matrix --pipeline gpu \
// RUN:   --fall-back-to-cpu | FileCheck %s --check-prefix=FALLBACK
// FALLBACK: pipeline cpu

// RUN: not attn-run %s --entry sum --pipeline reference --threads 2 2>&1 \
// RUN:   | FileCheck %s --check-prefix=THREADS
// THREADS: attn-run: error: --threads: pipeline 'reference' has 1 thread of the CPU, got 2

// RUN: not attn-run %s --entry sum --threads -1 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: attn-run: error: --threads: expected an integer from 0 to 4294967295, got '-1'

// RUN: not attn-run %s --entry sum --cpu abacus 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CPU
// CPU: attn-run: error: cpu: expected a processor that LLVM knows for {{.*}}, got 'abacus'

// RUN: not attn-run %s --entry sum --repeat 0 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REPEAT
// REPEAT: attn-run: error: --repeat: expected an integer from 1 to 4294967295, got '0'

// RUN: not attn-run %s --entry sum --arg %t/matrix.npy 2>&1 \
// RUN:   | FileCheck %s --check-prefix=FEW
// FEW: attn-run: error: argument 1 'y' (tensor<?x3xf32>) is not given: use --arg, or --random

// RUN: not attn-run %s --entry matrix --arg %t/matrix.npy 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MANY
// MANY: attn-run: error: @matrix takes 0 arguments, got 1 --arg

// RUN: not attn-run %s --entry matrix --out a --out b 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OUTS
// OUTS: attn-run: error: @matrix has 1 result, got 2 --out

// RUN: not attn-run %s --entry sum --random 1 --arg %t/garbage.npy 2>&1 \
// RUN:   | FileCheck %s --check-prefix=GARBAGE
// GARBAGE: attn-run: error: argument 0 'x' (tensor<?x3xf32>): {{.*}}garbage.npy: expected the magic bytes of a .npy file

// RUN: not attn-run %s --entry sum --random 1 --arg 3:f32 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TENSOR
// TENSOR: attn-run: error: argument 0 'x' (tensor<?x3xf32>): expected a .npy file, got '3:f32'

// RUN: not attn-run %s --entry sum --random 1 --arg - --arg - \
// RUN:   --arg %t/matrix.npy 2>&1 | FileCheck %s --check-prefix=SCALAR
// SCALAR: attn-run: error: argument 2 'n' (i8): expected a number with its type, such as '1:i8', got '{{.*}}matrix.npy'

// RUN: not attn-run %s --entry sum --random 1 --arg - --arg - --arg 1:i16 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TYPE
// TYPE: attn-run: error: argument 2 'n' (i8): expected type i8, got '1:i16'

// RUN: not attn-run %s --entry sum --random 1 --arg - --arg - --arg 128:i8 2>&1 \
// RUN:   | FileCheck %s --check-prefix=RANGE
// RANGE: attn-run: error: argument 2 'n' (i8): expected an integer from -128 to 127 before ':i8', got '128'

// RUN: not attn-run %s --entry sum --random 1 --arg - --arg - --arg - \
// RUN:   --arg 1x:f32 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: attn-run: error: argument 3 'f' (f32): expected a number before ':f32', got '1x'

// The kernel explains what does not fit it.
// RUN: attn-run %s --entry vector --out %t/vector.npy
// RUN: not attn-run %s --entry sum --random 1 --arg %t/vector.npy 2>&1 \
// RUN:   | FileCheck %s --check-prefix=RANK
// RANK: attn-run: error: argument 0 'x': rank is 1, expected 2

// So do its assertions, of sizes before it runs.
// RUN: not attn-run %s --entry equal --arg %t/matrix.npy --arg %t/vector.npy \
// RUN:   2>&1 | FileCheck %s --check-prefix=SIZES
// SIZES: attn-run: error: argument 0 'x': dimension 1 is 3, expected 2 (a row of y, as in dimension 0 of argument 1 'y')
// RUN: attn-run %s --entry equal --arg %t/matrix.npy --random 1 --check \
// RUN:   | FileCheck %s --check-prefix=EQUAL
// EQUAL: argument 1 'y': 3xf32 from random
// EQUAL: passed

// What is too small for the positions that read it.
// RUN: not attn-run %s --entry biased --random 1 --arg - --arg %t/vector.npy \
// RUN:   2>&1 | FileCheck %s --check-prefix=OUTSIDE
// OUTSIDE: attn-run: error: {{.*}}'score' region: index 2 in dimension {{[01]}} of 'terms', of size 2 (line {{[0-9]+}})

// RUN: mkdir %t/shared && chmod 777 %t/shared
// RUN: not attn-run %s --entry matrix --cache-dir %t/shared 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SHARED
// SHARED: attn-run: error: cannot use cache directory '{{.*}}shared': expected a directory that only its user may write, got mode 0777

// No file is lost, whatever it is called; a result may replace an argument.
// RUN: cp %s %t/input.mlir && ln %t/input.mlir %t/link.mlir
// RUN: not attn-run %t/input.mlir --entry matrix --out %t/link.mlir 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ITSELF
// RUN: cmp %s %t/input.mlir
// ITSELF: attn-run: error: --out: expected another file than that of the input, got '{{.*}}link.mlir'
// RUN: not attn-run %s --entry matrix --expect %t/matrix.npy \
// RUN:   --out %t/./matrix.npy 2>&1 | FileCheck %s --check-prefix=EXPECTED
// EXPECTED: attn-run: error: --out: expected another file than that of --expect, got '{{.*}}matrix.npy'
// RUN: not attn-run %s --entry matrix --out %t/a --out %t/a 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TWICE
// TWICE: attn-run: error: --out: expected another file than that of --out, got '{{.*}}a'
// RUN: not attn-run %s --entry sum --arg %t/matrix.npy --random 1 \
// RUN:   --json %t/matrix.npy 2>&1 | FileCheck %s --check-prefix=JSON-ARGUMENT
// JSON-ARGUMENT: attn-run: error: --json: expected another file than that of --arg, got '{{.*}}matrix.npy'
// RUN: cp %t/matrix.npy %t/updated.npy
// RUN: attn-run %s --entry sum --arg %t/updated.npy --arg %t/updated.npy \
// RUN:   --random 1 --out %t/updated.npy
// RUN: not cmp %t/matrix.npy %t/updated.npy

// What would read foreign memory, or never end.
// RUN: not attn-run %s --entry fill --random 1 --arg - --arg -1:index \
// RUN:   --arg 1:index 2>&1 | FileCheck %s --check-prefix=DIMENSION
// RUN: not attn-run %s --entry fill --random 1 --arg - --arg 2:index \
// RUN:   --arg 1:index 2>&1 | FileCheck %s --check-prefix=DIMENSION
// DIMENSION: attn-run: error: {{.*}}'tensor.dim' op index is out of bounds
// RUN: not attn-run %s --entry fill --random 1 --arg - --arg 1:index \
// RUN:   --arg 0:index 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: not attn-run %s --entry fill --random 1 --arg - --arg 1:index \
// RUN:   --arg -1:index 2>&1 | FileCheck %s --check-prefix=STEP
// STEP: attn-run: error: {{.*}}'scf.for' op step is not positive
// RUN: attn-run %s --entry fill --random 1 --arg - --arg 1:index --arg 2:index

// What would be written beside a result.
// RUN: not attn-run %s --entry insert --random 1 --arg - --arg - --arg 5:index \
// RUN:   2>&1 | FileCheck %s --check-prefix=SLICE
// RUN: not attn-run %s --entry insert --random 1 --arg - --arg - --arg -1:index \
// RUN:   2>&1 | FileCheck %s --check-prefix=SLICE
// RUN: not attn-run %s --entry pad --random 1 --arg - --arg -2:index \
// RUN:   --arg 4:index 2>&1 | FileCheck %s --check-prefix=SLICE
// RUN: not attn-run %s --entry pad --random 1 --arg - --arg 2:index \
// RUN:   --arg -3:index 2>&1 | FileCheck %s --check-prefix=SLICE
// SLICE: attn-run: error: {{.*}}'tensor.insert_slice' op slice runs out-of-bounds along dimension 0
// RUN: attn-run %s --entry insert --random 1 --arg - --arg - --arg 4:index
// RUN: attn-run %s --entry pad --random 1 --arg - --arg 2:index --arg 0:index

// RUN: not attn-run %s --entry matrix --expect %t/vector.npy --out %t/new.npy \
// RUN:   2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not ls %t/new.npy
// SHAPE: attn-run: error: {{.*}}vector.npy: expected the shape of the result, 2x3xf32, got 2xf32

// RUN: not attn-run %s --entry matrix --expect %t/none.npy --check 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BOTH
// BOTH: attn-run: error: expected --check or --expect, not both

// The interpreter knows fewer types than the compiler.
// RUN: not attn-run %s --entry wide --check 2>&1 \
// RUN:   | FileCheck %s --check-prefix=INTERPRET
// INTERPRET: attn-run-errors.mlir:[[# @LINE + 3]]:11: error: cannot evaluate a value of type 'i128'
func.func @wide() -> tensor<1xi64> {
  %c7 = arith.constant 7 : i64
  %wide = arith.extsi %c7 : i64 to i128
  %narrow = arith.trunci %wide : i128 to i64
  %result = tensor.from_elements %narrow : tensor<1xi64>
  return %result : tensor<1xi64>
}

// A constant that nothing uses is still one, which no memory holds.
// RUN: not attn-run %s --entry unused --check 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNUSED
// UNUSED: attn-run-errors.mlir:{{[0-9]+}}:{{[0-9]+}}: error: 'arith.constant' has no result for its operands

// RUN: not attn-run %s --entry matrix --expect %t/none.npy 2>&1 \
// RUN:   | FileCheck %s --check-prefix=EXPECT
// EXPECT: attn-run: error: {{.*}}none.npy: cannot open: No such file or directory

// RUN: not attn-run %s --entry matrix --out %t/none/a.npy 2>&1 \
// RUN:   | FileCheck %s --check-prefix=WRITE
// WRITE: attn-run: error: {{.*}}a.npy: cannot write: No such file or directory

// RUN: not attn-run %s --entry matrix --json %t/none/a.json 2>&1 \
// RUN:   | FileCheck %s --check-prefix=JSON
// JSON: attn-run: error: {{.*}}a.json: cannot write: {{.*}}

// RUN: not attn-run %s --entry large --random 1 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LARGE
// LARGE: attn-run: error: argument 0 'x' (tensor<4000000000x4000000000xf32>): the product of the sizes overflows

func.func @matrix() -> tensor<2x3xf32> {
  %values = arith.constant dense<1.0> : tensor<2x3xf32>
  return %values : tensor<2x3xf32>
}

func.func @vector() -> tensor<2xf32> {
  %values = arith.constant dense<1.0> : tensor<2xf32>
  return %values : tensor<2xf32>
}

func.func @sum(%x: tensor<?x3xf32>, %y: tensor<?x3xf32>, %n: i8, %f: f32)
    -> tensor<?x3xf32> {
  %sum = arith.addf %x, %y : tensor<?x3xf32>
  return %sum : tensor<?x3xf32>
}

func.func @equal(%x: tensor<?x?xf32>, %y: tensor<?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %columns = tensor.dim %x, %c1 : tensor<?x?xf32>
  %size = tensor.dim %y, %c0 : tensor<?xf32>
  %same = arith.cmpi eq, %columns, %size : index
  cf.assert %same, "a row of y"
  return %x : tensor<?x?xf32>
}

func.func @biased(%x: tensor<1x1x3x4xf32>, %terms: tensor<?xf32>)
    -> tensor<1x1x3x4xf32> {
  %biased = attn.attention
      ins(%x, %x, %x : tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>,
          tensor<1x1x3x4xf32>)
      outs(%x : tensor<1x1x3x4xf32>)
      score bias(%terms : tensor<?xf32>)
  return %biased : tensor<1x1x3x4xf32>
}

func.func @large(%x: tensor<4000000000x4000000000xf32>) -> tensor<1xf32> {
  %values = arith.constant dense<1.0> : tensor<1xf32>
  return %values : tensor<1xf32>
}

func.func @fill(%x: tensor<?x4xf32>, %dimension: index, %step: index)
    -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %ones = linalg.fill ins(%one : f32) outs(%empty : tensor<4xf32>)
      -> tensor<4xf32>
  %size = tensor.dim %x, %dimension : tensor<?x4xf32>
  %filled = scf.for %i = %c0 to %size step %step
      iter_args(%y = %ones) -> tensor<4xf32> {
    %z = tensor.insert %one into %y[%i] : tensor<4xf32>
    scf.yield %z : tensor<4xf32>
  }
  return %filled : tensor<4xf32>
}

func.func @insert(%x: tensor<4x16xf32>, %y: tensor<8x16xf32>, %offset: index)
    -> tensor<8x16xf32> {
  %z = tensor.insert_slice %x into %y[%offset, 0] [4, 16] [1, 1]
      : tensor<4x16xf32> into tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

func.func @pad(%x: tensor<4x16xf32>, %low: index, %high: index)
    -> tensor<?x16xf32> {
  %one = arith.constant 1.0 : f32
  %y = tensor.pad %x low[%low, 0] high[%high, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %one : f32
  } : tensor<4x16xf32> to tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

func.func @unused() -> tensor<2xf32> {
  %large = arith.constant dense<0.0> : tensor<4611686018427387904xf32>
  %values = arith.constant dense<1.0> : tensor<2xf32>
  return %values : tensor<2xf32>
}
