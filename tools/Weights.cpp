//===- Weights.cpp - Which arguments are weights --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/Weights.h"

#include "dialect/AttnOps.h"
#include "dialect/Shared/OperandGroups.h"
#include "lib/Registration/Registration.h"
#include "runtime/Bridge/DiagnosticCollector.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/DenseSet.h"

using namespace attn;
using namespace attn::run;

namespace {

using Dims = std::vector<int>;

/// Follows weights to the arguments of a function.
class WeightSearch {
public:
  WeightSearch(mlir::ModuleOp module, mlir::func::FuncOp entry)
      : module(module), entry(entry), weights(entry.getNumArguments()) {}

  std::vector<Dims> search() {
    module.walk([&](mlir::Operation *op) {
      if (auto layer = llvm::dyn_cast<mlir::attn::MultiHeadAttentionOp>(op))
        for (mlir::OperandRange map :
             {layer.getQkv(), layer.getQuery(), layer.getKey(),
              layer.getValue(), layer.getOutput(), layer.getGate()})
          addProjection(
              mlir::attn::MultiHeadAttentionOp::getMap(map, "").weight);
      if (auto projection = llvm::dyn_cast<mlir::attn::ProjectionOp>(op))
        addProjection(projection.getWeight());
      if (auto linalg = llvm::dyn_cast<mlir::linalg::LinalgOp>(op))
        if (mlir::linalg::isaContractionOpInterface(linalg))
          addProduct(linalg);
    });
    return std::move(weights);
  }

private:
  /// P3: (K, N), (panels, K, P) or (panels, K / 2, P, 2).
  void addProjection(mlir::Value weight) {
    if (!weight)
      return;
    switch (llvm::cast<mlir::ShapedType>(weight.getType()).getRank()) {
    case 2:
      return add(weight, {0});
    case 3:
      return add(weight, {1});
    default:
      return add(weight, {1, 3});
    }
  }

  /// A factor with a dimension that the other and the result have too is no
  /// weight, but one matrix for each of a batch.
  void addProduct(mlir::linalg::LinalgOp op) {
    mlir::AffineMap left = op.getIndexingMapsArray()[0],
                    right = op.getIndexingMapsArray()[1];
    llvm::SmallVector<mlir::utils::IteratorType> loops =
        op.getIteratorTypesArray();
    Dims dims;
    for (auto [dim, expr] : llvm::enumerate(right.getResults())) {
      unsigned loop = llvm::cast<mlir::AffineDimExpr>(expr).getPosition();
      if (loops[loop] == mlir::utils::IteratorType::reduction)
        dims.push_back(int(dim));
      else if (left.isFunctionOfDim(loop))
        return;
    }
    add(op->getOperand(1), dims);
  }

  void add(mlir::Value weight, const Dims &dims) {
    while (mlir::Operation *op = weight.getDefiningOp()) {
      if (!llvm::isa<mlir::tensor::CastOp, mlir::arith::ExtFOp,
                     mlir::arith::TruncFOp, mlir::shard::ShardOp>(op))
        return;
      weight = op->getOperand(0);
    }
    auto argument = llvm::cast<mlir::BlockArgument>(weight);
    mlir::Operation *function = argument.getOwner()->getParentOp();
    if (!llvm::isa<mlir::func::FuncOp>(function) ||
        !argument.getOwner()->isEntryBlock() || !seen.insert(weight).second)
      return;
    if (function == entry)
      weights[argument.getArgNumber()] = dims;
    auto name = llvm::cast<mlir::func::FuncOp>(function).getName();
    module.walk([&](mlir::func::CallOp call) {
      if (call.getCallee() == name)
        add(call.getOperand(argument.getArgNumber()), dims);
    });
  }

  mlir::ModuleOp module;
  mlir::func::FuncOp entry;
  std::vector<Dims> weights;
  llvm::DenseSet<mlir::Value> seen;
};

} // namespace

Expected<std::vector<Dims>> attn::run::findWeights(std::string_view text,
                                                   std::string_view fileName,
                                                   std::string_view entry) {
  mlir::DialectRegistry registry;
  mlir::attn::registerKernelDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  DiagnosticCollector diagnostics(&context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      text, mlir::ParserConfig(&context), fileName);
  auto function =
      module ? module->lookupSymbol<mlir::func::FuncOp>(entry) : nullptr;
  if (!function)
    return diagnostics.takeError("search for weights");
  return WeightSearch(*module, function).search();
}
