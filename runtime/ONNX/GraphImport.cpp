//===- GraphImport.cpp - A model as a module ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNX/GraphImport.h"
#include "runtime/ONNX/Constants.h"
#include "runtime/ONNX/NodeImport.h"
#include "runtime/ONNX/Nodes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace attn;
using namespace attn::onnx;

/// The name of a function: letters, digits and underscores.
static std::string toIdentifier(const std::string &name) {
  std::string result;
  for (char c : name.substr(0, 60))
    result += llvm::isAlnum(c) ? c : '_';
  if (result.empty() || llvm::isDigit(result.front()))
    result = "main" + result;
  return result;
}

/// Operators that are called attention, and are none of it.
static bool isRecurrence(const Node &node) {
  bool isKnownDomain = node.domain.empty() || node.domain == "com.microsoft" ||
                       node.domain == "ai.onnx.preview";
  return isKnownDomain && node.opType == "LinearAttention";
}

const Operator *attn::onnx::findOperator(StringRef domain, StringRef name) {
  for (ArrayRef<Operator> operators :
       {getAttentionOperators(), getContribOperators(),
        getFlexAttentionOperators(), getRowOperators(), getProductOperators(),
        getElementwiseOperators(), getShapeOperators()})
    for (const Operator &each : operators)
      if (each.domain == domain && each.name == name)
        return &each;
  return nullptr;
}

namespace {

class GraphImport {
public:
  GraphImport(mlir::MLIRContext *context, const Model &model,
              const std::string &fileName)
      : context(context), model(model), graph(model.graph),
        file(mlir::FileLineColLoc::get(context, fileName, 0, 0)),
        module(mlir::ModuleOp::create(file)), b(file, module->getBodyRegion()) {
  }

  mlir::OwningOpRef<mlir::ModuleOp> run(const std::string &nodeName) {
    if (failed(indexGraph()))
      return {};
    SmallVector<const Node *> nodes;
    std::vector<ValueInfo> inputs = graph.inputs, outputs = graph.outputs;
    std::string name = toIdentifier(graph.name);
    if (nodeName.empty()) {
      for (const Node &node : graph.nodes)
        nodes.push_back(&node);
    } else {
      const Node *node = findNode(nodeName);
      if (!node)
        return {};
      nodes.push_back(node);
      inputs = valuesOf(node->inputs);
      outputs = valuesOf(node->outputs);
      name = toIdentifier(nodeName);
    }
    if (failed(checkOperators(nodes)) || failed(createFunction(name, inputs)))
      return {};
    for (const Node *node : nodes)
      if (failed(importNode(*node)))
        return {};
    if (failed(createReturn(outputs)))
      return {};
    cleanUp();
    if (failed(mlir::verify(*module)))
      return {};
    return std::move(module);
  }

private:
  Location locate(const std::string &name) {
    return name.empty() ? Location(file)
                        : mlir::NameLoc::get(b.getStringAttr(name), file);
  }
  mlir::InFlightDiagnostic error() { return mlir::emitError(file); }

  /// Finds what values are declared and initialized.
  LogicalResult indexGraph() {
    for (const Tensor &tensor : graph.initializers)
      if (!initializers.try_emplace(tensor.name, &tensor).second)
        return error() << "initializer " << quote(tensor.name)
                       << " is given twice";
    for (const auto *list : {&graph.values, &graph.inputs, &graph.outputs})
      for (const ValueInfo &value : *list) {
        auto [entry, isNew] = declared.try_emplace(value.name, &value);
        if (!isNew && !entry->second->type)
          entry->second = &value;
      }
    return success();
  }

  const Node *findNode(const std::string &name) {
    const Node *found = nullptr;
    for (const Node &node : graph.nodes) {
      if (node.name != name)
        continue;
      if (found) {
        error() << "the graph has several nodes " << quote(name);
        return nullptr;
      }
      found = &node;
    }
    if (!found)
      error() << "the graph has no node " << quote(name);
    return found;
  }

  /// What the graph says of these values, each once.
  std::vector<ValueInfo> valuesOf(const std::vector<std::string> &names) {
    std::vector<ValueInfo> result;
    llvm::StringSet<> seen;
    for (const std::string &name : names) {
      if (name.empty() || !seen.insert(name).second)
        continue;
      auto found = declared.find(name);
      result.push_back(found == declared.end() ? ValueInfo{name, {}}
                                               : *found->second);
    }
    return result;
  }

  /// Names all that is not known, not only what comes first.
  LogicalResult checkOperators(ArrayRef<const Node *> nodes) {
    std::optional<mlir::InFlightDiagnostic> unknown;
    llvm::StringSet<> seen;
    for (const Node *node : nodes) {
      if (findOperator(node->domain, node->opType) ||
          !seen.insert(node->domain + ":" + node->opType).second)
        continue;
      std::string message =
          "node " + describe(*node) +
          (isRecurrence(*node)
               ? " is a recurrence without a softmax, which is not imported"
               : " is not imported");
      constexpr unsigned most = 10;
      if (!unknown)
        unknown.emplace(error() << message);
      else if (seen.size() <= most)
        unknown->attachNote(file) << message;
    }
    return failure(unknown.has_value());
  }

  LogicalResult createFunction(StringRef name, ArrayRef<ValueInfo> inputs) {
    SmallVector<Type> types;
    SmallVector<const ValueInfo *> arguments;
    for (const ValueInfo &input : inputs) {
      // With an initializer, it has a default, which is used.
      if (initializers.contains(input.name))
        continue;
      FailureOr<RankedTensorType> type = convertType(input);
      if (failed(type))
        return failure();
      types.push_back(*type);
      arguments.push_back(&input);
    }
    function = mlir::func::FuncOp::create(
        b, name, b.getFunctionType(types, mlir::TypeRange()));
    mlir::Block &block = *function.addEntryBlock();
    for (auto [argument, input] :
         llvm::zip_equal(block.getArguments(), arguments)) {
      argument.setLoc(locate(input->name));
      if (!values.try_emplace(input->name, argument).second)
        return error() << "input " << quote(input->name) << " is given twice";
    }
    b.setInsertionPointToEnd(&block);
    return success();
  }

  FailureOr<RankedTensorType> convertType(const ValueInfo &value) {
    if (!value.type)
      return error() << "value " << quote(value.name)
                     << ": expected a type of a tensor with a shape; ONNX's "
                        "shape inference may find it";
    Type element = convertElementType(context, value.type->elementType);
    if (!element)
      return error() << "value " << quote(value.name) << ": elements of "
                     << formatDataType(value.type->elementType)
                     << " are not imported";
    SmallVector<std::int64_t> shape;
    for (const Dimension &dimension : value.type->shape)
      shape.push_back(dimension.size.value_or(mlir::ShapedType::kDynamic));
    return RankedTensorType::get(shape, element);
  }

  LogicalResult importNode(const Node &node) {
    SmallVector<Value> inputs;
    for (const std::string &name : node.inputs) {
      FailureOr<Value> value = findValue(node, name);
      if (failed(value))
        return failure();
      inputs.push_back(*value);
    }
    while (!inputs.empty() && !inputs.back())
      inputs.pop_back();
    const Operator &op = *findOperator(node.domain, node.opType);
    const Opsets &opsets = node.opsets ? *node.opsets : model.opsets;
    auto version = opsets.find(node.domain);
    NodeImport at(b, node, version == opsets.end() ? 0 : version->second,
                  inputs, declared,
                  [this](StringRef name) { return findOuter(name); });
    if (version == opsets.end())
      return at.error() << "the model imports no operator set of its domain";
    if (at.version < op.first || at.version > op.last)
      return at.error() << "operator set " << at.version
                        << ": it is imported from " << op.first << " to "
                        << op.last;
    for (unsigned i = 0; i < op.minInputs; ++i)
      if (!at.input(i))
        return at.error() << "expected at least " << op.minInputs
                          << " inputs; number " << i << " is not there";
    if (at.numInputs() > op.maxInputs)
      return at.error() << "expected at most " << op.maxInputs
                        << " inputs, got " << at.numInputs();
    if (at.numOutputs() == 0 || at.numOutputs() > op.maxOutputs)
      return at.error() << "expected 1 to " << op.maxOutputs << " outputs, got "
                        << at.numOutputs();
    mlir::Operation *last =
        b.getBlock()->empty() ? nullptr : &b.getBlock()->back();
    if (failed(op.import(at)) || failed(at.checkAttributes()))
      return failure();
    // What no check has foreseen is found while the node is known.
    auto first = last ? std::next(last->getIterator()) : b.getBlock()->begin();
    for (mlir::Operation &each : llvm::make_range(first, b.getBlock()->end()))
      if (failed(mlir::verify(&each)))
        return at.error() << "it cannot be imported with these inputs and "
                             "attributes";
    for (unsigned i = 0; i < at.numOutputs(); ++i)
      if (at.wantsOutput(i) && failed(define(at, i)))
        return failure();
    return success();
  }

  /// Null for what is left out.
  FailureOr<Value> findValue(const Node &node, const std::string &name) {
    if (name.empty())
      return Value();
    if (auto found = values.find(name); found != values.end())
      return found->second;
    auto found = initializers.find(name);
    if (found == initializers.end())
      return error() << "node " << describe(node) << ": input " << quote(name)
                     << " is computed by no node before it";
    FailureOr<Value> constant =
        createConstant(b, *found->second, "initializer " + quote(name));
    if (failed(constant))
      return failure();
    constant->getDefiningOp()->setLoc(locate(name));
    values.try_emplace(name, *constant);
    return constant;
  }

  /// A value for a graph in an attribute of a node.
  Value findOuter(StringRef name) {
    if (auto found = values.find(name); found != values.end())
      return found->second;
    auto found = initializers.find(name);
    if (found == initializers.end())
      return {};
    FailureOr<Value> constant =
        createConstant(b, *found->second, "initializer " + quote(name.str()));
    return failed(constant) ? Value() : *constant;
  }

  LogicalResult define(const NodeImport &at, unsigned index) {
    const std::string &name = at.node.outputs[index];
    Value value = at.output(index);
    if (!value)
      return at.error() << "output " << index << " is not imported";
    FailureOr<Value> refined = refine(name, value);
    if (failed(refined))
      return failure();
    // Values are printed with the names that they have in the graph.
    if (mlir::Operation *op = refined->getDefiningOp();
        op && !llvm::isa<mlir::NameLoc>(op->getLoc()))
      op->setLoc(locate(name));
    if (initializers.contains(name) ||
        !values.try_emplace(name, *refined).second)
      return at.error() << "output " << quote(name)
                        << " is also computed before";
    return success();
  }

  /// The value in the sizes that the graph declares, where they say more.
  FailureOr<Value> refine(const std::string &name, Value value) {
    auto found = declared.find(name);
    if (found == declared.end() || !found->second->type)
      return value;
    RankedTensorType type = typeOf(value);
    FailureOr<RankedTensorType> expected = convertType(*found->second);
    if (failed(expected))
      return failure();
    bool fits = expected->getRank() == type.getRank() &&
                expected->getElementType() == type.getElementType();
    SmallVector<std::int64_t> shape(type.getShape());
    for (std::int64_t dim = 0; fits && dim < type.getRank(); ++dim) {
      std::int64_t size = expected->getDimSize(dim);
      if (mlir::ShapedType::isDynamic(size))
        continue;
      fits = type.isDynamicDim(dim) || shape[dim] == size;
      shape[dim] = size;
    }
    if (!fits)
      return error() << "value " << quote(name) << " is declared as "
                     << formatType(*expected) << ", and computed as "
                     << formatType(type);
    if (ArrayRef(shape) == type.getShape())
      return value;
    return mlir::tensor::CastOp::create(
               b, RankedTensorType::get(shape, type.getElementType()), value)
        .getResult();
  }

  LogicalResult createReturn(ArrayRef<ValueInfo> outputs) {
    if (outputs.empty())
      return error() << "expected a graph with outputs";
    SmallVector<Value> results;
    for (const ValueInfo &output : outputs) {
      auto found = values.find(output.name);
      Value value = found == values.end() ? Value() : found->second;
      if (auto constant = initializers.find(output.name);
          !value && constant != initializers.end()) {
        FailureOr<Value> created = createConstant(
            b, *constant->second, "initializer " + quote(output.name));
        if (failed(created))
          return failure();
        value = *created;
      }
      if (!value)
        return error() << "output " << quote(output.name)
                       << " is computed by no node";
      FailureOr<Value> refined = refine(output.name, value);
      if (failed(refined))
        return failure();
      results.push_back(*refined);
    }
    b.setLoc(file);
    mlir::func::ReturnOp::create(b, results);
    function.setType(b.getFunctionType(function.getArgumentTypes(),
                                       ValueRange(results).getTypes()));
    return success();
  }

  /// Makes one of equal constants and sizes, and none of what no output needs.
  void cleanUp() {
    llvm::DenseMap<mlir::Attribute, Value> constants;
    llvm::DenseMap<std::pair<Value, std::int64_t>, Value> sizes;
    mlir::Block &block = function.front();
    for (mlir::Operation &op : llvm::make_early_inc_range(block)) {
      Value *known = nullptr;
      if (auto constant = llvm::dyn_cast<mlir::arith::ConstantOp>(op))
        known = &constants[constant.getValue()];
      else if (auto dim = llvm::dyn_cast<mlir::tensor::DimOp>(op);
               dim && dim.getConstantIndex())
        known = &sizes[{dim.getSource(), *dim.getConstantIndex()}];
      if (!known)
        continue;
      if (*known) {
        op.getResult(0).replaceAllUsesWith(*known);
        op.erase();
      } else {
        *known = op.getResult(0);
      }
    }
    for (mlir::Operation &op :
         llvm::make_early_inc_range(llvm::reverse(function.front())))
      if (mlir::isOpTriviallyDead(&op))
        op.erase();
  }

  mlir::MLIRContext *context;
  const Model &model;
  const Graph &graph;
  mlir::FileLineColLoc file;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::ImplicitLocOpBuilder b;
  mlir::func::FuncOp function;
  Declarations declared;
  llvm::StringMap<const Tensor *> initializers;
  llvm::StringMap<Value> values;
};

} // namespace

mlir::OwningOpRef<mlir::ModuleOp>
attn::onnx::importGraph(mlir::MLIRContext *context, const Model &model,
                        const std::string &node, const std::string &fileName) {
  return GraphImport(context, model, fileName).run(node);
}
