//===- Gradient.cpp - The gradient of a function --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Gradient/OpGradients.h"
#include "lib/Gradient/Passes.h"
#include "lib/Layer/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::attn {
#define GEN_PASS_DEF_GRADIENT
#include "lib/Gradient/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static bool isOfFloats(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

namespace {

/// Makes a function the gradient of what it was.
class FunctionGradient {
public:
  FunctionGradient(func::FuncOp function, ArrayRef<unsigned> results,
                   ArrayRef<unsigned> wrt, bool saved)
      : function(function), block(function.front()),
        given(block.getTerminator()), b(given), results(results), wrt(wrt),
        saved(saved) {}

  LogicalResult run() {
    if (function.getBlocks().size() != 1)
      return function.emitError("expected a function of one block, whose "
                                "gradient is asked for");
    if (failed(choose()))
      return failure();
    findActive();
    SmallVector<Operation *> operations;
    for (Operation &op : block.without_terminator())
      operations.push_back(&op);
    addArguments();
    for (Operation *op : llvm::reverse(operations))
      if (failed(visit(op)))
        return failure();
    return finish();
  }

private:
  /// Checks the numbers of results and arguments, or finds them.
  LogicalResult choose() {
    auto check = [&](SmallVector<unsigned> &numbers, TypeRange types,
                     StringRef what) -> LogicalResult {
      if (numbers.empty())
        for (auto [number, type] : llvm::enumerate(types))
          if (isOfFloats(type))
            numbers.push_back(unsigned(number));
      for (unsigned number : numbers)
        if (number >= types.size() || !isOfFloats(types[number]))
          return function.emitError("expected the number of ")
                 << what << " of floats of '" << function.getName() << "', got "
                 << number;
      if (numbers.empty())
        return function.emitError("expected ")
               << what << " of floats, of which there is a gradient";
      return success();
    };
    return failure(
        failed(check(results, given->getOperandTypes(), "a result")) ||
        failed(check(wrt, block.getArgumentTypes(), "an argument")));
  }

  /// Marks what depends on an argument of `wrt`.
  void findActive() {
    for (unsigned number : wrt)
      active.insert(block.getArgument(number));
    for (Operation &op : block) {
      bool depends = llvm::any_of(op.getOperands(), [&](Value operand) {
        return active.contains(operand);
      });
      if (depends)
        for (Value result : op.getResults())
          if (isOfFloats(result.getType()))
            active.insert(result);
    }
  }

  /// What `@f` gave, if it is saved, and the gradients of it.
  void addArguments() {
    MLIRContext *context = function.getContext();
    auto add = [&](Type type, const Twine &name) -> Value {
      unsigned number = block.getNumArguments();
      Location loc =
          NameLoc::get(StringAttr::get(context, name), function.getLoc());
      (void)function.insertArgument(number, type, DictionaryAttr(), loc);
      return block.getArgument(number);
    };
    auto suffix = [&](size_t number, size_t count) {
      return count == 1 ? std::string() : "_" + std::to_string(number);
    };
    if (saved)
      for (auto [number, type] : llvm::enumerate(given->getOperandTypes()))
        savedResults.push_back(
            add(type, "result" + suffix(number, given->getNumOperands())));
    for (unsigned number : results) {
      Value value = given->getOperand(number);
      addTo(value,
            add(value.getType(), "gradient" + suffix(number, results.size())));
    }
  }

  LogicalResult visit(Operation *op) {
    SmallVector<Value> ofResults;
    bool depends = false, isActive = false;
    for (Value result : op->getResults()) {
      ofResults.push_back(gradients.lookup(result));
      depends |= bool(ofResults.back());
      isActive |= active.contains(result);
    }
    if (!depends || !isActive)
      return success();
    OpGradients of(std::move(ofResults), active);
    if (failed(emitGradients(b, op, of)))
      return failure();
    for (auto [operand, gradient] : of.getOfOperands())
      if (active.contains(operand))
        addTo(operand, gradient);
    return success();
  }

  /// Adds a part to the gradient of a value.
  void addTo(Value value, Value part) {
    Value &sum = gradients[value];
    if (!sum) {
      sum = part;
      return;
    }
    Location loc = part.getLoc();
    if (isa<FloatType>(part.getType())) {
      sum = arith::AddFOp::create(b, loc, sum, part);
      return;
    }
    Value out = tensor::EmptyOp::create(
        b, loc, tensor::getMixedSizes(b, loc, part),
        cast<ShapedType>(part.getType()).getElementType());
    sum = linalg::AddOp::create(b, loc, ValueRange{sum, part}, ValueRange(out))
              .getResult(0);
  }

  /// Returns the gradients, and drops what nothing needs.
  LogicalResult finish() {
    SmallVector<Value> wanted;
    for (unsigned number : wrt) {
      Value argument = block.getArgument(number);
      Value gradient = gradients.lookup(argument);
      wanted.push_back(
          gradient ? gradient : emitZerosLike(b, function.getLoc(), argument));
    }
    // Arguments that are given back stay what they are.
    for (auto [value, result] : llvm::zip(given->getOperands(), savedResults))
      if (value.getDefiningOp())
        value.replaceUsesWithIf(
            result, [&](OpOperand &use) { return use.getOwner() != given; });
    given->setOperands(wanted);
    SmallVector<Type> types(given->getOperandTypes());
    function.setFunctionType(FunctionType::get(
        function.getContext(), block.getArgumentTypes(), types));
    function.removeResAttrsAttr();
    if (failed(dropUnusedInputs()))
      return failure();
    // Ops in destination style on tensors have no effect.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>() &&
          (isOpTriviallyDead(&op) || isa<DestinationStyleOpInterface>(op)))
        op.erase();
    return success();
  }

  /// A derivative needs not all that its operation does, which then is not
  /// computed again.
  LogicalResult dropUnusedInputs() {
    RewritePatternSet patterns(function.getContext());
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    return applyPatternsGreedily(function, std::move(patterns));
  }

  func::FuncOp function;
  Block &block;
  Operation *given; ///< What is returned.
  OpBuilder b;
  SmallVector<unsigned> results, wrt;
  bool saved;
  DenseSet<Value> active;
  DenseMap<Value, Value> gradients;
  SmallVector<Value> savedResults;
};

struct Gradient : attn::impl::GradientBase<Gradient> {
  using GradientBase::GradientBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp function = find();
    if (!function)
      return signalPassFailure();
    std::string name = (function.getName() + "_gradient").str();
    if (SymbolTable::lookupSymbolIn(module, name)) {
      function.emitError("expected no '@") << name << "' beside it";
      return signalPassFailure();
    }
    auto gradient = cast<func::FuncOp>(function->clone());
    gradient.setName(name);
    module.insert(std::next(function->getIterator()), gradient);
    OpPassManager passes(func::FuncOp::getOperationName());
    passes.addPass(attn::createDecomposeLayer());
    passes.addPass(createConvertElementwiseToLinalgPass());
    if (failed(runPipeline(passes, gradient)) ||
        failed(FunctionGradient(gradient, results, wrt, saved).run())) {
      gradient.erase();
      signalPassFailure();
    }
  }

  func::FuncOp find() {
    func::FuncOp found;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() ||
          (of.empty() ? !function.isPublic() : function.getName() != of))
        continue;
      if (found) {
        function.emitError("expected one public function, or which to "
                           "differentiate");
        return {};
      }
      found = function;
    }
    if (!found)
      getOperation().emitError("expected a function ")
          << (of.empty() ? "that is public" : "'@" + of.getValue() + "'")
          << " to differentiate";
    return found;
  }
};

} // namespace
