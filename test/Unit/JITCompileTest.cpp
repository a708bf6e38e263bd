//===- JITCompileTest.cpp - Text to kernels -------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/JITTesting.h"

using namespace attn;
using namespace attn::test;

namespace {

using testing::Test;

/// The first error among the diagnostics.
Diagnostic firstError(const Error &error) {
  for (const Diagnostic &diagnostic : error.diagnostics)
    if (diagnostic.severity == Diagnostic::Severity::error)
      return diagnostic;
  ADD_FAILURE() << "no error among the diagnostics: " << error.message;
  return {};
}

void expectError(const std::string &text, unsigned line, unsigned column,
                 const std::string &part) {
  Diagnostic diagnostic = firstError(compileError(text));
  EXPECT_EQ(diagnostic.file, "<string>");
  EXPECT_EQ(diagnostic.line, line) << diagnostic.message;
  if (column) // 0: anywhere.
    EXPECT_EQ(diagnostic.column, column) << diagnostic.message;
  EXPECT_NE(diagnostic.message.find(part), std::string::npos)
      << diagnostic.message;
}

TEST(JITCompile, SyntaxError) {
  expectError("func.func @f(%a: tensor<?xf32>) {\n  retur\n}", 2, 3,
              "custom op 'retur' is unknown");
}

TEST(JITCompile, MessageHasPlaceAndFileName) {
  CompileOptions options;
  options.fileName = "model.mlir";
  Error error = compileError("func.func @f(", options);
  EXPECT_EQ(error.message.find("cannot compile: model.mlir:1:"), 0u)
      << error.message;
  EXPECT_EQ(error.message.find('\n'), std::string::npos);
}

TEST(JITCompile, VerifierError) {
  expectError(R"(func.func @f(%a: tensor<4xf32>) -> tensor<5xf32> {
  return %a : tensor<4xf32>
})",
              2, 3, "type of return operand 0");
}

TEST(JITCompile, NotesFollowTheirError) {
  Error error = compileError(R"(
func.func @f() { return }
func.func @g() { return })");
  ASSERT_EQ(error.diagnostics.size(), 3u);
  EXPECT_EQ(error.diagnostics[1].severity, Diagnostic::Severity::note);
  EXPECT_EQ(error.diagnostics[1].line, 2u);
  EXPECT_EQ(error.diagnostics[2].line, 3u);
}

TEST(JITCompile, EmptyText) {
  EXPECT_NE(compileError("").message.find("no public function"),
            std::string::npos);
}

TEST(JITCompile, TextNeedsNoTerminator) {
  std::string text = matmulText("f32") + "garbage";
  EXPECT_TRUE(getEngine()
                  .compile(std::string_view(text).substr(0, text.size() - 7))
                  .ok());
}

TEST(JITCompile, UnknownEntry) {
  CompileOptions options;
  options.entry = "attention";
  EXPECT_NE(compileError(matmulText("f32"), options)
                .message.find("no function 'attention'"),
            std::string::npos);
}

TEST(JITCompile, UnknownPipeline) {
  CompileOptions options;
  options.pipeline = "fast";
  EXPECT_EQ(
      compileError(matmulText("f32"), options).message,
      std::string("unknown pipeline 'fast'; there is 'cpu', 'reference'") +
          (ATTN_GPU ? ", 'gpu', 'gpu-emulator', 'gpu-emulator-sm_90a'" : ""));
}

TEST(JITCompile, EntryAmongSeveral) {
  CompileOptions options;
  options.entry = "second";
  Expected<Kernel> kernel = getEngine().compile(R"(
func.func @first(%a: tensor<?xf32>) -> tensor<?xf32> {
  return %a : tensor<?xf32>
}
func.func @second(%b: tensor<?xf32>) -> tensor<?xf32> {
  %c = call @first(%b) : (tensor<?xf32>) -> tensor<?xf32>
  return %c : tensor<?xf32>
})",
                                                options);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  EXPECT_EQ(kernel->signature().entry, "second");
  EXPECT_EQ(kernel->signature().arguments[0].name, "b");
}

TEST(JITCompile, NameOfALibraryFunction) {
  Kernel kernel = compile(R"(
func.func @expf(%a: tensor<?xf32>) -> tensor<?xf32> {
  %b = math.exp %a : tensor<?xf32>
  return %b : tensor<?xf32>
})");
  Tensor<float> in({1}, 0.0f), out({1});
  ASSERT_TRUE(kernel.run({in.view()}, {out.view()}).ok());
  EXPECT_EQ(out.data[0], 1.0f);
}

//===----------------------------------------------------------------------===//
// What a kernel may be
//===----------------------------------------------------------------------===//

TEST(JITCompile, ArgumentTypes) {
  expectError("func.func @f(%a: tensor<4xi4>) { return }", 1, 14,
              "argument 0 has type 'tensor<4xi4>'");
  expectError("func.func @f(%a: index, %b: memref<4xf32>) { return }", 1, 25,
              "argument 1 has type 'memref<4xf32>'; kernels take ranked "
              "tensors and scalars");
  expectError("func.func @f(%a: tensor<*xf32>) { return }", 1, 14,
              "argument 0 has type 'tensor<*xf32>'");
  expectError("func.func @f(%a: tensor<1x1x1x1x1x1x1x1x1xf32>) { return }", 1,
              14, "rank 9; kernels take tensors up to rank 8");
}

TEST(JITCompile, ScalarResult) {
  expectError("func.func @f(%a: f32) -> f32 { return %a : f32 }", 1, 1,
              "kernels give tensors only, a scalar as one of rank 0");
}

TEST(JITCompile, ForeignOperations) {
  expectError("func.func @f() {\n  %m = memref.alloca() : memref<4xf32>\n}", 2,
              8, "Dialect `memref' not found");
  expectError(R"(func.func @f(%a: tensor<4xf32>) -> tensor<4xi32> {
  %m = tensor.bitcast %a : tensor<4xf32> to tensor<4xi32>
  return %m : tensor<4xi32>
})",
              2, 8, "'tensor.bitcast' op may not be used in a kernel");
  expectError(R"(func.func private @abort()
func.func @f() {
  call @abort() : () -> ()
  return
})",
              1, 1, "function 'abort' has no body");
  expectError(R"(func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
})",
              2, 8, "not recursively");
}

TEST(JITCompile, CallsThatDouble) {
  constexpr unsigned levels = 40;
  std::string text =
      "func.func private @f0(%a: tensor<4xf32>) -> tensor<4xf32> "
      "{ return %a : tensor<4xf32> }\n";
  for (unsigned i = 1; i <= levels; ++i) {
    std::string type = " : (tensor<4xf32>) -> tensor<4xf32>\n";
    std::string callee = "call @f" + std::to_string(i - 1);
    text += "func.func " + std::string(i < levels ? "private " : "") + "@f" +
            std::to_string(i) +
            "(%a: tensor<4xf32>) -> tensor<4xf32> {\n  %b = " + callee +
            "(%a)" + type + "  %c = " + callee + "(%b)" + type +
            "  return %c : tensor<4xf32>\n}\n";
  }
  Diagnostic diagnostic = firstError(compileError(text));
  EXPECT_NE(diagnostic.message.find("and may have up to 100000"),
            std::string::npos)
      << diagnostic.message;
}

TEST(JITCompile, NoReturn) {
  expectError(R"(func.func @f() -> tensor<4xf32> {
  cf.br ^loop
^loop:
  cf.br ^loop
})",
              1, 1, "function never returns");
}

TEST(JITCompile, OperationOutsideAFunction) {
  expectError(R"(%c = arith.constant 1 : i32
func.func @f() {
  return
})",
              1, 6, "'arith.constant' op may not be used in a kernel");
}

TEST(JITCompile, AttributesForPassesAreIgnored) {
  Kernel kernel = compile(R"(
module attributes {llvm.data_layout = "e-p:32:32"} {
  func.func @f(%a: tensor<4xf32> {bufferization.access = "none"})
      -> tensor<4xf32> attributes {passthrough = ["naked"]} {
    %b = tensor.empty() : tensor<4xf32>
    %c = linalg.add {__inplace_operands_attr__ = ["true", "true", "true"]}
        ins(%a, %a : tensor<4xf32>, tensor<4xf32>)
        outs(%a : tensor<4xf32>) -> tensor<4xf32>
    return %c : tensor<4xf32>
  }
})");
  Tensor<float> a({4}, 1.0f), out({4});
  ASSERT_TRUE(kernel.run({a.view()}, {out.view()}).ok());
  EXPECT_EQ(a.data, std::vector<float>(4, 1.0f));
  EXPECT_EQ(out.data, std::vector<float>(4, 2.0f));
}

TEST(JITCompile, WritableArguments) {
  Kernel kernel = compile(R"(
func.func @f(%x: f32 {bufferization.writable = true},
             %a: tensor<4xf32> {bufferization.writable = true})
    -> tensor<4xf32> {
  %b = linalg.fill ins(%x : f32) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
})");
  EXPECT_EQ(kernel.signature().results[0].updates, 1);
  Tensor<float> a({4}, 1.0f);
  ASSERT_TRUE(kernel.run({2.0, a.view()}, {a.view()}).ok());
  EXPECT_EQ(a.data, std::vector<float>(4, 2.0f));
  expectError(R"(func.func @f(%a: tensor<4xf32> {bufferization.writable = true})
    -> tensor<4xf32> {
  return %a : tensor<4xf32>
})",
              1, 14,
              "argument 0 is bufferization.writable: expected one "
              "result that destination-style operations compute from "
              "it, got 0");
}

TEST(JITCompile, HugeConstant) {
  expectError(R"(func.func @f() -> tensor<100000x100000xf32> {
  %c = arith.constant dense<0.0> : tensor<100000x100000xf32>
  return %c : tensor<100000x100000xf32>
})",
              2, 8, "constant has 40000000000 bytes");
}

std::string repeat(const std::string &text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i)
    result += text;
  return result;
}

TEST(JITCompile, AttributeThatTheParserCrashesOn) {
  expectError("func.func @f() attributes {a = array< index: 1>} {\n return\n}",
              1, 32, "array attributes of index are not supported");
}

TEST(JITCompile, ComparisonThatTheCanonicalizerCrashesOn) {
  Expected<Kernel> kernel = getEngine().compile(R"(
func.func @f(%i: i32) -> tensor<i1> {
  %x = arith.sitofp %i : i32 to f32
  %c = arith.constant 1.5 : f32
  %t = arith.cmpf true, %x, %c : f32
  %r = tensor.from_elements %t : tensor<i1>
  return %r : tensor<i1>
})");
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
}

TEST(JITCompile, NestingThatWouldOverflowTheStack) {
  expectError("func.func @f() {\n" + repeat("{", 100000), 2, 256,
              "nested more than 256 levels deep");
  for (const char *open : {"(", "[", "tuple<", "d0 + ", "-", "d0 mod "})
    expectError("#map = affine_map<(d0) -> (" + repeat(open, 100000), 1, 0,
                "nested more than 256 levels deep");
}

TEST(JITCompile, NestingInStringsAndComments) {
  compile("// " + repeat("(", 1000) +
          "\nfunc.func @f() attributes {a = \"\\\"" + repeat("(", 1000) +
          "\"} {\n  return\n}");
}

TEST(JITCompile, DeepNestingThatIsFine) {
  compile("func.func @f(%c: i1) {\n" + repeat("scf.if %c {\n", 200) +
          "cf.assert %c, \"inside\"\n" + repeat("}\n", 200) + "return\n}");
  std::string longMap =
      "affine_map<(d0) -> (d0" + repeat(" + d0 mod 2", 100) + ")>";
  compile("func.func @f(%n: index) -> tensor<1xindex> {\n  %m = affine.apply " +
          longMap +
          "(%n)\n  %t = tensor.from_elements %m : tensor<1xindex>\n"
          "  return %t : tensor<1xindex>\n}");
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

TEST(JITCompile, Signature) {
  Kernel kernel = compile(matmulText("f32"));
  const Signature &signature = kernel.signature();
  EXPECT_EQ(signature.entry, "matmul");
  ASSERT_EQ(signature.arguments.size(), 2u);
  EXPECT_EQ(signature.arguments[0].name, "lhs");
  EXPECT_EQ(signature.arguments[1].name, "rhs");
  EXPECT_TRUE(signature.arguments[0].isTensor);
  EXPECT_EQ(signature.arguments[0].type, ElementType::f32);
  EXPECT_EQ(
      signature.arguments[0].shape,
      (std::vector<std::int64_t>{Parameter::dynamic, Parameter::dynamic}));
  ASSERT_EQ(signature.resultSizes.size(), 1u);
  EXPECT_EQ(signature.resultSizes[0],
            (std::vector<SizeExpr>{{0, {{1, 0, 0}}}, {0, {{1, 1, 1}}}}));
  ASSERT_EQ(signature.constraints.size(), 1u);
  EXPECT_EQ(signature.constraints[0].lhs, (SizeExpr{0, {{1, 1, 0}}}));
  EXPECT_EQ(signature.constraints[0].rhs, (SizeExpr{0, {{1, 0, 1}}}));
}

TEST(JITCompile, ConstraintsAreSaidOnce) {
  Kernel kernel = compile(R"(
func.func @f(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %c = arith.addf %a, %b : tensor<?xf32>
  %d = arith.mulf %c, %b : tensor<?xf32>
  return %d : tensor<?xf32>
})");
  EXPECT_EQ(kernel.signature().constraints.size(), 1u);
}

TEST(JITCompile, ResultSizesAreSums) {
  Kernel kernel = compile(R"(
func.func @f(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %n: i64, %m: index)
    -> (tensor<?x4xf32>, tensor<?xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %rows = tensor.dim %a, %c0 : tensor<?x4xf32>
  %joined = tensor.concat dim(0) %a, %b
      : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %n_index = arith.index_cast %n : i64 to index
  %length = affine.apply affine_map<()[r, n, m] -> (3 * n - r + m + 5)>
      ()[%rows, %n_index, %m]
  %zeros = tensor.splat %zero[%length] : tensor<?xi32>
  return %joined, %zeros : tensor<?x4xf32>, tensor<?xi32>
})");
  const auto &sizes = kernel.signature().resultSizes;
  EXPECT_EQ(sizes[0],
            (std::vector<SizeExpr>{{0, {{1, 0, 0}, {1, 1, 0}}}, {4, {}}}));
  EXPECT_EQ(sizes[1],
            (std::vector<SizeExpr>{{5, {{-1, 0, 0}, {3, 2, -1}, {1, 3, -1}}}}));

  Tensor<float> a({2, 4}), b({3, 4});
  auto shapes = kernel.resultShapes(
      std::vector<Argument>{a.view(), b.view(), 7, std::int64_t(1)});
  ASSERT_TRUE(shapes.ok()) << shapes.error().message;
  EXPECT_EQ(*shapes, (std::vector<std::vector<std::int64_t>>{{5, 4}, {25}}));
  shapes = kernel.resultShapes(
      std::vector<Argument>{a.view(), b.view(), -7, std::int64_t(1)});
  ASSERT_FALSE(shapes.ok());
  EXPECT_EQ(shapes.error().message,
            "result 1 would have size -17 in dimension 0, which is -1 * "
            "dimension 0 of argument 0 'a' + 3 * argument 2 'n' + argument 3 "
            "'m' + 5");
}

TEST(JITCompile, ResultSizeFromData) {
  expectError(R"(func.func @f(%a: tensor<?xindex>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.extract %a[%c0] : tensor<?xindex>
  %empty = tensor.empty(%n) : tensor<?xf32>
  return %empty : tensor<?xf32>
})",
              4, 12,
              "size of dimension 0 of result 0 does not follow from the "
              "arguments");
}

TEST(JITCompile, ResultSizeNotLinear) {
  expectError(R"(func.func @f(%a: tensor<?x?xf32>) -> tensor<?xf32> {
  %flat = tensor.collapse_shape %a [[0, 1]]
      : tensor<?x?xf32> into tensor<?xf32>
  return %flat : tensor<?xf32>
})",
              2, 11, "size of dimension 0 of result 0");
}

TEST(JITCompile, Stats) {
  Expected<Engine> engine = Engine::create();
  ASSERT_TRUE(engine.ok());
  Expected<Kernel> kernel = engine->compile(matmulText("f32"));
  ASSERT_TRUE(kernel.ok());
  const CompileStats &stats = kernel->stats();
  EXPECT_EQ(stats.source, CompileStats::Source::compiler);
  double sum = 0;
  for (double stage : {stats.parseMs, stats.passesMs, stats.translateMs,
                       stats.optimizeMs, stats.codegenMs, stats.linkMs}) {
    EXPECT_GT(stage, 0);
    sum += stage;
  }
  EXPECT_GE(stats.totalMs, sum * 0.999);
}

} // namespace
