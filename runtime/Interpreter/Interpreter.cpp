//===- Interpreter.cpp - Evaluates IR text in float64 ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/Interpreter.h"
#include "runtime/Interpreter/FunctionInterpreter.h"

#include "lib/Registration/Registration.h"
#include "lib/Sharding/Annotations.h"
#include "runtime/Bridge/CompileThread.h"
#include "runtime/Bridge/CompileTrace.h"
#include "runtime/Bridge/ElementTypes.h"
#include "runtime/Reference/Values.h"

#include "mlir/IR/BuiltinOps.h"

using namespace attn;
using namespace attn::interpreter;

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

static Error makeError(std::size_t argument, const std::string &message) {
  return {"argument " + std::to_string(argument) + ": " + message, {}};
}

static Expected<Datum> convertScalar(std::size_t number, Type type,
                                     const Argument &argument) {
  if (argument.view())
    return makeError(number, "expected a scalar, got a tensor");
  const std::int64_t *integer = argument.integer();
  if (llvm::isa<mlir::FloatType>(type))
    return Datum(roundTo(type, integer ? double(*integer) : *argument.real())
                     .convertToDouble());
  if (!integer)
    return makeError(number,
                     "expected an integer, got a floating-point number");
  APInt value(64, std::uint64_t(*integer));
  unsigned width = widthOf(type);
  // i1 is 0 or 1; the others are signed.
  if (!(width == 1 ? value.isIntN(1) : value.isSignedIntN(width)))
    return makeError(number, std::to_string(*integer) + " does not fit " +
                                 std::to_string(width) + " bits");
  return Datum(value.trunc(width));
}

static Expected<Datum> convertTensor(std::size_t number,
                                     mlir::RankedTensorType type,
                                     const Argument &argument) {
  const TensorView *view = argument.view();
  if (!view)
    return makeError(number, "expected a tensor, got a scalar");
  ElementType elementType = *convertElementType(type.getElementType());
  if (view->type() != elementType)
    return makeError(number, "expected element type " +
                                 std::string(nameOf(elementType)) + ", got " +
                                 std::string(nameOf(view->type())));
  if (view->rank() != type.getRank())
    return makeError(number, "expected rank " + std::to_string(type.getRank()) +
                                 ", got " + std::to_string(view->rank()));
  for (auto [dim, expected] : llvm::enumerate(type.getShape())) {
    bool isDynamic = mlir::ShapedType::isDynamic(expected);
    std::int64_t size = view->size(int(dim));
    if (isDynamic ? size < 0 : size != expected)
      return makeError(
          number, "dimension " + std::to_string(dim) + " is " +
                      std::to_string(size) + ", expected " +
                      (isDynamic ? "0 or more" : std::to_string(expected)));
  }
  auto tensor = std::make_shared<const Tensor>(
      Tensor{type.getElementType(), *view, nullptr});
  if (!tensor->isKnown())
    return makeError(number, "data is null");
  return Datum(std::move(tensor));
}

/// Whether a caller can pass such a value.
static bool canPass(Type type) {
  if (auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type))
    return convertElementType(tensor.getElementType()) &&
           !tensor.getEncoding() && tensor.getRank() <= TensorView::maxRank;
  return convertElementType(type).has_value();
}

static Expected<std::vector<Datum>>
convertArguments(mlir::func::FuncOp function,
                 std::span<const Argument> arguments) {
  if (arguments.size() != function.getNumArguments())
    return Error{"expected " + std::to_string(function.getNumArguments()) +
                     " arguments, got " + std::to_string(arguments.size()),
                 {}};
  std::vector<Datum> result;
  for (auto [number, type] : llvm::enumerate(function.getArgumentTypes())) {
    if (!canPass(type))
      return makeError(number, "its type cannot be passed");
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    Expected<Datum> datum =
        tensor ? convertTensor(number, tensor, arguments[number])
               : convertScalar(number, type, arguments[number]);
    if (!datum)
      return datum.error();
    result.push_back(std::move(*datum));
  }
  return result;
}

static Expected<ReferenceResult> convertResult(std::size_t number, Type type,
                                               const Datum &datum) {
  std::string name = "result " + std::to_string(number);
  auto tensorType = llvm::dyn_cast<mlir::RankedTensorType>(type);
  std::optional<ElementType> elementType;
  if (tensorType)
    elementType = convertElementType(tensorType.getElementType());
  if (!elementType)
    return Error{name + ": its type cannot be returned", {}};
  const Tensor &tensor = *std::get<std::shared_ptr<const Tensor>>(datum);
  if (!tensor.isKnown())
    return Error{name + " was never written", {}};
  Expected<std::vector<double>> values =
      reference::toDoubles(name, tensor.view);
  if (!values)
    return values.error();
  ReferenceResult result;
  result.type = *elementType;
  result.quantity = tensor.quantity;
  result.shape.assign(tensor.view.sizes().begin(), tensor.view.sizes().end());
  result.values = std::move(*values);
  result.scales = tensor.scales;
  return result;
}

//===----------------------------------------------------------------------===//
// From text to results
//===----------------------------------------------------------------------===//

template <typename T>
using UseFunction = llvm::function_ref<FailureOr<Expected<T>>(
    mlir::func::FuncOp, ArrayRef<Datum>)>;

static const std::string what = "reference interpreter";

template <typename T>
static Expected<T> withParsed(std::string_view text, std::string_view entry,
                              std::span<const Argument> arguments,
                              UseFunction<T> use, CompileTrace &trace) {
  mlir::OwningOpRef<mlir::ModuleOp> module = trace.parse(text);
  if (!module)
    return trace.takeError(what);
  auto function = module->lookupSymbol<mlir::func::FuncOp>(entry);
  if (!function || function.isExternal())
    return Error{
        what + ": no function '" + std::string(entry) + "' with a body", {}};
  Expected<std::vector<Datum>> inputs = convertArguments(function, arguments);
  if (!inputs)
    return inputs.error();
  // It is about where to compute.
  mlir::attn::dropAnnotations(function);
  trace.enter("while evaluating this", function.getLoc());
  FailureOr<Expected<T>> result = use(function, *inputs);
  if (failed(result))
    return trace.takeError(what);
  return std::move(*result);
}

/// Parses the text and hands its function to `use`, with the arguments, for a
/// result or a failure that was diagnosed.
template <typename T>
static Expected<T>
withFunction(std::string_view text, std::string_view fileName,
             std::string_view entry, std::span<const Argument> arguments,
             UseFunction<T> use) {
  mlir::DialectRegistry registry;
  mlir::attn::registerKernelDialects(registry);
  return callOnThread<T>([&] {
    return compileGuarded<T>(
        what, std::string(fileName), registry, [&](CompileTrace &trace) {
          return withParsed<T>(text, entry, arguments, use, trace);
        });
  });
}

static Expected<std::vector<ReferenceResult>>
convertResults(mlir::func::FuncOp function, ArrayRef<Datum> data) {
  std::vector<ReferenceResult> results;
  for (std::size_t i = 0; i < data.size(); ++i) {
    Expected<ReferenceResult> result =
        convertResult(i, function.getResultTypes()[i], data[i]);
    if (!result)
      return result.error();
    results.push_back(std::move(*result));
  }
  return results;
}

Expected<std::vector<ReferenceResult>>
attn::interpret(std::string_view text, std::string_view fileName,
                std::string_view entry, std::span<const Argument> arguments,
                std::int64_t maxIterations) {
  using Results = Expected<std::vector<ReferenceResult>>;
  return withFunction<std::vector<ReferenceResult>>(
      text, fileName, entry, arguments,
      [&](mlir::func::FuncOp function,
          ArrayRef<Datum> inputs) -> FailureOr<Results> {
        FailureOr<std::vector<Datum>> outputs =
            evaluateFunction(function, inputs, maxIterations);
        if (failed(outputs))
          return failure();
        return convertResults(function, *outputs);
      });
}

Expected<double> attn::countDenseFlops(std::string_view text,
                                       std::string_view fileName,
                                       std::string_view entry,
                                       std::span<const Argument> arguments) {
  return withFunction<double>(
      text, fileName, entry, arguments,
      [](mlir::func::FuncOp function,
         ArrayRef<Datum> inputs) -> FailureOr<Expected<double>> {
        FailureOr<double> flops =
            interpreter::countDenseFlops(function, inputs);
        if (failed(flops))
          return failure();
        return Expected<double>(*flops);
      });
}
