//===- CutFunctionsTest.cpp - Large functions in two ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Bridge/CutFunctions.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <string>
#include <vector>

using namespace attn;

namespace {

/// A loop whose iterations run `inner` loops, one after the other, each with
/// `instructions` multiplications. `afterEach` may leave the outer loop.
std::string writeNest(unsigned inner, unsigned instructions,
                      const std::string &afterEach = "") {
  std::string text =
      "define i32 @f(i32 %n) {\n"
      "entry:\n  br label %outer\n"
      "outer:\n  %i = phi i32 [ 0, %entry ], [ %i.next, %latch ]\n"
      "  %x = phi i32 [ 1, %entry ], [ %sum, %latch ]\n"
      "  br label %before0\n";
  std::string value = "%x";
  for (unsigned k = 0; k < inner; ++k) {
    std::string n = std::to_string(k);
    text += "before" + n + ":\n  br label %loop" + n + "\nloop" + n +
            ":\n  %j" + n + " = phi i32 [ 0, %before" + n + " ], [ %j" + n +
            ".next, %loop" + n + " ]\n";
    for (unsigned m = 0; m < instructions; ++m) {
      std::string next = "%v" + n + "." + std::to_string(m);
      text += "  " + next + " = mul i32 " + value + ", %i\n";
      value = next;
    }
    std::string next =
        k + 1 < inner ? "before" + std::to_string(k + 1) : "latch";
    text += "  %j" + n + ".next = add i32 %j" + n + ", 1\n  %c" + n +
            " = icmp slt i32 %j" + n + ".next, %n\n  br i1 %c" + n +
            ", label %loop" + n + ", label %after" + n + "\nafter" + n + ":\n";
    text += afterEach.empty() ? "  br label %" + next + "\n"
                              : "  br i1 " + afterEach +
                                    ", label %exit, label %" + next + "\n";
  }
  return text + "latch:\n  %sum = add i32 " + value +
         ", 1\n  %i.next = add i32 %i, 1\n  %c = icmp slt i32 %i.next, %n\n"
         "  br i1 %c, label %outer, label %exit\nexit:\n  ret i32 %x\n}\n";
}

/// How many instructions the functions have after `text` is cut.
std::vector<unsigned> cut(const std::string &text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(text, error, context);
  if (!module) {
    ADD_FAILURE() << error.getMessage().str();
    return {};
  }
  cutFunctions(*module);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  std::vector<unsigned> sizes;
  for (llvm::Function &function : *module)
    if (!function.isDeclaration())
      sizes.push_back(function.getInstructionCount());
  return sizes;
}

TEST(CutFunctions, CutsTheLoopThatMostIsIn) {
  std::vector<unsigned> sizes = cut(writeNest(10, 100));
  ASSERT_EQ(sizes.size(), 2u);
  EXPECT_NEAR(double(sizes[0]), double(sizes[1]), 150);
}

TEST(CutFunctions, LeavesSmallFunctions) {
  EXPECT_EQ(cut(writeNest(10, 20)).size(), 1u);
}

TEST(CutFunctions, DoesNotCutLoops) {
  EXPECT_EQ(cut(writeNest(1, 1000)).size(), 1u);
}

TEST(CutFunctions, LeavesLoopsThatEndAnywhere) {
  EXPECT_EQ(cut(writeNest(10, 100, "%c0")).size(), 1u);
}

TEST(CutFunctions, LeavesTiles) {
  std::string text = writeNest(10, 100);
  auto insert = [&](const std::string &label, const std::string &instruction) {
    text.insert(text.find(label) + label.size(), "  " + instruction + "\n");
  };
  insert("before0:\n",
         "%t = call x86_amx @llvm.x86.tilezero.internal(i16 16, i16 64)");
  insert("before9:\n",
         "call void @llvm.x86.tilestored64.internal(i16 16, i16 64, ptr null, "
         "i64 64, x86_amx %t)");
  text += "declare x86_amx @llvm.x86.tilezero.internal(i16, i16)\n"
          "declare void @llvm.x86.tilestored64.internal(i16, i16, ptr, i64, "
          "x86_amx)\n";
  EXPECT_EQ(cut(text).size(), 1u);
}

TEST(CutFunctions, LeavesOneBlock) {
  std::string text =
      "define i32 @f(i32 %x) {\nentry:\n  br label %loop\nloop:\n"
      "  %v0 = phi i32 [ %x, %entry ], [ %v999, %loop ]\n";
  for (unsigned i = 1; i < 1000; ++i)
    text += "  %v" + std::to_string(i) + " = mul i32 %v" +
            std::to_string(i - 1) + ", %x\n";
  text += "  %c = icmp slt i32 %v999, 9\n  br i1 %c, label %loop, label %exit\n"
          "exit:\n  ret i32 %v999\n}\n";
  EXPECT_EQ(cut(text).size(), 1u);
}

} // namespace
