//===- Elementwise.cpp - Operators of single elements ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors broadcast as in NumPy. Floats of 16 bits are computed in f32 and
// rounded once.
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNX/Elementwise.h"
#include "runtime/ONNX/Integers.h"
#include "runtime/ONNX/Nodes.h"
#include "runtime/ONNX/Tensors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/StringMap.h"

#include <numbers>

using namespace attn;
using namespace attn::onnx;
using mlir::arith::CmpFPredicate;
using mlir::arith::CmpIPredicate;

namespace {

/// Code of one element.
struct Element {
  OpBuilder &b;
  Location loc;

  template <typename Op, typename... Args> Value create(Args &&...args) {
    return Op::create(b, loc, std::forward<Args>(args)...).getResult();
  }
  Value number(Type type, double value) {
    return create<mlir::arith::ConstantOp>(b.getFloatAttr(type, value));
  }
  Value compare(CmpFPredicate floats, CmpIPredicate integers, Value x,
                Value y) {
    if (llvm::isa<mlir::FloatType>(x.getType()))
      return create<mlir::arith::CmpFOp>(floats, x, y);
    return create<mlir::arith::CmpIOp>(integers, x, y);
  }
  template <typename Float, typename Integer> Value either(Value x, Value y) {
    if (llvm::isa<mlir::FloatType>(x.getType()))
      return create<Float>(x, y);
    return create<Integer>(x, y);
  }
};

/// What an operator takes.
enum class Domain { floats, numbers, booleans, any };

struct Function {
  unsigned arity;
  Domain domain;
  /// Whether it gives booleans, of whatever it takes.
  bool isPredicate;
  Value (*compute)(Element, ValueRange);
};

using namespace mlir::arith;
using namespace mlir::math;

Value computeGelu(Element e, Value x) {
  Type type = x.getType();
  Value scaled = e.create<MulFOp>(x, e.number(type, std::numbers::sqrt2 / 2));
  Value erf = e.create<ErfOp>(scaled);
  Value half = e.create<MulFOp>(x, e.number(type, 0.5));
  return e.create<MulFOp>(half, e.create<AddFOp>(erf, e.number(type, 1)));
}

Value computeTanhGelu(Element e, Value x) {
  Type type = x.getType();
  Value square = e.create<MulFOp>(x, x);
  Value cube = e.create<MulFOp>(square, x);
  Value inner =
      e.create<AddFOp>(x, e.create<MulFOp>(cube, e.number(type, 0.044715)));
  Value scaled = e.create<MulFOp>(
      inner, e.number(type, std::numbers::sqrt2 * std::numbers::inv_sqrtpi));
  Value half = e.create<MulFOp>(x, e.number(type, 0.5));
  return e.create<MulFOp>(
      half, e.create<AddFOp>(e.create<TanhOp>(scaled), e.number(type, 1)));
}

Value computeSigmoid(Element e, Value x) {
  Type type = x.getType();
  Value power = e.create<ExpOp>(e.create<NegFOp>(x));
  return e.create<DivFOp>(e.number(type, 1),
                          e.create<AddFOp>(e.number(type, 1), power));
}

/// By the names of operators.
const llvm::StringMap<Function> &getFunctions() {
  static const llvm::StringMap<Function> functions = {
      {"Add",
       {2, Domain::numbers, false,
        [](Element e, ValueRange x) {
          return e.either<AddFOp, AddIOp>(x[0], x[1]);
        }}},
      {"Sub",
       {2, Domain::numbers, false,
        [](Element e, ValueRange x) {
          return e.either<SubFOp, SubIOp>(x[0], x[1]);
        }}},
      {"Mul",
       {2, Domain::numbers, false,
        [](Element e, ValueRange x) {
          return e.either<MulFOp, MulIOp>(x[0], x[1]);
        }}},
      {"Div",
       {2, Domain::numbers, false,
        [](Element e, ValueRange x) {
          return e.either<DivFOp, DivSIOp>(x[0], x[1]);
        }}},
      {"Pow",
       {2, Domain::floats, false,
        [](Element e, ValueRange x) { return e.create<PowFOp>(x[0], x[1]); }}},
      {"Equal",
       {2, Domain::numbers, true,
        [](Element e, ValueRange x) {
          return e.compare(CmpFPredicate::OEQ, CmpIPredicate::eq, x[0], x[1]);
        }}},
      {"Less",
       {2, Domain::numbers, true,
        [](Element e, ValueRange x) {
          return e.compare(CmpFPredicate::OLT, CmpIPredicate::slt, x[0], x[1]);
        }}},
      {"LessOrEqual",
       {2, Domain::numbers, true,
        [](Element e, ValueRange x) {
          return e.compare(CmpFPredicate::OLE, CmpIPredicate::sle, x[0], x[1]);
        }}},
      {"Greater",
       {2, Domain::numbers, true,
        [](Element e, ValueRange x) {
          return e.compare(CmpFPredicate::OGT, CmpIPredicate::sgt, x[0], x[1]);
        }}},
      {"GreaterOrEqual",
       {2, Domain::numbers, true,
        [](Element e, ValueRange x) {
          return e.compare(CmpFPredicate::OGE, CmpIPredicate::sge, x[0], x[1]);
        }}},
      {"And",
       {2, Domain::booleans, false,
        [](Element e, ValueRange x) { return e.create<AndIOp>(x[0], x[1]); }}},
      {"Or",
       {2, Domain::booleans, false,
        [](Element e, ValueRange x) { return e.create<OrIOp>(x[0], x[1]); }}},
      {"Xor",
       {2, Domain::booleans, false,
        [](Element e, ValueRange x) { return e.create<XOrIOp>(x[0], x[1]); }}},
      {"Max",
       {2, Domain::numbers, false,
        [](Element e, ValueRange x) {
          return e.either<MaximumFOp, MaxSIOp>(x[0], x[1]);
        }}},
      {"Min",
       {2, Domain::numbers, false,
        [](Element e, ValueRange x) {
          return e.either<MinimumFOp, MinSIOp>(x[0], x[1]);
        }}},
      {"Not",
       {1, Domain::booleans, false,
        [](Element e, ValueRange x) {
          Value one = e.create<ConstantOp>(e.b.getBoolAttr(true));
          return e.create<XOrIOp>(x[0], one);
        }}},
      {"Neg",
       {1, Domain::floats, false,
        [](Element e, ValueRange x) { return e.create<NegFOp>(x[0]); }}},
      {"Abs",
       {1, Domain::floats, false,
        [](Element e, ValueRange x) { return e.create<AbsFOp>(x[0]); }}},
      {"Exp",
       {1, Domain::floats, false,
        [](Element e, ValueRange x) { return e.create<ExpOp>(x[0]); }}},
      {"Log",
       {1, Domain::floats, false,
        [](Element e, ValueRange x) { return e.create<LogOp>(x[0]); }}},
      {"Sqrt",
       {1, Domain::floats, false,
        [](Element e, ValueRange x) { return e.create<SqrtOp>(x[0]); }}},
      {"Reciprocal",
       {1, Domain::floats, false,
        [](Element e, ValueRange x) {
          return e.create<DivFOp>(e.number(x[0].getType(), 1), x[0]);
        }}},
      {"Sin",
       {1, Domain::floats, false,
        [](Element e, ValueRange x) { return e.create<SinOp>(x[0]); }}},
      {"Cos",
       {1, Domain::floats, false,
        [](Element e, ValueRange x) { return e.create<CosOp>(x[0]); }}},
      {"Tanh",
       {1, Domain::floats, false,
        [](Element e, ValueRange x) { return e.create<TanhOp>(x[0]); }}},
      {"Erf",
       {1, Domain::floats, false,
        [](Element e, ValueRange x) { return e.create<ErfOp>(x[0]); }}},
      {"Sigmoid",
       {1, Domain::floats, false,
        [](Element e, ValueRange x) { return computeSigmoid(e, x[0]); }}},
      {"Relu",
       {1, Domain::floats, false,
        [](Element e, ValueRange x) {
          return e.create<MaximumFOp>(x[0], e.number(x[0].getType(), 0));
        }}},
      {"Where",
       {3, Domain::any, false,
        [](Element e, ValueRange x) {
          return e.create<SelectOp>(x[0], x[1], x[2]);
        }}},
  };
  return functions;
}

} // namespace

std::optional<Pointwise> attn::onnx::findPointwise(StringRef name) {
  auto found = getFunctions().find(name);
  if (found == getFunctions().end())
    return std::nullopt;
  const Function &function = found->second;
  bool isAny = function.domain == Domain::any;
  return Pointwise{function.arity, function.isPredicate,
                   /*takesFloats=*/function.domain != Domain::booleans,
                   /*takesIntegers=*/isAny ||
                       function.domain == Domain::numbers,
                   /*takesBooleans=*/isAny ||
                       function.domain == Domain::booleans || name == "Equal"};
}

Value attn::onnx::computePointwise(OpBuilder &b, Location loc, StringRef name,
                                   ValueRange operands) {
  return getFunctions().find(name)->second.compute(Element{b, loc}, operands);
}

/// Fails unless all inputs are of one type that the operator takes.
static FailureOr<Type> checkTypes(const NodeImport &at,
                                  const Function &function) {
  bool isWhere = at.node.opType == "Where";
  unsigned first = isWhere ? 1 : 0;
  if (isWhere && !typeOf(at.input(0)).getElementType().isInteger(1))
    return at.error() << "input 0: expected booleans, got "
                      << formatType(typeOf(at.input(0)));
  Type element = typeOf(at.input(first)).getElementType();
  bool isFloat = llvm::isa<mlir::FloatType>(element);
  bool fits = function.domain == Domain::any ||
              (function.domain == Domain::floats && isFloat) ||
              (function.domain == Domain::booleans && element.isInteger(1)) ||
              (function.domain == Domain::numbers &&
               (isFloat || !element.isInteger(1)));
  // Booleans are equal or not, too.
  if (at.node.opType == "Equal")
    fits = true;
  for (unsigned i = first; i < at.numInputs(); ++i)
    if (Type other = typeOf(at.input(i)).getElementType();
        !fits || other != element)
      return at.error() << "input " << i << ": expected elements of "
                        << (fits ? "one type that the operator has"
                                 : "a type that the operator is imported for")
                        << ", got " << formatType(typeOf(at.input(i)));
  return element;
}

/// Sizes that graphs compute with are followed.
static Value foldIntegers(NodeImport &at, ValueRange inputs) {
  StringRef name = at.node.opType;
  if (name != "Add" && name != "Sub" && name != "Mul" && name != "Div")
    return {};
  std::optional<Sizes> lhs = findIntegers(inputs[0]);
  std::optional<Sizes> rhs = findIntegers(inputs[1]);
  if (!lhs || !rhs || lhs->empty() || rhs->empty() ||
      (lhs->size() != rhs->size() && lhs->size() != 1 && rhs->size() != 1))
    return {};
  Builder &b = at.b;
  Sizes result;
  for (std::size_t i = 0; i < std::max(lhs->size(), rhs->size()); ++i) {
    Value x = toIndex(b, (*lhs)[lhs->size() == 1 ? 0 : i]);
    Value y = toIndex(b, (*rhs)[rhs->size() == 1 ? 0 : i]);
    if (name == "Div" && mlir::getConstantIntValue(y).value_or(0) <= 0)
      return {};
    Value folded = name == "Add"   ? b.createOrFold<AddIOp>(x, y)
                   : name == "Sub" ? b.createOrFold<SubIOp>(x, y)
                   : name == "Mul" ? b.createOrFold<MulIOp>(x, y)
                                   : b.createOrFold<DivSIOp>(x, y);
    result.push_back(mlir::getAsOpFoldResult(folded));
  }
  RankedTensorType type =
      typeOf(inputs[0]).getRank() > typeOf(inputs[1]).getRank() ||
              (lhs->size() > rhs->size())
          ? typeOf(inputs[0])
          : typeOf(inputs[1]);
  return createIntegers(b, result, type);
}

static FailureOr<Value> createPointwise(NodeImport &at, ValueRange inputs,
                                        const Function &function,
                                        Type element) {
  Builder &b = at.b;
  if (inputs.size() == 2)
    if (Value folded = foldIntegers(at, inputs))
      return folded;
  SmallVector<Value> tensors(inputs);
  std::optional<Sizes> sizes = broadcastSizes(b, tensors);
  if (!sizes) {
    mlir::InFlightDiagnostic error = at.error()
                                     << "expected inputs that broadcast, got ";
    llvm::interleave(
        tensors, [&](Value v) { error << formatType(typeOf(v)); },
        [&] { error << " and "; });
    return error;
  }
  auto narrow = llvm::dyn_cast<mlir::FloatType>(element);
  Type result = function.isPredicate ? Type(b.getI1Type()) : element;
  return computeElements(
      b, tensors, *sizes, result,
      [&](OpBuilder &body, Location loc, ValueRange elements) {
        SmallVector<Value> wide(elements);
        if (narrow)
          for (Value &value : wide)
            if (value.getType() == narrow)
              value =
                  convertFloat(body, loc, value, getAccumulationType(narrow));
        Value value = function.compute(Element{body, loc}, wide);
        return llvm::isa<mlir::FloatType>(value.getType())
                   ? convertFloat(body, loc, value, result)
                   : value;
      });
}

static LogicalResult importPointwise(NodeImport &at) {
  const Function &function = getFunctions().find(at.node.opType)->second;
  FailureOr<Type> element = checkTypes(at, function);
  if (failed(element))
    return failure();
  SmallVector<Value> inputs;
  for (unsigned i = 0; i < at.numInputs(); ++i)
    inputs.push_back(at.input(i));
  // Max and Min take any number.
  FailureOr<Value> result = inputs[0];
  if (inputs.size() <= function.arity) {
    if (inputs.size() == function.arity)
      result = createPointwise(at, inputs, function, *element);
  } else {
    for (Value next : llvm::drop_begin(inputs))
      if (mlir::succeeded(result))
        result = createPointwise(at, {*result, next}, function, *element);
  }
  if (failed(result))
    return failure();
  at.setOutput(0, *result);
  return success();
}

//===----------------------------------------------------------------------===//
// Those with attributes
//===----------------------------------------------------------------------===//

static LogicalResult importGelu(NodeImport &at) {
  FailureOr<std::string> approximation = at.text("approximate", "none");
  FailureOr<mlir::FloatType> type = at.floats(0, "X");
  if (failed(approximation) || failed(type))
    return failure();
  if (*approximation != "none" && *approximation != "tanh")
    return at.error() << "attribute 'approximate': expected 'none' or 'tanh', "
                         "got "
                      << quote(*approximation);
  bool isTanh = *approximation == "tanh";
  Function function = {
      1, Domain::floats, false,
      isTanh ? [](Element e, ValueRange x) { return computeTanhGelu(e, x[0]); }
             : [](Element e, ValueRange x) { return computeGelu(e, x[0]); }};
  FailureOr<Value> result = createPointwise(at, at.input(0), function, *type);
  at.setOutput(0, *result);
  return success();
}

Value attn::onnx::convertElement(OpBuilder &b, Location loc, Value value,
                                 Type to) {
  Element e = {b, loc};
  Type from = value.getType();
  auto fromFloat = llvm::dyn_cast<mlir::FloatType>(from);
  auto toFloat = llvm::dyn_cast<mlir::FloatType>(to);
  if (from == to)
    return value;
  if (fromFloat && toFloat)
    return convertFloat(e.b, e.loc, value, to);
  if (to.isInteger(1)) {
    if (fromFloat)
      return e.create<CmpFOp>(CmpFPredicate::UNE, value, e.number(from, 0));
    return e.create<CmpIOp>(CmpIPredicate::ne, value,
                            e.create<ConstantOp>(e.b.getZeroAttr(from)));
  }
  if (fromFloat)
    return e.create<FPToSIOp>(to, value);
  if (toFloat)
    return from.isInteger(1) ? e.create<UIToFPOp>(to, value)
                             : e.create<SIToFPOp>(to, value);
  if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
    return e.create<TruncIOp>(to, value);
  return from.isInteger(1) ? e.create<ExtUIOp>(to, value)
                           : e.create<ExtSIOp>(to, value);
}

static Value convertTensor(Builder &b, Value tensor, Type type) {
  if (typeOf(tensor).getElementType() == type)
    return tensor;
  if (auto integers = findIntegers(tensor);
      integers && type.isInteger() && !type.isInteger(1))
    return createIntegers(
        b, *integers, RankedTensorType::get(typeOf(tensor).getShape(), type));
  return computeElements(b, tensor, sizesOf(b, tensor), type,
                         [&](OpBuilder &body, Location loc, ValueRange x) {
                           return convertElement(body, loc, x[0], type);
                         });
}

static LogicalResult importCast(NodeImport &at) {
  FailureOr<std::optional<std::int64_t>> to = at.integer("to");
  // Of types that are not imported.
  at.ignore("saturate");
  at.ignore("round_mode");
  if (failed(to))
    return failure();
  Type type = convertElementType(at.b.getContext(), DataType(to->value_or(0)));
  if (!type)
    return at.error() << "attribute 'to': elements of "
                      << formatDataType(DataType(to->value_or(0)))
                      << " are not imported";
  at.setOutput(0, convertTensor(at.b, at.input(0), type));
  return success();
}

static LogicalResult importCastLike(NodeImport &at) {
  at.ignore("saturate");
  at.ignore("round_mode");
  at.setOutput(0, convertTensor(at.b, at.input(0),
                                typeOf(at.input(1)).getElementType()));
  return success();
}

static LogicalResult importIdentity(NodeImport &at) {
  at.setOutput(0, at.input(0));
  return success();
}

static LogicalResult importClip(NodeImport &at) {
  FailureOr<mlir::FloatType> type = at.floats(0, "input");
  if (failed(type))
    return failure();
  Value value = at.input(0);
  for (auto [index, name] : {std::pair(1U, "Max"), std::pair(2U, "Min")}) {
    Value bound = at.input(index);
    if (!bound)
      continue;
    if (typeOf(bound).getElementType() != *type || typeOf(bound).getRank() != 0)
      return at.error() << "input " << index << ": expected a scalar of "
                        << *type << ", got " << formatType(typeOf(bound));
    FailureOr<Value> next = createPointwise(
        at, {value, bound}, getFunctions().find(name)->second, *type);
    if (failed(next))
      return failure();
    value = *next;
  }
  at.setOutput(0, value);
  return success();
}

ArrayRef<Operator> attn::onnx::getElementwiseOperators() {
  static const SmallVector<Operator> operators = [] {
    SmallVector<Operator> result = {
        {"", "Gelu", 20, newestOpset, 1, 1, 1, importGelu},
        {"", "Cast", 13, newestOpset, 1, 1, 1, importCast},
        {"", "CastLike", 15, newestOpset, 2, 2, 1, importCastLike},
        {"", "Identity", 13, newestOpset, 1, 1, 1, importIdentity},
        {"", "Clip", 13, newestOpset, 1, 3, 1, importClip}};
    for (const auto &entry : getFunctions()) {
      bool isVariadic = entry.getKey() == "Max" || entry.getKey() == "Min";
      // Those of booleans are what they were in the beginning.
      std::int64_t first = entry.getKey() == "Not"                       ? 1
                           : entry.getValue().domain == Domain::booleans ? 7
                                                                         : 13;
      unsigned arity = entry.getValue().arity;
      result.push_back({"", entry.getKey(), first, newestOpset,
                        isVariadic ? 1 : arity, isVariadic ? 64 : arity, 1,
                        importPointwise});
    }
    return result;
  }();
  return operators;
}
