//===- PrintBlocks.cpp - Show the blocks that a kernel computes -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/BlockMap/BlockMap.h"
#include "lib/BlockMap/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::attn {
#define GEN_PASS_DEF_PRINTBLOCKS
#include "lib/BlockMap/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static LogicalResult writePicture(Location loc, StringRef path,
                                  ArrayRef<BlockMap> maps) {
  if (auto file = loc->findInstanceOf<FileLineColLoc>();
      file && llvm::sys::fs::equivalent(file.getFilename().getValue(), path))
    return emitError(loc)
           << "svg: expected another file than that of the input, got '" << path
           << "'";
  std::string problem;
  std::unique_ptr<llvm::ToolOutputFile> file = openOutputFile(path, &problem);
  if (!file)
    return emitError(loc) << "svg: " << problem;
  drawBlockMaps(file->os(), maps);
  file->os().close();
  if (std::error_code error = file->os().error()) {
    file->os().clear_error(); // Or the destructor ends the process.
    return emitError(loc) << "svg: cannot write " << path << ": "
                          << error.message();
  }
  file->keep();
  return success();
}

namespace {
struct PrintBlocks : attn::impl::PrintBlocksBase<PrintBlocks> {
  using PrintBlocksBase::PrintBlocksBase;

  void runOnOperation() override {
    auto given = [](const Option<int64_t> &option) {
      return option.hasValue() ? std::optional<int64_t>(option.getValue())
                               : std::nullopt;
    };
    BlockMapOptions options = {
        .batch = given(batch),
        .queryLength = given(queryLength),
        .keyLength = given(keyLength),
        .offset = given(offset),
        .queryBlock = given(queryBlock),
        .keyBlock = given(keyBlock),
    };
    FailureOr<std::vector<BlockMap>> maps =
        computeBlockMaps(getOperation(), options);
    if (failed(maps))
      return signalPassFailure();
    if (!svg.empty() &&
        failed(writePicture(getOperation().getLoc(), svg, *maps)))
      return signalPassFailure();
    printBlockMaps(llvm::outs(), *maps);
    markAllAnalysesPreserved();
  }
};
} // namespace
