//===- MaskAnalysisTesting.h - Analyses held against masks ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Answers of the mask analysis are held against the mask evaluated at every
// position. The code that is emitted runs in the interpreter, for rectangles of
// a small grid.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_MASKANALYSISTESTING_H
#define ATTN_TEST_UNIT_MASKANALYSISTESTING_H

#include "dialect/AttnDialect.h"
#include "dialect/AttnOps.h"
#include "lib/Regions/MaskAnalysis.h"
#include "test/Unit/BlockEvaluator.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <memory>
#include <string>
#include <vector>

namespace attn::test {

using mlir::OpBuilder;
using mlir::attn::AttentionOp;

inline Datum indexDatum(Index value) { return APInt(64, std::uint64_t(value)); }

/// A captured scalar (without shape) or table.
struct Capture {
  std::string name, type;
  std::vector<Index> shape;
  std::vector<Index> elements;
  /// Sizes of the blocks of an attn.block_range of it; none if empty.
  std::vector<Index> blocks = {};
  /// Instead of `elements`, where `type` is one of floats.
  std::vector<double> reals = {};
};

/// A mask clause of attn.attention and its captures.
struct Mask {
  std::string text;
  std::vector<Capture> captures = {};
};

/// Of a length for each of two batch entries.
inline Capture lengths(std::string type, Index first, Index second) {
  return {"n", std::move(type), {2}, {first, second}};
}

/// A mask region without captures; `body` defines %keep.
inline std::string region(const std::string &body) {
  return "(%b, %h, %p, %j) {\n" + body + "\nattn.yield %keep : i1\n}";
}
/// With one capture, %n, as %t.
inline std::string region(const std::string &type, const std::string &body) {
  return "(%b, %h, %p, %j) captures(%t = %n : " + type + ") {\n" + body +
         "\nattn.yield %keep : i1\n}";
}

enum class Demand {
  Sound,   ///< Never wrong.
  Verdict, ///< Empty and full tiles are told.
  Exact,   ///< And the range of visible keys is the shortest.
};

struct Rectangle {
  Index batch, head, firstPosition, lastPosition, firstKey, lastKey, keyCount;
};

struct Answer {
  bool isEmpty, isFull, isDefined;
  Index begin, end;           ///< Of all keys, those that are visible.
  Index blockBegin, blockEnd; ///< Of the rectangle's.
};

class MaskAnalysisTest : public testing::Test {
protected:
  static constexpr Index kFirstPosition = -3, kLastPosition = 7, kNumKeys = 8;

  MaskAnalysisTest() {
    context.loadDialect<mlir::attn::AttnDialect, mlir::arith::ArithDialect,
                        mlir::func::FuncDialect, mlir::index::IndexDialect,
                        mlir::math::MathDialect, mlir::memref::MemRefDialect,
                        mlir::scf::SCFDialect, mlir::tensor::TensorDialect,
                        mlir::ub::UBDialect>();
  }

  /// Makes `mask` the one that is asked about.
  void load(const Mask &newMask) {
    mask = newMask;
    std::string arguments;
    for (const Capture &capture : mask.captures)
      arguments += ", %" + capture.name + ": " + typeOf(capture);
    std::string text =
        "func.func @f(%q: tensor<2x2x?x1xf32>, %k: tensor<2x2x?x1xf32>"
        ", %o: tensor<2x2x?x1xf32>" +
        arguments +
        ") -> tensor<2x2x?x1xf32> {\n"
        "  %r = attn.attention ins(%q, %k, %k : tensor<2x2x?x1xf32>, "
        "tensor<2x2x?x1xf32>, tensor<2x2x?x1xf32>) "
        "outs(%o : tensor<2x2x?x1xf32>) mask " +
        mask.text + "\n  return %r : tensor<2x2x?x1xf32>\n}\n";
    code = {};
    evaluator.reset();
    source = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(source) << text;
    source->walk([&](AttentionOp op) { attention = op; });
    captured.clear();
    for (const Capture &capture : mask.captures)
      captured.push_back(toDatum(capture));
    // Captures are operands in the order of their use.
    llvm::SmallVector<Datum> ordered;
    order.clear();
    for (Value capture : attention.getMaskCaptures()) {
      order.push_back(llvm::cast<mlir::BlockArgument>(capture).getArgNumber() -
                      3);
      ordered.push_back(captured[order.back()]);
    }
    captured = ordered;
    evaluateEverywhere();
    emitForArguments();
  }

  static std::string typeOf(const Capture &capture) {
    return capture.shape.empty()
               ? capture.type
               : "tensor<?x" +
                     (capture.shape.size() == 1 ? capture.type
                                                : "?x" + capture.type) +
                     ">";
  }

  mlir::Type elementType(const Capture &capture) {
    return mlir::parseType(capture.type, &context);
  }

  Datum toDatum(const Capture &capture) {
    mlir::Type type = elementType(capture);
    if (llvm::isa<mlir::FloatType>(type))
      return capture.shape.empty()
                 ? Datum(capture.reals[0])
                 : Datum(Tensor::create(type, capture.shape, capture.reals));
    if (capture.shape.empty())
      return APInt(widthOf(type), std::uint64_t(capture.elements[0]),
                   /*isSigned=*/true, /*implicitTrunc=*/true);
    return Tensor::create(type, capture.shape, capture.elements);
  }

  Value toConstant(OpBuilder &b, mlir::Location loc, const Capture &capture) {
    mlir::Type type = elementType(capture);
    llvm::SmallVector<mlir::Attribute> elements;
    for (Index element : capture.elements)
      elements.push_back(b.getIntegerAttr(type, element));
    for (double real : capture.reals)
      elements.push_back(b.getFloatAttr(type, real));
    if (capture.shape.empty())
      return mlir::arith::ConstantOp::create(
          b, loc, llvm::cast<mlir::TypedAttr>(elements[0]));
    auto attribute = mlir::DenseElementsAttr::get(
        mlir::RankedTensorType::get(capture.shape, type), elements);
    return mlir::arith::ConstantOp::create(b, loc, attribute);
  }

  //===--------------------------------------------------------------------===//
  // The truth
  //===--------------------------------------------------------------------===//

  struct Truth {
    bool isTrue, isFalse; ///< Neither where the mask is undefined.
    bool hadUndefined;    ///< In any of its operations.
  };

  const Truth &truth(Index batch, Index head, Index position, Index key) {
    return truths[std::size_t(
        ((batch * 2 + head) * (kLastPosition - kFirstPosition + 1) + position -
         kFirstPosition) *
            kNumKeys +
        key)];
  }

  void evaluateEverywhere() {
    BlockEvaluator region(attention.getMask().front());
    truths.clear();
    for (Index b : {0, 1})
      for (Index h : {0, 1})
        for (Index p = kFirstPosition; p <= kLastPosition; ++p)
          for (Index j = 0; j < kNumKeys; ++j) {
            llvm::SmallVector<Datum> arguments{indexDatum(b), indexDatum(h),
                                               indexDatum(p), indexDatum(j)};
            llvm::append_range(arguments, captured);
            Datum keep = region.evaluate(arguments)[0];
            const APInt *value = std::get_if<APInt>(&keep);
            truths.push_back({value && value->isOne(), value && value->isZero(),
                              region.hadUndefined()});
          }
  }

  Answer bestAnswer(const Rectangle &at) {
    Answer best{true, true, true, kNumKeys, 0, kNumKeys, 0};
    for (Index p = at.firstPosition; p <= at.lastPosition; ++p) {
      for (Index j = at.firstKey; j <= at.lastKey; ++j) {
        const Truth &here = truth(at.batch, at.head, p, j);
        best.isEmpty &= here.isFalse;
        best.isFull &= here.isTrue;
        best.isDefined &= !here.hadUndefined;
        if (!here.isFalse) {
          best.blockBegin = std::min(best.blockBegin, j);
          best.blockEnd = std::max(best.blockEnd, j + 1);
        }
      }
      for (Index j = 0; j < at.keyCount; ++j)
        if (!truth(at.batch, at.head, p, j).isFalse) {
          best.begin = std::min(best.begin, j);
          best.end = std::max(best.end, j + 1);
        }
    }
    return best;
  }

  //===--------------------------------------------------------------------===//
  // The analysis
  //===--------------------------------------------------------------------===//

  /// Emits all that can be asked. `position` has the numbers of a Rectangle in
  /// their order.
  llvm::SmallVector<Value> emit(OpBuilder &b, mlir::Location loc,
                                llvm::ArrayRef<Value> position,
                                mlir::ValueRange captures) {
    using namespace mlir::attn;
    RegionTile tile{position[0],
                    position[1],
                    {position[2], position[3]},
                    {position[4], position[5]},
                    captures};
    mlir::Region &region = attention.getMask();
    BlockVerdict verdict = emitBlockVerdict(b, loc, region, tile);
    Value isDefined = emitIsDefined(b, loc, region, tile);
    VisibleKeys visible =
        emitVisibleKeys(b, loc, region, tile.batch, tile.head, tile.positions,
                        position[6], captures);
    VisibleKeys ofBlock = emitVisibleKeys(b, loc, region, tile);
    hasGaps = ofBlock.hasGaps;
    return {verdict.isEmpty, verdict.isFull, isDefined,  visible.begin,
            visible.end,     ofBlock.begin,  ofBlock.end};
  }

  /// The analysis as a function of the rectangle and of the captures.
  void emitForArguments() {
    OpBuilder b(&context);
    mlir::Location loc = b.getUnknownLoc();
    code = mlir::ModuleOp::create(loc);
    b.setInsertionPointToEnd(code->getBody());
    llvm::SmallVector<mlir::Type> types(7, b.getIndexType());
    for (Value capture : attention.getMaskCaptures())
      types.push_back(capture.getType());
    auto function = mlir::func::FuncOp::create(b, loc, "analysis",
                                               b.getFunctionType(types, {}));
    mlir::Block *block = function.addEntryBlock();
    b.setInsertionPointToEnd(block);
    llvm::SmallVector<Value> arguments(block->getArguments());
    for (auto [number, table] :
         llvm::zip(order, block->getArguments().drop_front(7))) {
      const std::vector<Index> &blocks = mask.captures[number].blocks;
      // The code is not executed, so that any tensors will do as outs.
      if (!blocks.empty())
        mlir::attn::BlockRangeOp::create(
            b, loc, mlir::TypeRange{table.getType(), table.getType()}, table,
            mlir::ValueRange{table, table}, blocks);
    }
    auto results = emit(b, loc, llvm::ArrayRef(arguments).take_front(7),
                        mlir::ValueRange(block->getArguments()).drop_front(7));
    mlir::func::ReturnOp::create(b, loc, results);
    function.setType(
        b.getFunctionType(types, mlir::ValueRange(results).getTypes()));
    ASSERT_TRUE(succeeded(mlir::verify(*code)));
    evaluator = std::make_unique<BlockEvaluator>(*block);
  }

  Answer ask(const Rectangle &at) {
    llvm::SmallVector<Datum> arguments;
    for (Index number : numbersOf(at))
      arguments.push_back(indexDatum(number));
    llvm::append_range(arguments, captured);
    std::vector<Datum> results = evaluator->evaluate(arguments);
    EXPECT_FALSE(evaluator->hadUndefined()) << "unsafe code";
    auto number = [&](unsigned index) {
      const APInt *value = std::get_if<APInt>(&results[index]);
      EXPECT_TRUE(value);
      return value ? value->getSExtValue() : 0;
    };
    return {number(0) != 0, number(1) != 0, number(2) != 0, number(3),
            number(4),      number(5),      number(6)};
  }

  /// Asks about constants, which must fold the answer if `mustFold`.
  std::optional<Answer> askConstants(const Rectangle &at, bool mustFold) {
    OpBuilder b(&context);
    mlir::Location loc = b.getUnknownLoc();
    mlir::OwningOpRef<mlir::ModuleOp> scratch = mlir::ModuleOp::create(loc);
    b.setInsertionPointToEnd(scratch->getBody());
    llvm::SmallVector<Value> position, captures;
    for (Index number : numbersOf(at))
      position.push_back(mlir::arith::ConstantIndexOp::create(b, loc, number));
    for (unsigned number : order)
      captures.push_back(toConstant(b, loc, mask.captures[number]));
    llvm::SmallVector<Index> results;
    for (Value result : emit(b, loc, position, captures)) {
      APInt constant;
      if (!matchPattern(result, mlir::m_ConstantInt(&constant))) {
        EXPECT_FALSE(mustFold) << "not folded";
        return std::nullopt;
      }
      results.push_back(constant.getSExtValue());
    }
    return Answer{results[0] != 0, results[1] != 0, results[2] != 0, results[3],
                  results[4],      results[5],      results[6]};
  }

  static std::array<Index, 7> numbersOf(const Rectangle &at) {
    return {at.batch,    at.head,    at.firstPosition, at.lastPosition,
            at.firstKey, at.lastKey, at.keyCount};
  }

  //===--------------------------------------------------------------------===//
  // Comparing both
  //===--------------------------------------------------------------------===//

  void check(const Rectangle &at, const Answer &answer, Demand demand) {
    SCOPED_TRACE(testing::Message()
                 << mask.text << "\nbatch " << at.batch << " head " << at.head
                 << " positions " << at.firstPosition << ".." << at.lastPosition
                 << " keys " << at.firstKey << ".." << at.lastKey << " of "
                 << at.keyCount);
    Answer best = bestAnswer(at);
    EXPECT_LE(answer.isEmpty, best.isEmpty);
    EXPECT_LE(answer.isFull, best.isFull);
    EXPECT_LE(answer.isDefined, best.isDefined);
    EXPECT_LE(0, answer.begin);
    EXPECT_LE(answer.begin, answer.end);
    EXPECT_LE(answer.end, at.keyCount);
    bool seesKeys = best.begin < best.end;
    if (seesKeys) {
      EXPECT_LE(answer.begin, best.begin);
      EXPECT_GE(answer.end, best.end);
    }
    EXPECT_LE(at.firstKey, answer.blockBegin);
    EXPECT_LE(answer.blockBegin, answer.blockEnd);
    EXPECT_LE(answer.blockEnd, at.lastKey + 1);
    bool seesBlock = best.blockBegin < best.blockEnd;
    if (seesBlock) {
      EXPECT_LE(answer.blockBegin, best.blockBegin);
      EXPECT_GE(answer.blockEnd, best.blockEnd);
    }
    if (demand == Demand::Sound)
      return;
    EXPECT_EQ(answer.isEmpty, best.isEmpty);
    EXPECT_EQ(answer.isFull, best.isFull);
    EXPECT_EQ(answer.isDefined, best.isDefined);
    if (demand == Demand::Verdict)
      return;
    EXPECT_EQ(answer.end - answer.begin, seesKeys ? best.end - best.begin : 0);
    EXPECT_EQ(answer.blockEnd - answer.blockBegin,
              seesBlock ? best.blockEnd - best.blockBegin : 0);
  }

  /// All rectangles, in a dynamic form; a few also as constants.
  void checkEverywhere(const Mask &newMask, Demand demand) {
    load(newMask);
    if (HasFatalFailure())
      return;
    unsigned count = 0;
    for (Index batch : {0, 1})
      for (Index p0 = kFirstPosition; p0 <= kLastPosition; ++p0)
        for (Index p1 = p0; p1 <= kLastPosition; ++p1)
          for (Index j0 = 0; j0 < kNumKeys; ++j0)
            for (Index j1 = j0; j1 < kNumKeys; ++j1) {
              Rectangle at{batch, (p0 + p1 + j0) & 1,       p0, p1, j0,
                           j1,    count % 3 ? kNumKeys : j1};
              check(at, ask(at), demand);
              if (++count % 61 == 0)
                check(at, *askConstants(at, true), demand);
              if (HasFailure())
                return;
            }
  }

  mlir::MLIRContext context;
  Mask mask;
  mlir::OwningOpRef<mlir::ModuleOp> source, code;
  AttentionOp attention;
  std::vector<unsigned> order;
  llvm::SmallVector<Datum> captured;
  std::vector<Truth> truths;
  std::unique_ptr<BlockEvaluator> evaluator;
  bool hasGaps = false; ///< Of the mask.
};

} // namespace attn::test

#endif // ATTN_TEST_UNIT_MASKANALYSISTESTING_H
