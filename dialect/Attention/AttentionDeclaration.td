//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//


//
// What the ops that compute an attention declare and define in C++. Their operands of one
// meaning have one name, so that code for all of them can be a template.
//

#ifndef ATTN_DIALECT_ATTENTION_ATTENTIONDECLARATION_TD
#define ATTN_DIALECT_ATTENTION_ATTENTIONDECLARATION_TD

include "dialect/Shared/DestinationStyle.td"

defvar attentionOperandsDeclaration = [{
    /// Types of the main operands: ranked tensors or memrefs.
    ShapedType getQueryType() { return cast<ShapedType>(getQuery().getType()); }
    ShapedType getKeyType() { return cast<ShapedType>(getKey().getType()); }
    ShapedType getValueType() { return cast<ShapedType>(getValue().getType()); }

    int64_t getNumQueryHeads() { return getQueryType().getDimSize(1); }
    int64_t getNumKeyValueHeads() { return getKeyType().getDimSize(1); }
    /// Query heads per key/value head, `G`.
    int64_t getGroupSize() { return getNumQueryHeads() / getNumKeyValueHeads(); }

    FloatType getElementType() { return cast<FloatType>(getQueryType().getElementType()); }
    /// Type of sums, of the score that the region sees, of the log-sum-exp.
    FloatType getAccumulationType();

    /// `1/sqrt(Dk)`.
    double getDefaultScale();
    /// The scale if it is known while compiling.
    std::optional<double> getConstantScale();

    bool hasScore() { return !getScore().empty(); }
    bool hasMask() { return !getMask().empty(); }
    bool hasDropout() { return getDropoutRate().has_value(); }

    /// The captured operand that a region argument stands for.
    Value getCapture(BlockArgument argument);
    /// Whether the op reads what an operand holds, A9.
    bool readsOperand(OpOperand &operand) { return !isDpsInit(&operand); }

    /// The position of the first query of batch entry or sequence `n` of an op on
    /// tensors, an index (A5), where it has these numbers of queries and keys.
    Value createFirstPosition(OpBuilder &builder, Value n, Value numQueries,
                              Value numKeys);

    /// Number of leading arguments of a region, before the captures.
    static constexpr unsigned kNumScoreArguments = 5; // s, b, h, p, j
    static constexpr unsigned kNumMaskArguments = 4;  //    b, h, p, j

    /// The pairs of sizes that must agree, the source of the verifier's
    /// messages, of the checks at run time, and of what a caller is told.
    SmallVector<SizeConstraint> getSizeConstraints();

    MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
    Speculation::Speculatability getSpeculatability();
}];

defvar attentionDeclaration = attentionOperandsDeclaration # [{
    /// The output and, if asked for, the log-sum-exp operand (null if not).
    Value getOutput() { return getOuts()[0]; }
    Value getLogSumExp() { return getOuts().size() > 1 ? getOuts()[1] : Value(); }
}];

// Of ops that may have sequences (A7).
defvar sequencesDeclaration = [{
    bool isPacked() { return static_cast<bool>(getCumulativeQuery()); }
    /// Whether sequences have numbers of queries of their own (A7).
    bool isRagged() { return isPacked() || getCounts(); }
    /// The number of queries of batch entry or sequence `n`, an index.
    Value createNumQueries(OpBuilder &builder, Value n);

    /// The query heads of the whole that it is a part of (A8).
    int64_t getDropoutHeadsOfWhole() {
      return int64_t(getDropoutHeads().value_or(uint64_t(getNumQueryHeads())));
    }
    /// What dropout has of batch entry or sequence `n` (A8): the line of a head,
    /// and the number of a key.
    Value createDropoutLine(OpBuilder &builder, Value n, Value head);
    Value createDropoutKey(OpBuilder &builder, Value n, Value key);
    /// Leaves out all that is dropout's.
    void removeDropout();
}];

defvar attentionDefinition = !strconcat(reifyDestinations,
                                        destinationEffects, [{
  FloatType $cppClass::getAccumulationType() { // A2
    return AttentionOp::getAccumulationType(getElementType());
  }

  double $cppClass::getDefaultScale() { // A4
    return 1.0 / std::sqrt(double(getQueryType().getDimSize(3)));
  }

  std::optional<double> $cppClass::getConstantScale() {
    if (getScale())
      return std::nullopt;
    if (FloatAttr scale = getStaticScaleAttr())
      return scale.getValueAsDouble();
    return getDefaultScale();
  }

  Speculation::Speculatability $cppClass::getSpeculatability() {
    // An undefined value in a region stops the program (A12), and so do sizes
    // that disagree: moving the op to where it did not run could stop it.
    return Speculation::NotSpeculatable;
  }

  void $cppClass::getAsmBlockArgumentNames(Region &region,
                                             OpAsmSetValueNameFn setName) {
    nameRegionArguments(region, &region == &getMask(), setName);
  }

  Value $cppClass::createFirstPosition(OpBuilder &builder, Value n,
                                         Value numQueries, Value numKeys) {
    if (getBottomRight())
      return builder.createOrFold<arith::SubIOp>(getLoc(), numKeys, numQueries);
    Value offset = getOffset();
    if (!offset)
      return arith::ConstantIndexOp::create(builder, getLoc(), 0);
    if (isa<RankedTensorType>(offset.getType()))
      offset = tensor::ExtractOp::create(builder, getLoc(), offset, n);
    return builder.createOrFold<arith::IndexCastOp>(
        getLoc(), builder.getIndexType(), offset);
  }

  Value $cppClass::getCapture(BlockArgument argument) {
    bool isScore = argument.getOwner()->getParent() == &getScore();
    unsigned leading = isScore ? kNumScoreArguments : kNumMaskArguments;
    OperandRange captures = isScore ? getScoreCaptures() : getMaskCaptures();
    return captures[argument.getArgNumber() - leading];
  }
}]);

defvar sequencesDefinition = [{
  Value $cppClass::createNumQueries(OpBuilder &builder, Value n) {
    Location loc = getLoc();
    auto load = [&](Value numbers, Value at) {
      return builder.createOrFold<arith::IndexCastOp>(
          loc, builder.getIndexType(), createLoad(builder, loc, numbers, at));
    };
    if (getCounts())
      return load(getCounts(), n);
    if (!isPacked())
      return createFirstDim(builder, loc, getQuery(), 2);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value next = arith::AddIOp::create(builder, loc, n, one);
    return builder.createOrFold<arith::SubIOp>(
        loc, load(getCumulativeQuery(), next), load(getCumulativeQuery(), n));
  }

  Value $cppClass::createDropoutLine(OpBuilder &builder, Value n, Value head) {
    Location loc = getLoc();
    Value heads = arith::ConstantIndexOp::create(builder, loc,
                                                 getDropoutHeadsOfWhole());
    Value line = builder.createOrFold<arith::AddIOp>(
        loc, builder.createOrFold<arith::MulIOp>(loc, n, heads), head);
    if (Value first = getDropoutLine())
      line = builder.createOrFold<arith::AddIOp>(loc, line, first);
    return line;
  }

  Value $cppClass::createDropoutKey(OpBuilder &builder, Value n, Value key) {
    Value first = getDropoutKey();
    if (!first)
      return key;
    if (isa<ShapedType>(first.getType()))
      first = createLoad(builder, getLoc(), first, n);
    return builder.createOrFold<arith::AddIOp>(getLoc(), first, key);
  }

  void $cppClass::removeDropout() {
    removeDropoutRateAttr();
    removeDropoutHeadsAttr();
    getDropoutSeedMutable().clear();
    getDropoutCallMutable().clear();
    getDropoutLineMutable().clear();
    getDropoutKeyMutable().clear();
  }
}];

#endif // ATTN_DIALECT_ATTENTION_ATTENTIONDECLARATION_TD
