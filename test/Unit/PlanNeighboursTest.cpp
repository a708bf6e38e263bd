//===- PlanNeighboursTest.cpp - Other plans to measure --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/PlanNeighbours.h"
#include "dialect/AttnDialect.h"
#include "dialect/Plan/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir::attn;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

namespace {

class PlanNeighbours : public testing::Test {
protected:
  PlanNeighbours() {
    context.loadDialect<AttnDialect, mlir::func::FuncDialect>();
  }

  /// Of the one attention in a function on a query and a key of these types.
  std::vector<std::string>
  list(const std::string &query, const std::string &key,
       const std::string &plan = "",
       std::optional<std::int64_t> length = std::nullopt) {
    std::string types = query + ", " + key + ", " + key;
    return listIn("func.func @f(%q: " + query + ", %k: " + key + ") -> " +
                      query + " {\n%r = attn.attention ins(%q, %k, %k : " +
                      types + ") outs(%q : " + query + ") " + plan +
                      "\nreturn %r : " + query + "\n}",
                  length);
  }

  /// Of the one op in `text` that has a plan.
  std::vector<std::string>
  listIn(const std::string &text,
         std::optional<std::int64_t> length = std::nullopt) {
    source = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(source);
    source->getOperation()->setAttr(TargetAttr::kModuleAttr,
                                    parseTarget(target, &context));
    std::vector<std::string> plans;
    source->walk([&](mlir::Operation *op) {
      if (!hasPlanToTune(op))
        return;
      mlir::DictionaryAttr before = op->getAttrDictionary();
      for (PlanAttr neighbour : listPlanNeighbours(op, length))
        llvm::raw_string_ostream(plans.emplace_back()) << neighbour;
      EXPECT_EQ(op->getAttrDictionary(), before);
    });
    return plans;
  }

  std::string target = "vector_bits = 256";
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> source;
};

TEST_F(PlanNeighbours, many_queries) {
  EXPECT_THAT(
      list("tensor<1x8x512x64xf32>", "tensor<1x8x512x64xf32>"),
      UnorderedElementsAre("#attn.plan<keys = 128>", "#attn.plan<keys = 32>",
                           "#attn.plan<rows = 64>", "#attn.plan<rows = 16>"));
}

// Tiles of one number of queries would be those of all.
TEST_F(PlanNeighbours, any_number_of_queries) {
  EXPECT_THAT(
      list("tensor<1x8x?x64xf32>", "tensor<1x8x?x64xf32>"),
      UnorderedElementsAre("#attn.plan<keys = 128>", "#attn.plan<keys = 32>"));
  EXPECT_THAT(list("tensor<1x8x?x64xf32>", "tensor<1x2x?x64xf32>", "",
                   /*length=*/1),
              UnorderedElementsAre(
                  "#attn.plan<keys = 32>", "#attn.plan<keys = 8>",
                  "#attn.plan<chunk = 2048>", "#attn.plan<chunk = 512>",
                  "#attn.plan<ahead = 32000>", "#attn.plan<ahead = 8000>"));
}

// So would those of multi-token attention.
TEST_F(PlanNeighbours, multi_token_attention) {
  auto list = [&](const std::string &rows) {
    std::string query = "tensor<1x2x" + rows + "x16xf32>";
    return listIn(
        "func.func @f(%q: " + query +
        ", %k: tensor<1x2x512x16xf32>, %w: tensor<1x2x2xf32>) -> " + query +
        " {\n%r = attn.multi_token_attention ins(%q, %k, %k : " + query +
        ", tensor<1x2x512x16xf32>, tensor<1x2x512x16xf32>) outs(%q : " + query +
        ") mix_before(%w : tensor<1x2x2xf32>)\nreturn %r : " + query + "\n}");
  };
  EXPECT_THAT(list("?"), Each(HasSubstr("<keys = ")));
  EXPECT_THAT(list("?"), Not(IsEmpty()));
  EXPECT_THAT(list("256"), Contains(HasSubstr("<rows = ")));
}

// Values of pairs may be packed elsewhere.
TEST_F(PlanNeighbours, packs) {
  target = "vector_bits = 512, bf16_dot = true";
  std::vector<std::string> plans =
      list("tensor<1x8x512x64xbf16>", "tensor<1x8x512x64xbf16>");
  EXPECT_THAT(plans, Contains("#attn.plan<packs = block>"));
  EXPECT_THAT(plans, Contains("#attn.plan<packs = kept>"));
  EXPECT_THAT(plans, Not(Contains("#attn.plan<packs = shared>")));
}

// What is said stays, and is where neighbours begin.
TEST_F(PlanNeighbours, of_what_is_said) {
  std::vector<std::string> plans =
      list("tensor<1x8x512x64xf32>", "tensor<1x8x512x64xf32>",
           "{attn.plan = #attn.plan<keys = 32>}");
  EXPECT_THAT(plans, Contains("#attn.plan<keys = 64>"));
  EXPECT_THAT(plans, Contains("#attn.plan<keys = 16>"));
  EXPECT_THAT(plans, Contains("#attn.plan<rows = 16, keys = 32>"));
}

// One order of sums is still one: there are no chunks.
TEST_F(PlanNeighbours, batch_invariant) {
  for (const std::string &plan :
       list("tensor<1x8x1x64xf32>", "tensor<1x2x?x64xf32>",
            "{attn.plan = #attn.plan<batch_invariant = true>}")) {
    EXPECT_THAT(plan, HasSubstr("batch_invariant = true"));
    EXPECT_THAT(plan, Not(HasSubstr("chunk")));
  }
}

TEST_F(PlanNeighbours, none) {
  EXPECT_THAT(list("tensor<1x8x0x64xf32>", "tensor<1x8x0x64xf32>"), IsEmpty());
  // A plan that cannot be carried out.
  EXPECT_THAT(list("tensor<1x8x512x64xf32>", "tensor<1x8x512x64xf32>",
                   "{attn.plan = #attn.plan<heads = 3>}"),
              IsEmpty());
}

} // namespace
