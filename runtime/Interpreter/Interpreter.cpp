//===- Interpreter.cpp - Evaluates IR text in float64 ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/Interpreter.h"
#include "runtime/Interpreter/FunctionInterpreter.h"

#include "lib/Analysis/KernelSignature.h"
#include "lib/Registration/Registration.h"
#include "runtime/Diagnostics/DiagnosticCollector.h"
#include "runtime/Reference/Values.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

using namespace attn;
using namespace attn::interpreter;

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

static Error makeError(std::size_t argument, const std::string &message) {
  return {"argument " + std::to_string(argument) + ": " + message, {}};
}

static Expected<Datum> convertScalar(std::size_t number, mlir::Type type,
                                     const Argument &argument) {
  if (argument.view())
    return makeError(number, "expected a scalar, got a tensor");
  const std::int64_t *integer = argument.integer();
  if (llvm::isa<mlir::FloatType>(type))
    return Datum(roundTo(type, integer ? double(*integer) : *argument.real())
                     .convertToDouble());
  if (!integer)
    return makeError(number, "expected an integer, got a floating-point number");
  llvm::APInt value(64, std::uint64_t(*integer));
  unsigned width = widthOf(type);
  // i1 is 0 or 1; the others are signed.
  if (!(width == 1 ? value.isIntN(1) : value.isSignedIntN(width)))
    return makeError(number, std::to_string(*integer) + " does not fit " +
                                 std::to_string(width) + " bits");
  return Datum(value.trunc(width));
}

static Expected<Datum> convertTensor(std::size_t number, mlir::Type elementType,
                                     const Parameter &parameter,
                                     const Argument &argument) {
  const TensorView *view = argument.view();
  if (!view)
    return makeError(number, "expected a tensor, got a scalar");
  if (view->type() != parameter.type)
    return makeError(number, "expected element type " +
                                 std::string(nameOf(parameter.type)) +
                                 ", got " + std::string(nameOf(view->type())));
  if (view->rank() != int(parameter.shape.size()))
    return makeError(number,
                     "expected rank " + std::to_string(parameter.shape.size()) +
                         ", got " + std::to_string(view->rank()));
  for (int dim = 0; dim < view->rank(); ++dim) {
    std::int64_t expected = parameter.shape[std::size_t(dim)];
    if (expected == Parameter::dynamic ? view->size(dim) < 0
                                       : view->size(dim) != expected)
      return makeError(
          number, "dimension " + std::to_string(dim) + " is " +
                      std::to_string(view->size(dim)) + ", expected " +
                      (expected == Parameter::dynamic
                           ? "0 or more"
                           : std::to_string(expected)));
  }
  auto tensor =
      std::make_shared<const Tensor>(Tensor{elementType, *view, nullptr});
  if (!tensor->isKnown())
    return makeError(number, "data is null");
  return Datum(std::move(tensor));
}

static Expected<std::vector<Datum>>
convertArguments(mlir::func::FuncOp function, const Signature &signature,
                 std::span<const Argument> arguments) {
  if (arguments.size() != signature.arguments.size())
    return Error{"expected " + std::to_string(signature.arguments.size()) +
                     " arguments, got " + std::to_string(arguments.size()),
                 {}};
  std::vector<Datum> result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    mlir::Type type = function.getArgumentTypes()[i];
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    Expected<Datum> datum =
        tensor ? convertTensor(i, tensor.getElementType(),
                               signature.arguments[i], arguments[i])
               : convertScalar(i, type, arguments[i]);
    if (!datum)
      return datum.error();
    result.push_back(std::move(*datum));
  }
  return result;
}

static Expected<ReferenceResult> convertResult(std::size_t number,
                                               const Parameter &parameter,
                                               const Datum &datum) {
  const Tensor &tensor = *std::get<std::shared_ptr<const Tensor>>(datum);
  std::string name = "result " + std::to_string(number);
  if (!tensor.isKnown())
    return Error{name + " was never written", {}};
  Expected<std::vector<double>> values =
      reference::toDoubles(name, tensor.view);
  if (!values)
    return values.error();
  auto sizes = tensor.view.sizes();
  return ReferenceResult{parameter.type, tensor.quantity,
                         {sizes.begin(), sizes.end()},
                         std::move(*values)};
}

//===----------------------------------------------------------------------===//
// From text to results
//===----------------------------------------------------------------------===//

Expected<std::vector<ReferenceResult>>
attn::interpret(std::string_view text, std::string_view fileName,
                std::string_view entry, std::span<const Argument> arguments) {
  static const std::string what = "reference interpreter";
  mlir::DialectRegistry registry;
  mlir::attn::registerKernelDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  DiagnosticCollector diagnostics(&context);

  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      text, mlir::ParserConfig(&context), fileName);
  if (!module)
    return diagnostics.takeError(what);
  auto function = module->lookupSymbol<mlir::func::FuncOp>(entry);
  if (!function || function.isExternal())
    return Error{what + ": no function '" + std::string(entry) +
                     "' with a body",
                 {}};
  mlir::FailureOr<Signature> signature =
      mlir::attn::computeKernelSignature(function);
  if (mlir::failed(signature))
    return diagnostics.takeError(what);

  Expected<std::vector<Datum>> inputs =
      convertArguments(function, *signature, arguments);
  if (!inputs)
    return inputs.error();
  mlir::FailureOr<std::vector<Datum>> outputs =
      evaluateFunction(function, *inputs);
  if (mlir::failed(outputs))
    return diagnostics.takeError(what);

  std::vector<ReferenceResult> results;
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    Expected<ReferenceResult> result =
        convertResult(i, signature->results[i], (*outputs)[i]);
    if (!result)
      return result.error();
    results.push_back(std::move(*result));
  }
  return results;
}
