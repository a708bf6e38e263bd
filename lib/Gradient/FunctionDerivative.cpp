//===- FunctionDerivative.cpp - A function that becomes another -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Gradient/FunctionDerivative.h"
#include "lib/Layer/Passes.h"

#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::isOfFloats(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

LogicalResult FunctionDerivative::choose() {
  if (function.getBlocks().size() != 1)
    return function.emitError("expected a function of one block, whose "
                              "derivative is asked for");
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
             << what << " of floats, of which there is a derivative";
    return success();
  };
  return failure(failed(check(results, given->getOperandTypes(), "a result")) ||
                 failed(check(wrt, block.getArgumentTypes(), "an argument")));
}

Value FunctionDerivative::addArgument(Type type, const Twine &name) {
  unsigned number = block.getNumArguments();
  Location loc = NameLoc::get(StringAttr::get(function.getContext(), name),
                              function.getLoc());
  (void)function.insertArgument(number, type, DictionaryAttr(), loc);
  return block.getArgument(number);
}

std::string FunctionDerivative::suffix(size_t number, size_t count) {
  return count == 1 ? std::string() : "_" + std::to_string(number);
}

void FunctionDerivative::addSaved() {
  if (!saved)
    return;
  for (auto [number, type] : llvm::enumerate(given->getOperandTypes()))
    savedResults.push_back(
        addArgument(type, "result" + suffix(number, given->getNumOperands())));
}

LogicalResult FunctionDerivative::finish(ArrayRef<Value> values) {
  // Arguments that are given back stay what they are.
  for (auto [value, result] : llvm::zip(given->getOperands(), savedResults))
    if (value.getDefiningOp())
      value.replaceUsesWithIf(
          result, [&](OpOperand &use) { return use.getOwner() != given; });
  given->setOperands(values);
  SmallVector<Type> types(given->getOperandTypes());
  function.setFunctionType(FunctionType::get(function.getContext(),
                                             block.getArgumentTypes(), types));
  function.removeResAttrsAttr();
  // A derivative needs not all that its operation does, which then is not
  // computed again.
  RewritePatternSet patterns(function.getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  if (failed(applyPatternsGreedily(function, std::move(patterns))))
    return failure();
  // Ops in destination style on tensors have no effect.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>() &&
        (isOpTriviallyDead(&op) || isa<DestinationStyleOpInterface>(op)))
      op.erase();
  return success();
}

static func::FuncOp findFunction(ModuleOp module, StringRef of) {
  func::FuncOp found;
  for (auto function : module.getOps<func::FuncOp>()) {
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
    module.emitError("expected a function ")
        << (of.empty() ? "that is public" : "'@" + of.str() + "'")
        << " to differentiate";
  return found;
}

LogicalResult attn::addDerivative(
    ModuleOp module, StringRef of, StringRef suffix,
    function_ref<LogicalResult(OpPassManager &, Operation *)> run,
    function_ref<LogicalResult(func::FuncOp)> derive) {
  func::FuncOp function = findFunction(module, of);
  if (!function)
    return failure();
  std::string name = (function.getName() + suffix).str();
  if (SymbolTable::lookupSymbolIn(module, name))
    return function.emitError("expected no '@") << name << "' beside it";
  auto derivative = cast<func::FuncOp>(function->clone());
  derivative.setName(name);
  module.insert(std::next(function->getIterator()), derivative);
  OpPassManager passes(func::FuncOp::getOperationName());
  passes.addPass(attn::createDecomposeLayer());
  passes.addPass(createConvertElementwiseToLinalgPass());
  if (succeeded(run(passes, derivative)) && succeeded(derive(derivative)))
    return success();
  derivative.erase();
  return failure();
}
