//===- KernelTableTest.cpp - Kernels for GPUs against a table -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Compiles attention in every configuration of a table, and holds it to what
// the table allows. With an argument, writes such a table, and says how long
// compiling took.
//
//===----------------------------------------------------------------------===//

#include "test/Unit/KernelTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "gtest/gtest.h"

#include <cstdio>
#include <fstream>
#include <set>

using namespace attn;
using namespace attn::test;

namespace {

constexpr const char *tablePath =
    ATTN_SOURCE_DIR "/test/Unit/Inputs/gpu-kernels.csv";
const std::vector<std::string> elements = {"f32", "f16", "bf16"};
const std::vector<int> headSizes = {64, 80, 128, 256};

/// Of those for sm_90a alone, the kernels in which warpgroups multiply.
std::vector<std::string> getArchitectures(const std::string &element,
                                          int headSize) {
  std::vector<std::string> result = {"sm_80", "sm_90"};
  if (element != "f32" && (headSize == 64 || headSize == 128))
    result.push_back("sm_90a");
  return result;
}

const KernelTable &getTable() {
  static const KernelTable table = [] {
    Expected<KernelTable> read = readKernelTable(tablePath);
    EXPECT_TRUE(read) << read.error().message;
    return read ? *read : KernelTable();
  }();
  return table;
}

const Expected<DeviceTools> &getTools() {
  static const Expected<DeviceTools> tools = DeviceTools::find();
  return tools;
}

/// How many columns are compared: without tools, those that need none.
int countCompared() {
  return getTools() ? numKernelNumbers : firstOfMachineCode;
}

/// Whether a number is what a row allows. With other products the rest of
/// machine code would be of another loop, or of none.
bool isAllowed(int number, long actual, long row) {
  if (number == products || number == waits || number == warps)
    return actual == row;
  return number == workgroups ? actual >= row : actual <= row;
}

TEST(KernelTable, HasEveryConfiguration) {
  std::set<KernelConfiguration> expected, actual;
  for (const std::string &element : elements)
    for (int headSize : headSizes)
      for (const std::string &variant : getVariants())
        for (const std::string &architecture :
             getArchitectures(element, headSize))
          expected.insert({element, headSize, variant, architecture});
  for (const auto &[key, numbers] : getTable())
    actual.insert(key);
  EXPECT_TRUE(actual == expected);
}

/// The table itself allows nothing that makes kernels slow.
/// What a warp may take in 16-bit types and usual heads, beside
/// FlashAttention-2's 294 and 463 instructions for 16 queries and 64 keys.
static void expectFewOfWarp(const KernelConfiguration &key,
                            const KernelNumbers &numbers) {
  bool isShort = key.headSize == 64;
  if (key.variant == "decode") {
    // 64 or 32 keys.
    EXPECT_LE(numbers[instructions], isShort ? 400 : 200);
    EXPECT_EQ(numbers[warps], 4);
    EXPECT_GE(numbers[workgroups] * numbers[warps], 8);
  } else if (key.variant == "few") {
    // 16 queries and 64 or 32 keys.
    if (key.architecture != "sm_90a") // It has room for more stages.
      EXPECT_EQ(numbers[sharedBytes], isShort ? 36864 : 69632);
    if (isShort)
      EXPECT_LE(numbers[registers], 168);
    EXPECT_LE(numbers[instructions], isShort ? 350 : 490);
    EXPECT_LE(numbers[integer], 40);
    EXPECT_LE(numbers[shfl], 4);
    EXPECT_GE(numbers[workgroups], isShort ? 3 : 2);
    EXPECT_LE(numbers[exposedEx2], 12);
  } else if (key.variant == "full" || key.variant == "causal") {
    // 32 queries and 64 or 32 keys.
    EXPECT_LE(numbers[instructions], isShort ? 600 : 530);
    EXPECT_LE(8 * numbers[ldmatrix], (isShort ? 2 : 3) * numbers[products]);
    EXPECT_LE(numbers[exposedEx2], 16);
    EXPECT_GE(numbers[workgroups], 2);
  }
}

TEST(KernelTable, HasNothingSlow) {
  for (const auto &[key, numbers] : getTable()) {
    SCOPED_TRACE(key.element + " " + std::to_string(key.headSize) + " " +
                 key.variant + " " + key.architecture);
    EXPECT_GT(numbers[products], 0);
    // Others copy for warpgroups, of which each product is one of 16 along K.
    // FlashAttention-3 has 482 instructions for 128 keys.
    bool isOfMany = key.variant != "few" && key.variant != "decode";
    if (key.architecture == "sm_90a" && isOfMany) {
      EXPECT_EQ(numbers[products], key.headSize / 16 + 128 / 16);
      EXPECT_EQ(numbers[cpAsync] + numbers[ldmatrix] + numbers[barriers], 0);
      EXPECT_LE(numbers[registers], 168);
      EXPECT_EQ(numbers[waits], 2);
      EXPECT_EQ(numbers[lds], 0);
      if (key.variant != "softcap") // tanh is computed by arithmetic.
        EXPECT_LE(numbers[instructions], 128 * 39 / 10);
    } else {
      EXPECT_GT(numbers[cpAsync], 0);
      if (key.element != "f32" && (key.headSize == 64 || key.headSize == 128))
        expectFewOfWarp(key, numbers);
    }
    EXPECT_EQ(numbers[spillBytes], 0);
    EXPECT_EQ(numbers[spills], 0);
    EXPECT_EQ(numbers[narrow], 0);
    bool isLong = key.element == "f32" && key.headSize > 128;
    // What a block may have on sm_86 and later consumer GPUs, on sm_80, or on
    // sm_90.
    int most = key.architecture == "sm_90a" ? 227 : isLong ? 163 : 99;
    EXPECT_LE(numbers[sharedBytes], most << 10);
  }
}

class KernelTableRows
    : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(KernelTableRows, AreNotExceeded) {
  auto [element, headSize] = GetParam();
  std::vector<std::string> architectures = getArchitectures(element, headSize);
  for (const std::string &variant : getVariants()) {
    Expected<std::vector<MeasuredKernel>> kernels =
        measureKernels(element, headSize, variant, architectures,
                       getTools() ? &*getTools() : nullptr);
    ASSERT_TRUE(kernels) << kernels.error().message;
    for (std::size_t i = 0; i < architectures.size(); ++i) {
      auto row =
          getTable().find({element, headSize, variant, architectures[i]});
      ASSERT_TRUE(row != getTable().end());
      for (int n = 0; n < countCompared(); ++n)
        EXPECT_TRUE(isAllowed(n, (*kernels)[i].numbers[n], row->second[n]))
            << getNumberName(n) << " of " << variant << " for "
            << architectures[i] << ": " << (*kernels)[i].numbers[n]
            << ", and in the table " << row->second[n];
    }
  }
  if (!getTools())
    GTEST_SKIP() << "PTX alone is checked, without machine code: "
                 << getTools().error().message;
}

INSTANTIATE_TEST_SUITE_P(All, KernelTableRows,
                         testing::Combine(testing::ValuesIn(elements),
                                          testing::ValuesIn(headSizes)),
                         [](const auto &info) {
                           return std::get<0>(info.param) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

//===----------------------------------------------------------------------===//
// The gate itself
//===----------------------------------------------------------------------===//

/// The names of numbers that the table does not allow of a mutated kernel.
std::set<std::string> findExceeded(const Mutation &mutation,
                                   const std::string &variant) {
  std::set<std::string> exceeded;
  Expected<std::vector<MeasuredKernel>> kernels =
      measureKernels("f16", 64, variant, {"sm_80"},
                     getTools() ? &*getTools() : nullptr, &mutation);
  EXPECT_TRUE(kernels) << kernels.error().message;
  if (!kernels)
    return exceeded;
  const KernelNumbers &row = getTable().at({"f16", 64, variant, "sm_80"});
  for (int n = 0; n < countCompared(); ++n)
    if (!isAllowed(n, kernels->front().numbers[n], row[n]))
      exceeded.insert(getNumberName(n));
  return exceeded;
}

/// The sums of the rows of `terms`, added to each column of `matrix`.
mlir::Value addSums(mlir::ImplicitLocOpBuilder &b, mlir::Value matrix,
                    mlir::Value terms) {
  auto type = mlir::cast<mlir::VectorType>(matrix.getType());
  mlir::Type element = type.getElementType();
  int64_t rows = type.getDimSize(0);
  auto ofRows = mlir::VectorType::get(rows, element),
       column = mlir::VectorType::get({rows, 1}, element);
  mlir::Value sums = mlir::vector::MultiDimReductionOp::create(
      b, terms, mlir::arith::ConstantOp::create(b, b.getZeroAttr(ofRows)),
      llvm::ArrayRef{false, true}, mlir::vector::CombiningKind::ADD);
  sums = mlir::vector::ShapeCastOp::create(b, column, sums);
  return mlir::arith::AddFOp::create(
      b, matrix, mlir::vector::BroadcastOp::create(b, type, sums));
}

/// A branch between the weights and their product, whose other side needs them,
/// too: as an exact round in the loop would be.
void branchBeforeProducts(mlir::Operation *module) {
  llvm::SmallVector<mlir::vector::ContractionOp> products;
  module->walk([&](mlir::vector::ContractionOp op) {
    if (op.getLhs().getDefiningOp<mlir::arith::TruncFOp>())
      products.push_back(op);
  });
  EXPECT_FALSE(products.empty());
  for (mlir::vector::ContractionOp op : products) {
    mlir::OpBuilder builder(op);
    mlir::ImplicitLocOpBuilder b(op.getLoc(), builder);
    auto function = op->getParentOfType<mlir::func::FuncOp>();
    b.setInsertionPointToStart(&function.getBody().front());
    // No array has so many keys, which the compiler does not know.
    mlir::Value keys = mlir::tensor::DimOp::create(
        b, function.getArgument(1), mlir::arith::ConstantIndexOp::create(b, 2));
    mlir::Value isUsual = mlir::arith::CmpIOp::create(
        b, mlir::arith::CmpIPredicate::ne, keys,
        mlir::arith::ConstantIndexOp::create(b, 12345));
    b.setInsertionPoint(op);
    auto branch = mlir::scf::IfOp::create(b, op->getResultTypes(), isUsual,
                                          /*withElseRegion=*/true);
    op.getResult().replaceAllUsesWith(branch.getResult(0));
    b.setInsertionPointToStart(branch.elseBlock());
    mlir::Value weights =
        op.getLhs().getDefiningOp<mlir::arith::TruncFOp>().getIn();
    mlir::scf::YieldOp::create(b, addSums(b, op.getAcc(), weights));
    b.setInsertionPointToStart(branch.thenBlock());
    op->moveBefore(branch.thenBlock(), branch.thenBlock()->begin());
    b.setInsertionPointAfter(op);
    mlir::scf::YieldOp::create(b, op.getResult());
  }
}

void forgetAlignment(mlir::Operation *module) {
  int count = 0;
  module->walk([&](mlir::vector::StoreOp store) {
    count += store.getAlignment().has_value();
    store.removeAlignmentAttr();
  });
  EXPECT_GT(count, 0);
}

/// Fails unless the table refuses a mutated kernel for what its PTX has, and
/// where there are tools, for what its machine code has.
void expectSeen(const Mutation &mutation, const char *ofPTX,
                const char *ofMachineCode) {
  std::set<std::string> exceeded = findExceeded(mutation, "full");
  EXPECT_TRUE(exceeded.contains(ofPTX));
  if (!getTools())
    GTEST_SKIP() << "PTX alone is checked, without machine code: "
                 << getTools().error().message;
  EXPECT_TRUE(exceeded.contains(ofMachineCode));
}

TEST(KernelTable, SeesBranchBeforeProducts) {
  expectSeen({"convert-online-to-vector", branchBeforeProducts},
             "ptx_instructions", "exposed_ex2");
}

TEST(KernelTable, SeesNarrowStores) {
  expectSeen({"attn-distribute-to-lanes", forgetAlignment}, "ptx_narrow",
             "narrow");
}

/// Registers are handed out in eights, which leaves room for other versions of
/// ptxas.
long roundUpToEight(long count) { return (count + 7) / 8 * 8; }

/// Without tools, keeps what the table has of machine code.
int writeTable(const char *path) {
  if (!getTools())
    std::fprintf(stderr, "columns of PTX alone are written, %s\n",
                 getTools().error().message.c_str());
  KernelTable table;
  for (const std::string &element : elements)
    for (int headSize : headSizes)
      for (const std::string &variant : getVariants()) {
        std::vector<std::string> architectures =
            getArchitectures(element, headSize);
        Expected<std::vector<MeasuredKernel>> kernels =
            measureKernels(element, headSize, variant, architectures,
                           getTools() ? &*getTools() : nullptr);
        if (!kernels) {
          std::fprintf(stderr, "%s\n", kernels.error().message.c_str());
          return 1;
        }
        for (std::size_t i = 0; i < architectures.size(); ++i) {
          MeasuredKernel &kernel = (*kernels)[i];
          std::printf("%s %d %s %s: %.0f ms to PTX, %.0f ms by ptxas\n",
                      element.c_str(), headSize, variant.c_str(),
                      architectures[i].c_str(), kernel.toPTX.count(),
                      kernel.toMachineCode.count());
          kernel.numbers[registers] = roundUpToEight(kernel.numbers[registers]);
          KernelConfiguration key = {element, headSize, variant,
                                     architectures[i]};
          if (auto row = getTable().find(key);
              !getTools() && row != getTable().end())
            std::copy(row->second.begin() + firstOfMachineCode,
                      row->second.end(),
                      kernel.numbers.begin() + firstOfMachineCode);
          table[key] = kernel.numbers;
        }
      }
  std::ofstream file(path);
  file << printKernelTable(table);
  return file.flush() ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  return argc == 2 ? writeTable(argv[1]) : RUN_ALL_TESTS();
}
