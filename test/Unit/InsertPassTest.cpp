//===- InsertPassTest.cpp - The CPU pipeline with other passes in between -===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes of the CPU pipeline find what others before them made. A user, or a
// change of the pipeline, may put upstream's simplifications in between: the
// kernel must not lose its packs, its parallel loops, its prefetches or its
// products. Inserts some of these before every pass, and counts them.
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/KeptBuffers.h"
#include "lib/Registration/Registration.h"
#include "test/Unit/InsertedPasses.h"
#include "test/Unit/PipelinePasses.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"

#include "gtest/gtest.h"

#include <map>

using namespace mlir;
using ::attn::test::InsertedKernel;

namespace {

const char *describeTarget(const InsertedKernel &kernel) {
  return kernel.hasTiles ? "vector_bits = 512, vector_registers = 32, scalef = "
                           "true, bf16_dot = true, bf16_tiles = true"
                         : "";
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

/// What must stay, by what it is called.
using Structure = std::map<std::string, int>;

std::string describe(const std::optional<Structure> &structure) {
  if (!structure)
    return "an error";
  std::string text;
  for (auto &[what, count] : *structure)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  return text;
}

Structure countStructure(ModuleOp module) {
  Structure structure = {
      {"packs", 0}, {"parallel loops", 0}, {"prefetches", 0}, {"products", 0}};
  const llvm::StringSet<> products = {
      "vector.contract",     "vector.fma",     "vector.outerproduct",
      "x86.avx512.dot",      "x86.avx.dot.i8", "x86.amx.tile_mulf",
      "x86.amx.tile_muli",   "amx.tile_mulf",  "amx.tile_muli",
      "x86vector.avx512.dot"};
  module.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      structure["packs"] += mlir::attn::isKeptBuffer(alloc);
    structure["parallel loops"] += isa<scf::ForallOp>(op);
    structure["prefetches"] += isa<memref::PrefetchOp>(op);
    structure["products"] += products.contains(op->getName().getStringRef());
  });
  return structure;
}

//===----------------------------------------------------------------------===//
// Insertion
//===----------------------------------------------------------------------===//

/// Runs the passes of a pipeline on a kernel, with another one before any.
class Pipeline {
public:
  Pipeline(MLIRContext &context, const InsertedKernel &kernel,
           llvm::StringRef lastPass)
      : texts(::attn::test::listPasses()) {
    if (!lastPass.empty())
      texts.resize(::attn::test::findPass(texts, lastPass) + 1);
    for (const std::string &text : texts)
      passes.push_back(makePass(context, text));
    auto module = parseSourceString<ModuleOp>(kernel.text, &context);
    EXPECT_TRUE(module) << kernel.name;
    ::attn::test::setTarget(*module, describeTarget(kernel));
    for (auto &pass : passes) {
      before.push_back(module->clone());
      if (failed(pass->run(*module))) {
        ADD_FAILURE() << kernel.name;
        return;
      }
    }
    structure = countStructure(*module);
    for (auto [i, seen] : llvm::enumerate(before))
      known[{i, print(*seen)}] = structure;
  }

  std::size_t size() const { return passes.size(); }
  const std::optional<Structure> &getStructure() const { return structure; }

  /// The name of a pass, with its number if several are called the same.
  std::string nameOf(std::size_t number) const {
    auto name = [&](std::size_t i) {
      return llvm::StringRef(texts[i]).split('{').first;
    };
    auto count = llvm::count_if(llvm::seq(number), [&](std::size_t i) {
      return name(i) == name(number);
    });
    return name(number).str() +
           (count == 0 ? "" : " #" + std::to_string(count + 1));
  }

  /// The structure with `inserted` before a pass; nothing if a pass fails.
  std::optional<Structure> insert(PassManager &inserted, std::size_t number) {
    OwningOpRef<ModuleOp> module = before[number]->clone();
    if (failed(inserted.run(*module)))
      return std::nullopt;
    std::vector<Key> keys;
    std::optional<Structure> result;
    for (std::size_t i = number;; ++i) {
      if (i == passes.size()) {
        if (succeeded(verify(*module)))
          result = countStructure(*module);
        break;
      }
      Key key = {i, print(*module)};
      if (auto found = known.find(key); found != known.end()) {
        result = found->second;
        break;
      }
      keys.push_back(key);
      if (failed(passes[i]->run(*module)))
        break;
    }
    for (const Key &key : keys)
      known[key] = result;
    return result;
  }

  static std::unique_ptr<PassManager> makePass(MLIRContext &context,
                                               const std::string &text) {
    auto pass = std::make_unique<PassManager>(&context);
    pass->enableVerifier(false); // Takes longer than most passes.
    EXPECT_TRUE(succeeded(parsePassPipeline(text, *pass))) << text;
    return pass;
  }

private:
  /// The number of the next pass, and what it will see.
  using Key = std::pair<std::size_t, std::size_t>;

  static std::size_t print(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream os(text);
    module.print(os, OpPrintingFlags().assumeVerified());
    return std::hash<std::string>()(text);
  }

  std::vector<std::string> texts;
  std::vector<std::unique_ptr<PassManager>> passes;
  std::vector<OwningOpRef<ModuleOp>> before; ///< Each pass.
  std::optional<Structure> structure;
  std::map<Key, std::optional<Structure>> known;
};

class InsertPass : public testing::TestWithParam<InsertedKernel> {
protected:
  static void SetUpTestSuite() { mlir::attn::registerAllPasses(); }

  void check(llvm::StringRef lastPass) {
    DialectRegistry registry;
    mlir::attn::registerAllDialects(registry);
    MLIRContext context(registry);
    context.disableMultithreading();
    ScopedDiagnosticHandler silent(&context, [](Diagnostic &) {});
    Pipeline pipeline(context, GetParam(), lastPass);
    std::map<std::string, std::unique_ptr<PassManager>> inserted;
    for (const std::string &name : ::attn::test::kInserted)
      inserted[name] = Pipeline::makePass(context, name);
    for (std::size_t i = 0; i < pipeline.size(); ++i) {
      for (const std::string &name :
           ::attn::test::selectInserted(GetParam(), i)) {
        std::string actual = describe(pipeline.insert(*inserted[name], i)),
                    expected = describe(pipeline.getStructure()),
                    where = name + " before " + pipeline.nameOf(i);
        EXPECT_EQ(actual, expected) << where;
      }
    }
  }
};

/// The last pass that decides how a kernel is made.
TEST_P(InsertPass, KeepsTheStructure) { check("attn-lower-prefetches"); }

INSTANTIATE_TEST_SUITE_P(All, InsertPass,
                         testing::ValuesIn(::attn::test::listInsertedKernels()),
                         [](const auto &info) { return info.param.name; });

} // namespace
