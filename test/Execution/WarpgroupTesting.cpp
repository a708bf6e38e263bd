//===- WarpgroupTesting.cpp - Products of warpgroups in tests -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/WarpgroupTesting.h"

using namespace attn;

/// Elements of 128 bytes.
static constexpr std::int64_t rowElements = 64;

static std::int64_t divideUp(std::int64_t x, std::int64_t y) {
  return (x + y - 1) / y;
}

std::int64_t test::ProductCase::numCopiesOfSecond() const {
  std::int64_t rows = isTransposed ? divideUp(columns, rowElements) * depth()
                                   : divideUp(depth(), rowElements) * columns;
  return divideUp(rows * 128, 16 * groupSize);
}

std::int64_t test::ProductCase::numCopies() const {
  std::int64_t rows =
      readsBoth ? divideUp(depth(), rowElements) * groupRows : 0;
  return numCopiesOfSecond() + rows * 128 / (16 * groupSize);
}

test::MatrixFields test::ProductCase::getFields() const {
  MatrixFields fields;
  fields.strideOffset = 1024;
  if (isTransposed)
    fields.leadingOffset = std::uint64_t(depth()) * 128;
  return fields;
}

test::MatrixFields test::ProductCase::getFieldsOfFirst() const {
  MatrixFields fields;
  fields.start = std::uint64_t(numCopiesOfSecond()) * 16 * groupSize;
  fields.strideOffset = 1024;
  return fields;
}

/// Of a matrix whose rows of 128 bytes have elements of four steps.
static std::int64_t getStepOfRows(std::int64_t step, std::int64_t rows) {
  return step / 4 * rows * 8 + step % 4 * 2;
}

std::string test::ProductCase::getSteps() const {
  std::string result;
  for (std::int64_t step = 0; step < numSteps; ++step)
    result += (step ? ", " : "") +
              std::to_string(isTransposed ? 128 * step
                                          : getStepOfRows(step, columns));
  return result;
}

std::string test::ProductCase::getStepsOfFirst() const {
  std::string result;
  for (std::int64_t step = 0; step < numSteps; ++step)
    result +=
        (step ? ", " : "") + std::to_string(getStepOfRows(step, groupRows));
  return result;
}

static std::string join(const std::string &prefix, std::int64_t count,
                        bool isNumbered) {
  std::string result;
  for (std::int64_t i = 0; i < count; ++i)
    result += (i ? ", " : "") + prefix + (isNumbered ? std::to_string(i) : "");
  return result;
}

std::string test::makeCopies(const ProductCase &product) {
  std::string text;
  for (std::int64_t i = 0; i < product.numCopies(); ++i)
    text += replaceAll(std::string(R"(
    %from_I = llvm.getelementptr %source[_I, %tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<128 x vector<4xi32>>
    %at_I = llvm.getelementptr %target[_I, %tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<128 x vector<4xi32>>)") +
                           (product.isCopied ? R"(
    nvvm.cp.async.shared.global %at_I, %from_I, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>)"
                                             : R"(
    %part_I = llvm.load %from_I : !llvm.ptr<1> -> vector<4xi32>
    llvm.store %part_I, %at_I : vector<4xi32>, !llvm.ptr<3>)"),
                       "_I", std::to_string(i));
  return text;
}

std::string test::listValues(const std::string &name, std::int64_t count) {
  return join(name, count, /*isNumbered=*/true);
}

std::string test::listTypes(const std::string &type, std::int64_t count) {
  return join(type, count, /*isNumbered=*/false);
}

std::string test::makeLoads(const ProductCase &product,
                            const std::string &element,
                            const std::string &thread) {
  std::string text;
  std::int64_t numWords = product.numWords(), numSums = product.numSums();
  for (std::int64_t i = 0; i < numWords + numSums; ++i) {
    bool isSum = i >= numWords;
    auto name = isSum ? "sum" + std::to_string(i - numWords)
                      : "lhs" + std::to_string(i);
    text += "    %p_" + name + " = llvm.getelementptr %registers[" + thread +
            ", " + std::to_string(i) +
            "] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<" +
            std::to_string(numWords + numSums) + " x i32>\n    %" + name +
            " = llvm.load %p_" + name + " : !llvm.ptr<1> -> " +
            (isSum ? "f32" : "vector<2x" + element + ">") + "\n";
  }
  return text;
}

std::string test::makeProduct(const ProductCase &product,
                              const std::string &element,
                              const std::string &result, bool accumulates) {
  std::string sums = accumulates
                         ? " sums(" + listValues("%sum", product.numSums()) +
                               " : " + listTypes("f32", product.numSums()) + ")"
                         : "";
  std::string lhs =
      product.readsBoth
          ? "%first_descriptor : i64"
          : listValues("%lhs", product.numWords()) + " : " +
                listTypes("vector<2x" + element + ">", product.numWords());
  std::string steps =
      product.readsBoth
          ? " lhs_steps [" + product.getStepsOfFirst() + "] of " + element
          : "";
  return "    %" + result + ":" + std::to_string(product.numSums()) +
         " = attn.warpgroup_mma lhs(" + lhs + ") rhs(%descriptor)" +
         (product.isTransposed ? " transposed" : "") + sums + " columns " +
         std::to_string(product.columns) + " steps [" + product.getSteps() +
         "]" + steps + " : " + listTypes("f32", product.numSums()) + "\n";
}

std::string test::makeWait(const ProductCase &product,
                           const std::string &result, const std::string &sums,
                           unsigned pending) {
  return "    %" + result + ":" + std::to_string(product.numSums()) +
         " = attn.warpgroup_wait " +
         listValues("%" + sums + "#", product.numSums()) + " pending " +
         std::to_string(pending) + " : " + listTypes("f32", product.numSums()) +
         "\n";
}

std::pair<std::size_t, std::size_t> test::findSum(unsigned thread, unsigned i) {
  unsigned warp = thread / 32, g = thread % 32 / 4, t = thread % 4;
  return {16 * warp + g + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * t + i % 2};
}

/// With the swizzle of 128 bytes, of an element of a line of so many.
static std::size_t findSwizzled(std::size_t line, std::size_t element) {
  return line * std::size_t(rowElements) + (element ^ line % 8 * 8);
}

std::size_t test::findElementOfFirst(std::size_t row, std::size_t column) {
  std::size_t width = rowElements;
  return findSwizzled(column / width * groupRows + row, column % width);
}

std::size_t test::findElement(const ProductCase &product, std::size_t row,
                              std::size_t column) {
  // The line of 128 bytes, and the element of it.
  std::size_t width = rowElements, line, element;
  if (product.isTransposed) {
    line = column / width * std::size_t(product.depth()) + row;
    element = column % width;
  } else {
    line = row / width * std::size_t(product.columns) + column;
    element = row % width;
  }
  return findSwizzled(line, element);
}

std::vector<double> test::multiplyFactors(const ProductCase &product,
                                          const WarpgroupFactors &factors,
                                          double factor) {
  std::vector<double> result(factors.sums.begin(), factors.sums.end());
  auto depth = std::size_t(product.depth());
  auto columns = std::size_t(product.columns);
  for (std::size_t i = 0; i < result.size(); ++i)
    for (std::size_t k = 0; k < depth; ++k)
      result[i] += factor * double(factors.lhs[i / columns * depth + k]) *
                   double(factors.rhs[k * columns + i % columns]);
  return result;
}

std::vector<float> test::collectSums(const ProductCase &product,
                                     const std::vector<float> &held) {
  std::vector<float> result(held.size());
  auto numSums = unsigned(product.numSums());
  for (unsigned i = 0; i < held.size(); ++i) {
    auto [row, column] = findSum(i / numSums, i % numSums);
    result[row * std::size_t(product.columns) + column] = held[i];
  }
  return result;
}
