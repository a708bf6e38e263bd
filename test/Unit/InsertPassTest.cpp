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
// products. Inserts each of some passes before every pass, and counts them.
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/KeptBuffers.h"
#include "lib/Registration/Registration.h"
#include "test/Execution/Random.h"
#include "test/Unit/PipelinePasses.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

#include <map>

using namespace mlir;

namespace {

const std::vector<std::string> kInserted = {"canonicalize", "cse",
                                            "loop-invariant-code-motion",
                                            "fold-memref-alias-ops"};

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

struct Kernel {
  const char *name;
  bool hasTiles; ///< Whether the target has products of tiles of bf16.
  std::string text;
  std::size_t turn = 0;
};

std::string readExample(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(ATTN_SOURCE_DIR "/examples/" + path);
  EXPECT_TRUE(bool(file)) << path;
  return file ? (*file)->getBuffer().str() : "";
}

std::string attentionText(const std::string &type, const std::string &length,
                          const std::string &mask) {
  std::string query = "tensor<?x8x" + length + "x64x" + type + ">";
  std::string key = "tensor<?x2x?x64x" + type + ">";
  return "func.func @attention(%q: " + query + ", %k: " + key + ", %v: " + key +
         ", %o: " + query + ") -> " + query +
         " {\n  %r = attn.attention ins(%q, %k, %v : " + query + ", " + key +
         ", " + key + ")\n      outs(%o : " + query + ") " + mask +
         "\n  return %r : " + query + "\n}\n";
}

std::vector<Kernel> listKernels() {
  std::vector<Kernel> kernels = {
      {"prefill", false, attentionText("f32", "?", "")},
      {"causal_bf16", true, attentionText("bf16", "?", "mask causal")},
      {"window", true,
       attentionText("bf16", "?", "mask causal, sliding_window(255, 0)")},
      {"decode_cached", false, readExample("decode/step.mlir")},
      {"decode_split", false, attentionText("f32", "1", "")},
      {"projection", true, R"(
!x = tensor<1x1024x2048xbf16>
!w = tensor<64x1024x32x2xbf16>
func.func @project(%x: !x, %w: !w, %y: !x) -> !x {
  %r = attn.projection ins(%x, %w : !x, !w) outs(%y : !x)
  return %r : !x
}
)"},
      {"layer", false, readExample("layer/decoder.mlir")},
      {"multi_token", false, readExample("multi_token/paper.mlir")},
      {"gradient", false, R"(
!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>
!l = tensor<?x8x?xf32>
func.func @gradient(%q: !q, %k: !k, %v: !k, %o: !q, %l: !l, %d: !q, %iq: !q,
                    %ik: !k, %iv: !k) -> (!q, !k, !k) {
  %r:3 = attn.attention_backward ins(%q, %k, %v, %o, %l, %d : !q, !k, !k, !q, !l, !q)
      outs(%iq, %ik, %iv : !q, !k, !k) mask causal
  return %r#0, %r#1, %r#2 : !q, !k, !k
}
)"}};
  for (auto [turn, kernel] : llvm::enumerate(kernels))
    kernel.turn = turn;
  return kernels;
}

const char *describeTarget(const Kernel &kernel) {
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
  Pipeline(MLIRContext &context, const Kernel &kernel, llvm::StringRef lastPass)
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

class InsertPass : public testing::TestWithParam<Kernel> {
protected:
  static void SetUpTestSuite() { mlir::attn::registerAllPasses(); }

  void check(llvm::StringRef lastPass) {
    DialectRegistry registry;
    mlir::attn::registerAllDialects(registry);
    MLIRContext context(registry);
    context.disableMultithreading();
    ScopedDiagnosticHandler silent(&context, [](Diagnostic &) {});
    Pipeline pipeline(context, GetParam(), lastPass);
    for (const auto &[number, name] : llvm::enumerate(kInserted)) {
      // Every other one before the passes of a kernel, by turns.
      if (!::attn::test::runsAllCases() && (number + GetParam().turn) % 2)
        continue;
      auto inserted = Pipeline::makePass(context, name);
      for (std::size_t i = 0; i < pipeline.size(); ++i) {
        std::string actual = describe(pipeline.insert(*inserted, i)),
                    expected = describe(pipeline.getStructure()),
                    where = name + " before " + pipeline.nameOf(i);
        EXPECT_EQ(actual, expected) << where;
      }
    }
  }
};

/// The last pass that decides how a kernel is made.
TEST_P(InsertPass, KeepsTheStructure) { check("attn-lower-prefetches"); }

INSTANTIATE_TEST_SUITE_P(All, InsertPass, testing::ValuesIn(listKernels()),
                         [](const auto &info) { return info.param.name; });

} // namespace
