//===- RegionInterpreterTest.cpp - Operations in float64 ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/RegionInterpreter.h"

#include "lib/Registration/Registration.h"
#include "runtime/Bridge/DiagnosticCollector.h"
#include "test/Execution/OperationCases.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace attn;
using namespace attn::interpreter;
using namespace attn::test;

namespace {

class RegionInterpreterTest : public testing::TestWithParam<const char *> {
protected:
  RegionInterpreterTest() : context(createRegistry()), diagnostics(&context) {}

  static mlir::DialectRegistry createRegistry() {
    mlir::DialectRegistry registry;
    mlir::attn::registerKernelDialects(registry);
    return registry;
  }

  mlir::func::FuncOp parse(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module) {
      ADD_FAILURE() << diagnostics.takeError(text).message;
      return nullptr;
    }
    return *module->getOps<mlir::func::FuncOp>().begin();
  }

  Datum evaluate(const OperationCase &operation) {
    std::string parameters;
    char name = 'a';
    for (const TypedNumber &argument : operation.arguments)
      parameters += (parameters.empty() ? "%" : ", %") +
                    std::string(1, name++) + ": " + argument.type;
    mlir::func::FuncOp function =
        parse("func.func @f(" + parameters + ") -> " + operation.result.type +
              " {\n" + operation.body +
              "\nreturn %r : " + operation.result.type + "\n}");
    if (!function)
      return Undefined();
    auto interpreter = RegionInterpreter::create(function.getBody());
    if (mlir::failed(interpreter)) {
      ADD_FAILURE() << diagnostics.takeError("create").message;
      return Undefined();
    }
    std::vector<Datum> arguments;
    for (auto [argument, type] :
         llvm::zip(operation.arguments, function.getArgumentTypes()))
      if (argument.isFloat())
        arguments.push_back(*argument.number);
      else
        arguments.push_back(llvm::APInt(
            widthOf(type), std::uint64_t(std::int64_t(*argument.number)), true,
            /*implicitTrunc=*/true));
    return interpreter->evaluate(arguments, {});
  }

  mlir::MLIRContext context;
  DiagnosticCollector diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_P(RegionInterpreterTest, GivesTheResultsWrittenDown) {
  std::vector<OperationCase> operations = getOperationCases(GetParam());
  EXPECT_FALSE(operations.empty());
  for (const OperationCase &operation : operations) {
    SCOPED_TRACE(describe(operation));
    Datum result = evaluate(operation);
    if (!operation.result.number) {
      EXPECT_TRUE(std::holds_alternative<Undefined>(result));
      continue;
    }
    double expected = *operation.result.number;
    if (!operation.result.isFloat()) {
      ASSERT_TRUE(std::holds_alternative<llvm::APInt>(result));
      llvm::APInt value = std::get<llvm::APInt>(result);
      EXPECT_EQ(value.getBitWidth() == 1 ? std::int64_t(value.getZExtValue())
                                         : value.getSExtValue(),
                std::int64_t(expected));
      continue;
    }
    ASSERT_TRUE(std::holds_alternative<double>(result));
    double value = std::get<double>(result);
    if (std::isfinite(expected))
      EXPECT_NEAR(value, expected,
                  (operation.result.type == "f64" ? 4e-16 : 1e-11) *
                      std::abs(expected));
    else if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(value)) << value;
    else
      EXPECT_EQ(value, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, RegionInterpreterTest,
                         testing::Values("integer", "division", "shift",
                                         "conversion", "float", "math", "logic",
                                         "poison", "load"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

TEST_F(RegionInterpreterTest, NamesWhatItCannotEvaluate) {
  mlir::func::FuncOp function = parse(R"(
    func.func @f(%a: vector<2xf32>) -> vector<2xf32> {
      %r = arith.addf %a, %a : vector<2xf32>
      return %r : vector<2xf32>
    })");
  EXPECT_TRUE(mlir::failed(RegionInterpreter::create(function.getBody())));
  Error error = diagnostics.takeError("test");
  EXPECT_EQ(error.message.substr(error.message.find("cannot")),
            "cannot evaluate 'arith.addf'");
  EXPECT_EQ(error.diagnostics[0].line, 3u);
}

/// Nearby, what is rounded moves like what it is rounded from.
TEST_F(RegionInterpreterTest, RoundsAsNearby) {
  mlir::func::FuncOp function = parse(R"(
    func.func @f(%a: f32, %b: f64) -> f16 {
      %x = arith.truncf %b : f64 to f32
      %y = arith.mulf %a, %x : f32
      %r = arith.truncf %y : f32 to f16
      return %r : f16
    })");
  auto region = RegionInterpreter::create(function.getBody());
  ASSERT_TRUE(mlir::succeeded(region));
  std::vector<Datum> of = {0.1}, moved = {0.1 + 1e-9};
  double start = std::get<double>(region->evaluate({3.0}, of));
  Roundings roundings = region->getRoundings();
  ASSERT_EQ(roundings.size(), 2u);
  EXPECT_EQ(roundings[0], double(float(0.1)) - 0.1);
  EXPECT_EQ(roundings[1], start - 3 * double(float(0.1)));
  EXPECT_EQ(std::get<double>(region->evaluate({3.0}, moved)), start);
  EXPECT_EQ(std::get<double>(region->evaluate({3.0}, of, roundings)), start);
  EXPECT_NEAR(std::get<double>(region->evaluate({3.0}, moved, roundings)),
              start + 3e-9, 1e-15);
  EXPECT_NEAR(std::get<double>(region->evaluate(
                  {3.0}, of, function.getArgument(0), 1e-9, roundings)),
              start + 1e-9 * double(float(0.1)), 1e-15);
}

/// A number that is too large becomes infinite, and what is infinite stays.
TEST_F(RegionInterpreterTest, RoundsInfinitiesAsNearby) {
  mlir::func::FuncOp function = parse(R"(
    func.func @f(%a: f64) -> f32 {
      %r = arith.truncf %a : f64 to f32
      return %r : f32
    })");
  auto region = RegionInterpreter::create(function.getBody());
  ASSERT_TRUE(mlir::succeeded(region));
  for (double number : {1e300, double(INFINITY)}) {
    region->evaluate({number}, {});
    Roundings roundings = region->getRoundings();
    EXPECT_EQ(std::get<double>(region->evaluate({number}, {}, roundings)),
              INFINITY);
  }
}

/// A score rounds at each position as it did there first.
TEST_F(RegionInterpreterTest, ScoresRoundAsFirst) {
  mlir::func::FuncOp function = parse(R"(
    func.func @f(%s: f32, %b: index, %h: index, %p: index, %j: index,
                 %slope: f64) -> f32 {
      %x = arith.truncf %slope : f64 to f32
      %r = arith.mulf %s, %x : f32
      return %r : f32
    })");
  auto roundings = std::make_shared<ScoreRoundings>();
  auto score = createScore(function.getBody(), {0.1}, roundings),
       moved = createScore(function.getBody(), {0.1 + 1e-9}, roundings);
  ASSERT_TRUE(mlir::succeeded(score) && mlir::succeeded(moved));
  double start = double(float(0.1));
  EXPECT_EQ((*score)(1, 0, 0, 0, 0), start);
  EXPECT_NEAR(*(*moved)(1, 0, 0, 0, 0), start + 1e-9, 1e-15);
  EXPECT_EQ((*moved)(1, 0, 0, 0, 1), start);
  EXPECT_EQ((*score)(1, 0, 0, 0, 0), start);
}

TEST_F(RegionInterpreterTest, ForgetsTheLastPosition) {
  mlir::func::FuncOp function = parse(R"(
    func.func @f(%a: i8, %b: i8) -> i8 {
      %r = arith.divsi %a, %b : i8
      return %r : i8
    })");
  auto region = RegionInterpreter::create(function.getBody());
  ASSERT_TRUE(mlir::succeeded(region));
  auto i8 = [](std::uint64_t value) { return Datum(llvm::APInt(8, value)); };
  EXPECT_EQ(std::get<llvm::APInt>(region->evaluate({i8(6)}, {i8(2)})), 3);
  EXPECT_TRUE(
      std::holds_alternative<Undefined>(region->evaluate({i8(6)}, {i8(0)})));
  EXPECT_EQ(std::get<llvm::APInt>(region->evaluate({i8(8)}, {i8(2)})), 4);
}

} // namespace
