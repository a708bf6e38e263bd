//===- AttentionRegionParser.cpp - Score and mask lists of attention ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/AttentionRegionParser.h"
#include "dialect/Attention/NamedMasksAndScores.h"
#include "dialect/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// The part of an op that its `score` or its `mask` list describes.
class RegionParser {
public:
  RegionParser(OpAsmParser &parser, ParsedRegion &parsed,
               ArrayRef<Type> leading, bool isScore)
      : parser(parser), builder(parser.getContext()), parsed(parsed),
        region(*parsed.region), captures(parsed.captures), isScore(isScore) {
    Block &block = region.emplaceBlock();
    Location loc = parser.getEncodedSourceLoc(parser.getCurrentLocation());
    for (Type type : leading)
      block.addArgument(type, loc);
    builder.setInsertionPointToEnd(&block);
  }

  ParseResult parse() {
    if (parser.parseCommaSeparatedList([&] { return parseItem(); }))
      return failure();
    if (!yield)
      yield = YieldOp::create(builder, loc(), value);
    SmallVector<Value> yielded = {value};
    llvm::append_range(yielded, reported);
    yield->setOperands(yielded);
    return success();
  }

private:
  Location loc() { return parser.getEncodedSourceLoc(itemLoc); }
  RegionBuilder at() { return {builder, loc()}; }
  Block &block() { return region.front(); }
  Position position() {
    unsigned first = isScore ? 1 : 0;
    return {block().getArgument(first), block().getArgument(first + 1),
            block().getArgument(first + 2), block().getArgument(first + 3)};
  }
  /// The score that the next item gets.
  Value scoreSoFar() { return value ? value : block().getArgument(0); }

  ParseResult parseItem() {
    itemLoc = parser.getCurrentLocation();
    OptionalParseResult written = parseOptionalRegion();
    if (written.has_value())
      return *written;
    StringRef name; // Empty if there is none, which no name is.
    (void)parser.parseOptionalKeyword(&name);
    return isScore ? parseScore(name) : parseMask(name);
  }

  ParseResult parseScore(StringRef name) {
    if (name == "softcap")
      return parseSoftcap();
    Value tensor;
    if (name == "alibi") {
      if (parseTensor(tensor, name, {1, {Axis::Head}}, llvm::IsaPred<FloatType>,
                      "floats"))
        return failure();
      value = buildAlibi(at(), scoreSoFar(), position(), tensor);
      return success();
    }
    if (name == "bias") {
      auto [pos, axes] = parseOptionalRows(name);
      if (parseTensor(tensor, name, axes, llvm::IsaPred<FloatType>, "floats"))
        return failure();
      value = buildBias(at(), scoreSoFar(), pos, tensor);
      return success();
    }
    return parser.emitError(itemLoc)
           << "unknown score '" << name
           << "', expected softcap, alibi, bias or a region";
  }

  ParseResult parseSoftcap() {
    Value cap;
    if (parser.parseLParen())
      return failure();
    SMLoc loc = parser.getCurrentLocation();
    if (OptionalParseResult operand = parseOptionalCapture(cap);
        operand.has_value()) {
      if (*operand)
        return failure();
      if (!isa<FloatType>(cap.getType()))
        return parser.emitError(loc)
               << "softcap: expected a float, got " << cap.getType();
    } else {
      auto type = cast<FloatType>(scoreSoFar().getType());
      APFloat number(0.0);
      if (parser.parseFloat(type.getFloatSemantics(), number))
        return failure();
      if (!number.isFiniteNonZero() || number.isNegative())
        return parser.emitError(loc)
               << "softcap: expected a positive number that is finite in "
               << type << ", got " << number.convertToDouble();
      cap = arith::ConstantOp::create(builder, this->loc(),
                                      builder.getFloatAttr(type, number));
    }
    value = buildSoftcap(at(), scoreSoFar(), cap);
    return parser.parseRParen();
  }

  ParseResult parseMask(StringRef name) {
    Value first, second;
    auto isInteger = [](Type type) {
      return type.isSignlessIntOrIndex() && !type.isInteger(1);
    };
    auto isBoolean = [](Type type) { return type.isInteger(1); };
    if (name == "causal") {
      addMask(buildCausal(at(), position()));
      return success();
    }
    if (name == "sliding_window") {
      int64_t left, right;
      if (parser.parseLParen() || parseWindowSize(left) ||
          parser.parseComma() || parseWindowSize(right) || parser.parseRParen())
        return failure();
      addMask(buildSlidingWindow(at(), position(), left, right));
      return success();
    }
    if (name == "prefix_lm") {
      if (parseTensor(first, name, {1, {Axis::Batch}}, isInteger, "integers"))
        return failure();
      addMask(buildPrefixLM(at(), position(), first));
      return success();
    }
    if (name == "key_padding") {
      SMLoc loc = parser.getCurrentLocation();
      auto isElement = [](Type type) { return type.isSignlessIntOrIndex(); };
      if (parseTensor(first, name, {1, {Axis::Batch, Axis::Key}}, isElement,
                      "integers or i1"))
        return failure();
      auto type = cast<ShapedType>(first.getType());
      if (type.getElementType().isInteger(1) != (type.getRank() == 2))
        return parser.emitError(loc)
               << "key_padding: expected integers of shape (B) or i1 of shape "
                  "(B, Skv), got "
               << type;
      addMask(buildKeyPadding(at(), position(), first));
      return success();
    }
    if (name == "document") {
      SMLoc loc = parser.getCurrentLocation();
      if (parseDocument(first, second))
        return failure();
      Axis query[] = {Axis::Batch, Axis::Position},
           key[] = {Axis::Batch, Axis::Key};
      for (auto [tensor, axes] : {std::pair(first, ArrayRef(query)),
                                  std::pair(second, ArrayRef(key))}) {
        auto type = dyn_cast<ShapedType>(tensor.getType());
        if (!isa<RankedTensorType, MemRefType>(tensor.getType()) ||
            type.getRank() != 2 || !isInteger(type.getElementType()) ||
            type.getElementType() != getElementTypeOrSelf(first.getType()))
          return parser.emitError(loc)
                 << "document: expected two tensors of one integer type and of "
                    "shape (B, S), got "
                 << first.getType() << " and " << second.getType();
        addReads(loc, name, tensor.getType(), {2, SmallVector<Axis>(axes)});
      }
      addMask(buildDocument(at(), position(), first, second));
      return success();
    }
    if (name == "boolean") {
      auto [pos, axes] = parseOptionalRows(name);
      if (parseTensor(first, name, axes, isBoolean, "i1"))
        return failure();
      addMask(buildBoolean(at(), pos, first));
      return success();
    }
    return parser.emitError(itemLoc)
           << "unknown mask '" << name
           << "', expected causal, sliding_window, prefix_lm, key_padding, "
              "document, boolean or a region";
  }

  void addMask(Value keep) {
    value = value ? arith::AndIOp::create(builder, loc(), value, keep) : keep;
  }

  /// The dimensions of a tensor that is read.
  struct Axes {
    int64_t minRank;
    SmallVector<Axis> axes;
    bool broadcasts = false; ///< Dimensions are the last of the axes.
    StringRef suffix = "";   ///< Of the item's name.

    ArrayRef<Axis> of(int64_t rank) const {
      ArrayRef<Axis> all = axes;
      return broadcasts ? all.take_back(size_t(rank))
                        : all.take_front(size_t(rank));
    }
  };

  /// `rows` behind the name of an item whose tensor broadcasts: where it reads,
  /// by the row of the query instead of its position.
  std::pair<Position, Axes> parseOptionalRows(StringRef name) {
    Position pos = position();
    Axes axes{0, {Axis::Batch, Axis::Head, Axis::Position, Axis::Key}, true};
    if (succeeded(parser.parseOptionalKeyword("rows"))) {
      pos.p = arith::ConstantIndexOp::create(builder, loc(), 0);
      axes.axes[2] = Axis::Row;
      axes.suffix = " rows";
      parsed.rows.push_back(
          {itemLoc, (name + axes.suffix).str(), pos.p.getDefiningOp()});
    }
    return {pos, axes};
  }

  void addReads(SMLoc loc, const Twine &reader, Type type, const Axes &axes) {
    auto shaped = cast<ShapedType>(type);
    for (auto [dim, axis] : llvm::enumerate(axes.of(shaped.getRank())))
      parsed.reads.push_back({loc, reader.str(), int64_t(dim),
                              shaped.getDimSize(unsigned(dim)), axis,
                              axes.broadcasts});
  }

  ParseResult parseWindowSize(int64_t &size) {
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseInteger(size))
      return failure();
    if (size < -1 || size > AttentionOp::kMaxOffset)
      return parser.emitError(loc)
             << "sliding_window: expected a size from 0 to "
             << AttentionOp::kMaxOffset << ", or -1 for no bound, got " << size;
    return success();
  }

  ParseResult parseDocument(Value &first, Value &second) {
    OpAsmParser::UnresolvedOperand operands[2];
    Type types[2];
    if (parser.parseLParen() || parser.parseOperand(operands[0]) ||
        parser.parseComma() || parser.parseOperand(operands[1]) ||
        parser.parseColon() || parser.parseType(types[0]) ||
        parser.parseComma() || parser.parseType(types[1]) ||
        parser.parseRParen())
      return failure();
    first = addCapture(operands[0], types[0]);
    second = addCapture(operands[1], types[1]);
    return success();
  }

  /// `(%operand : type)`, a tensor that the item called `name` reads.
  ParseResult parseTensor(Value &argument, StringRef name, const Axes &axes,
                          function_ref<bool(Type)> isElement,
                          StringRef elements) {
    int64_t minRank = axes.minRank, maxRank = int64_t(axes.axes.size());
    if (parser.parseLParen())
      return failure();
    SMLoc loc = parser.getCurrentLocation();
    OpAsmParser::UnresolvedOperand operand;
    Type type;
    if (parser.parseOperand(operand) || parser.parseColonType(type) ||
        parser.parseRParen())
      return failure();
    auto shaped = dyn_cast<ShapedType>(type);
    if (!isa<RankedTensorType, MemRefType>(type) ||
        shaped.getRank() < minRank || shaped.getRank() > maxRank ||
        !isElement(shaped.getElementType())) {
      InFlightDiagnostic error = parser.emitError(loc)
                                 << name << axes.suffix << "(" << operand.name
                                 << "): expected a tensor of " << elements
                                 << " and of rank " << minRank;
      if (maxRank != minRank)
        error << " to " << maxRank;
      return error << ", got " << type;
    }
    addReads(loc, name + axes.suffix + "(" + operand.name + ")", type, axes);
    argument = addCapture(operand, type);
    return success();
  }

  /// `%operand : type`.
  OptionalParseResult parseOptionalCapture(Value &argument) {
    OpAsmParser::UnresolvedOperand operand;
    OptionalParseResult result = parser.parseOptionalOperand(operand);
    if (!result.has_value() || *result)
      return result;
    Type type;
    if (parser.parseColonType(type))
      return failure();
    argument = addCapture(operand, type);
    return success();
  }

  Value addCapture(OpAsmParser::UnresolvedOperand operand, Type type) {
    return addCapture(operand, type, /*argumentType=*/type);
  }
  Value addCapture(OpAsmParser::UnresolvedOperand operand, Type type,
                   Type argumentType) {
    captures.operands.push_back(operand);
    captures.types.push_back(type);
    return block().addArgument(argumentType, loc());
  }

  /// `(%s, %b, %h, %p, %j) captures(%x = %operand : type, ...) {...}`: parsed
  /// as a region of its own. Where the argument is less static than the operand
  /// it is `%x : type = ...`.
  OptionalParseResult parseOptionalRegion() {
    SmallVector<OpAsmParser::Argument> arguments;
    SMLoc loc = parser.getCurrentLocation();
    if (failed(parser.parseOptionalLParen()))
      return std::nullopt;
    if (parser.parseArgumentList(arguments) || parser.parseRParen())
      return failure();
    unsigned leading = isScore ? AttentionOp::kNumScoreArguments
                               : AttentionOp::kNumMaskArguments;
    if (arguments.size() != leading)
      return parser.emitError(loc)
             << "expected " << leading << " arguments "
             << (isScore ? "(s, b, h, p, j)" : "(b, h, p, j)") << ", got "
             << arguments.size();
    SmallVector<Value> replacements;
    for (auto [index, argument] : llvm::enumerate(arguments)) {
      argument.type = block().getArgument(index).getType();
      replacements.push_back(
          isScore && index == 0 ? scoreSoFar() : block().getArgument(index));
    }
    auto parseCapture = [&]() -> ParseResult {
      OpAsmParser::Argument argument;
      OpAsmParser::UnresolvedOperand operand;
      Type operandType;
      if (parser.parseArgument(argument))
        return failure();
      if (succeeded(parser.parseOptionalColon()) &&
          parser.parseType(argument.type))
        return failure();
      if (parser.parseEqual() || parser.parseOperand(operand) ||
          parser.parseColonType(operandType))
        return failure();
      if (!argument.type)
        argument.type = operandType;
      replacements.push_back(addCapture(operand, operandType, argument.type));
      arguments.push_back(argument);
      return success();
    };
    if (succeeded(parser.parseOptionalKeyword("captures")) &&
        parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                       parseCapture))
      return failure();

    Region written;
    if (parser.parseRegion(written, arguments, /*enableNameShadowing=*/true))
      return failure();
    if (!written.hasOneBlock() || written.front().empty() ||
        !isa<YieldOp>(written.front().back()))
      return parser.emitError(loc)
             << "expected a region of one block that ends in attn.yield";
    auto end = cast<YieldOp>(written.front().back());
    Type expected =
        isScore ? block().getArgument(0).getType() : Type(builder.getI1Type());
    if (Type type = end.getValue().getType(); type != expected)
      return end.emitOpError()
             << "expected the '" << (isScore ? "score" : "mask")
             << "' region to yield " << expected << ", got " << type;
    if (yield)
      append(written, replacements);
    else
      adopt(written, replacements);
    if (!end.getPosition().empty())
      reported.assign(end.getPosition().begin(), end.getPosition().end());
    Value yielded = end.getValue();
    if (yield != end)
      end.erase();
    if (isScore)
      value = yielded;
    else
      addMask(yielded);
    return success();
  }

  /// Moves the operations of a region behind the items before it.
  void append(Region &written, ArrayRef<Value> replacements) {
    for (auto [argument, replacement] :
         llvm::zip_equal(written.getArguments(), replacements))
      argument.replaceAllUsesWith(replacement);
    block().getOperations().splice(builder.getInsertionPoint(),
                                   written.front().getOperations());
  }

  /// Makes the first region that is written out the op's, and moves the items
  /// before it there: what is said of its arguments where it is written, as by
  /// a language server, has to stay true of the same block.
  void adopt(Region &written, ArrayRef<Value> replacements) {
    Block &own = written.front();
    if (Value score = replacements.front(); isScore && value == score)
      own.getArgument(0).replaceAllUsesWith(score);
    // Captures of the items before stand behind those of the region.
    size_t leading = isScore ? AttentionOp::kNumScoreArguments
                             : AttentionOp::kNumMaskArguments;
    size_t before = block().getNumArguments() - own.getNumArguments();
    auto rotate = [&](auto &list) {
      std::rotate(list.begin(), list.begin() + ptrdiff_t(before), list.end());
    };
    rotate(captures.operands);
    rotate(captures.types);
    for (BlockArgument argument : block().getArguments().slice(leading, before))
      argument.replaceAllUsesWith(
          own.addArgument(argument.getType(), argument.getLoc()));
    for (BlockArgument argument : block().getArguments().take_front(leading))
      argument.replaceAllUsesWith(own.getArgument(argument.getArgNumber()));
    own.getOperations().splice(own.begin(), block().getOperations());
    region.takeBody(written);
    yield = cast<YieldOp>(block().back());
    builder.setInsertionPoint(yield);
  }

  OpAsmParser &parser;
  OpBuilder builder;
  ParsedRegion &parsed;
  Region &region;
  OperandSegment &captures;
  bool isScore;
  SMLoc itemLoc;
  Value value;
  YieldOp yield;               ///< Of the first region that is written out.
  SmallVector<Value> reported; ///< The position that messages name.
};

} // namespace

ParseResult mlir::attn::parseScores(OpAsmParser &parser, ParsedRegion &parsed,
                                    Type scoreType) {
  Type index = IndexType::get(parser.getContext());
  return RegionParser(parser, parsed, {scoreType, index, index, index, index},
                      /*isScore=*/true)
      .parse();
}

ParseResult mlir::attn::parseMasks(OpAsmParser &parser, ParsedRegion &parsed) {
  Type index = IndexType::get(parser.getContext());
  return RegionParser(parser, parsed, {index, index, index, index},
                      /*isScore=*/false)
      .parse();
}
