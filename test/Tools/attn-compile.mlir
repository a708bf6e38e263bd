// RUN: attn-compile %s -o %t.o --header %t.h
// RUN: FileCheck %s < %t.h
// RUN: llvm-nm --just-symbol-name --extern-only --defined-only %t.o | FileCheck %s --check-prefix=SYMBOLS
// RUN: attn-compile %s -o %t.again.o --header %t.again.h
// RUN: cmp %t.o %t.again.o
// RUN: attn-compile %s --name=plain_attention --pipeline reference -o %t.o --header %t.h
// RUN: FileCheck %s --check-prefix=NAME < %t.h
// RUN: attn-compile %S/Inputs/table-of-floats.mlir --remarks -o %t.o --header %t.h 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: attn-compile --help | FileCheck %s --check-prefix=HELP

// Parameters keep their names as far as C allows.
// CHECK: /* attend: compiled from @attend of {{.*}}attn-compile.mlir for
// CHECK: #include "attn/static_kernel.h"
// CHECK: extern "C" {
// CHECK: * query: f32, 1 x 2 x ? x 8
// CHECK-NEXT: * key: f32, 1 x 1 x ? x 8
// CHECK-NEXT: * int_: f32, 1 x 1 x ? x 8
// CHECK-NEXT: * argument3: i1
// CHECK-NEXT: * a_b: f64
// CHECK-NEXT: * error_: i64
// CHECK-NEXT: * result0: f32, 1 x 2 x (dimension 2 of argument 0 'query') x 8; is written
// CHECK-NEXT: * dimension 2 of argument 2 'int' is dimension 2 of argument 1 'key': key/value length of attn.attention
// CHECK: int attend(const attn_tensor *query,
// CHECK-NEXT: const attn_tensor *key,
// CHECK-NEXT: const attn_tensor *int_,
// CHECK-NEXT: int64_t argument3,
// CHECK-NEXT: double a_b,
// CHECK-NEXT: int64_t error_,
// CHECK-NEXT: const attn_tensor *result0,
// CHECK-NEXT: char *error, size_t error_size);

// SYMBOLS-NOT: {{.}}
// SYMBOLS: {{^}}attend{{$}}
// SYMBOLS-NOT: {{.}}

// REMARK: table-of-floats.mlir:9:{{[0-9]+}}: remark: hides no block of keys as a whole, because
// NAME: int plain_attention(
// HELP: USAGE: attn-compile [options] file.mlir

// Nothing is left of what failed.
// RUN: not attn-compile %s 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not attn-compile %s -o %t.bad.o 2>&1 | FileCheck %s --check-prefix=HEADER
// RUN: not attn-compile -o %t.bad.o --header %t.bad.h 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: not attn-compile %s.none -o %t.bad.o --header %t.bad.h 2>&1 | FileCheck %s --check-prefix=OPEN
// RUN: not attn-compile %s -o %t.bad.o --header %t.bad.h --name 3d 2>&1 | FileCheck %s --check-prefix=DIGIT
// RUN: not attn-compile %s -o %t.bad.o --header %t.bad.h --name while 2>&1 | FileCheck %s --check-prefix=KEYWORD
// RUN: not attn-compile %s -o %t.bad.o --header %t.bad.h --name attn_rt_alloc 2>&1 | FileCheck %s --check-prefix=OWN
// RUN: not attn-compile %s -o %t.bad.o --header %t.bad.h --name memset 2>&1 | FileCheck %s --check-prefix=LIBRARY
// RUN: not attn-compile %s -o %t.bad.o --header %t.bad.h --cpu abacus 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not attn-compile %s -o %t.bad.o --header %t.bad.h --pipeline gpu 2>&1 | FileCheck %s --check-prefix=PIPELINE
// RUN: not attn-compile %s -o %t.bad.o --header %t.bad.h --pipeline gpu-emulator 2>&1 | FileCheck %s --check-prefix=EMULATOR
// RUN: not attn-compile %s -o %t.bad.o --header %t.bad.h --entry other 2>&1 | FileCheck %s --check-prefix=ENTRY
// RUN: not attn-compile %s -o %t.bad.o --header %t.bad.no/folder.h 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: not attn-compile %S/Inputs/syntax-error.mlir -o %t.bad.o --header %t.bad.h 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not ls %t.bad.o %t.bad.h

// No file is lost, whatever it is called.
// RUN: cp %s %t.input.mlir && ln -f %t.input.mlir %t.link.mlir
// RUN: ln -sf %t.input.mlir %t.symbolic.mlir
// RUN: not attn-compile %t.input.mlir -o %t.input.mlir --header %t.h 2>&1 | FileCheck %s --check-prefix=ITSELF
// RUN: not attn-compile %t.input.mlir -o %t.link.mlir --header %t.h 2>&1 | FileCheck %s --check-prefix=ITSELF
// RUN: not attn-compile %t.symbolic.mlir -o %t.o --header %t.input.mlir 2>&1 | FileCheck %s --check-prefix=HEADER-ITSELF
// RUN: cmp %s %t.input.mlir
// RUN: rm -rf %t.folder && mkdir %t.folder
// RUN: not attn-compile %s -o %t.folder/x --header %t.folder/x 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not attn-compile %s -o %t.folder/x --header %t.folder/none/../x 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: cd %t.folder && not attn-compile %s -o x --header %t.folder/x 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: cd %t.folder && ln -s x y && ln -s %t.folder/x z
// RUN: not attn-compile %s -o %t.folder/x --header %t.folder/y 2>&1 | FileCheck %s --check-prefix=LINK
// RUN: not attn-compile %s -o %t.folder/z --header %t.folder/y 2>&1 | FileCheck %s --check-prefix=LINK
// RUN: not ls %t.folder/x
// RUN: ln -s w %t.folder/w && not attn-compile %s -o %t.folder/v --header %t.folder/w 2>&1 | FileCheck %s --check-prefix=LOOP
// RUN: attn-compile %s -o /dev/null --header /dev/null
// ITSELF: attn-compile: error: -o: expected another file than that of the input, got '{{.*}}.mlir'
// HEADER-ITSELF: attn-compile: error: --header: expected another file than that of the input, got '{{.*}}input.mlir'
// ONE: attn-compile: error: --header: expected another file than that of -o, got '{{.*}}x'
// LINK: attn-compile: error: --header: expected another file than that of -o, got '{{.*}}y'
// LOOP: attn-compile: error: {{.*}}w: cannot write:

// OUTPUT: attn-compile: error: -o: expected the name of the object file
// HEADER: attn-compile: error: --header: expected the name of the header
// INPUT: attn-compile: error: expected one input file, got 0; see --help
// OPEN: attn-compile.mlir.none: cannot open
// DIGIT: error: name: expected an identifier of C and C++ that does not start with '_', got '3d'
// KEYWORD: error: name: expected an identifier of C and C++ that does not start with '_', got 'while'
// OWN: error: name: expected one that is not taken, got 'attn_rt_alloc'
// LIBRARY: name: expected one that is not taken, got 'memset', which is a function of the C library
// CPU: error: cpu: expected a processor that LLVM knows for {{.*}}, got 'abacus'
// PIPELINE: error: pipeline 'gpu': its kernels run only in the process that compiles them
// EMULATOR: error: pipeline 'gpu-emulator': its kernels run only in the process that compiles them
// ENTRY: error: no function 'other' in the module
// FOLDER: folder.h: cannot write: No such file or directory
// SYNTAX: syntax-error.mlir:{{.*}}error:

func.func @attend(%query: tensor<1x2x?x8xf32>, %key: tensor<1x1x?x8xf32>,
                  %int: tensor<1x1x?x8xf32>, %0: i1, %a.b: f64, %error: index)
    -> tensor<1x2x?x8xf32> {
  %c2 = arith.constant 2 : index
  %length = tensor.dim %query, %c2 : tensor<1x2x?x8xf32>
  %init = tensor.empty(%length) : tensor<1x2x?x8xf32>
  %output = attn.attention
      ins(%query, %key, %int : tensor<1x2x?x8xf32>, tensor<1x1x?x8xf32>,
          tensor<1x1x?x8xf32>)
      outs(%init : tensor<1x2x?x8xf32>) mask causal
  return %output : tensor<1x2x?x8xf32>
}
