//===- VariantRun.cpp - A call of a variant -------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/VariantRun.h"

#include "attn/engine.h"

#include "gtest/gtest.h"

bool attn::test::runVariant(const Attention &attention,
                            const CreateArguments &createArguments,
                            std::span<const TensorView> results) {
  static const Expected<Engine> engine = Engine::create();
  EXPECT_TRUE(engine.ok());
  Expected<Kernel> kernel = engine->compile(attention);
  EXPECT_TRUE(kernel.ok()) << (kernel ? "" : kernel.error().message);
  if (!kernel)
    return false;
  Status status = kernel->run(createArguments(kernel->signature()), results);
  EXPECT_TRUE(status.ok()) << (status ? "" : status.error().message);
  return status.ok();
}
