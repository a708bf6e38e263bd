//===- CObjects.cpp - Objects, blocks and summaries for C -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/blocks_c.h"
#include "attn/object_c.h"

#include "attn/blocks.h"
#include "attn/object.h"
#include "runtime/Builder/BlockRanges.h"
#include "runtime/Builder/CInterface.h"
#include "runtime/Support/MessageForC.h"
#include "runtime/Support/TensorConversion.h"

using namespace attn;
using namespace attn::builder;
using std::string;
using support::copyForC;
using support::failNull;

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

static ObjectOptions convert(const attn_object_options &options) {
  return {.name = getText(options.name),
          .cpu = getText(options.cpu),
          .entry = getText(options.entry),
          .pipeline = getText(options.pipeline, "cpu"),
          .quantizeQueries = options.quantize_queries,
          .fileName = getText(options.file_name, "<string>")};
}

char *attn_compile_to_object(const char *text,
                             const attn_object_options *options, char **object,
                             std::size_t *objectSize, char **header) {
  if (!object)
    return failNull("object");
  *object = nullptr;
  if (!objectSize)
    return failNull("object_size");
  *objectSize = 0;
  if (!header)
    return failNull("header");
  *header = nullptr;
  if (!text)
    return failNull("text");
  Expected<ObjectFile> compiled =
      compileToObject(text, options ? convert(*options) : ObjectOptions());
  if (!compiled)
    return failForC(compiled.error());
  *object = copyForC(compiled->object);
  *objectSize = compiled->object.size();
  *header = copyForC(compiled->header);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

static BlockOptions convert(const attn_block_options &options) {
  auto getNumber = [](const std::int64_t *number) {
    return number ? std::optional(*number) : std::nullopt;
  };
  return {.batch = getNumber(options.batch),
          .queryLength = getNumber(options.query_length),
          .keyLength = getNumber(options.key_length),
          .offset = getNumber(options.offset),
          .format = options.svg ? BlockOptions::Format::svg
                                : BlockOptions::Format::text,
          .entry = getText(options.entry),
          .fileName = getText(options.file_name, "<string>"),
          .cpu = getText(options.cpu)};
}

char *attn_show_blocks(const char *text, const attn_block_options *options,
                       char **shown) {
  if (!shown)
    return failNull("shown");
  *shown = nullptr;
  if (!text)
    return failNull("text");
  return storeForC(
      showBlocks(text, options ? convert(*options) : BlockOptions()), shown);
}

//===----------------------------------------------------------------------===//
// Summaries
//===----------------------------------------------------------------------===//

struct attn_block_summary {
  BlockRanges computed;
};

char *attn_block_summary_create(const attn_engine *engine,
                                const attn_tensor *table,
                                const std::int64_t *blocks,
                                attn_block_summary **summary) {
  if (!summary)
    return failNull("summary");
  *summary = nullptr;
  if (!engine)
    return failNull("engine");
  if (!table)
    return failNull("table");
  if (!blocks)
    return failNull("blocks");
  Expected<TensorView> view = support::convertTensor(
      table, /*readOnly=*/true, [] { return string("table"); });
  if (!view)
    return failForC(view.error());
  // The ranges have a dimension more.
  if (isFloat(view->type()) || isFloat8(view->type()) || view->rank() < 1 ||
      view->rank() >= TensorView::maxRank)
    return copyForC("table: expected integers, or i1, of rank 1 to " +
                    std::to_string(TensorView::maxRank - 1) + ", got " +
                    string(nameOf(view->type())) + " of rank " +
                    std::to_string(view->rank()));
  auto rank = std::size_t(view->rank());
  detail::DeclarationPtr tensor({.name = "table",
                                 .type = view->type(),
                                 .shape = std::vector(rank, dynamic),
                                 .blocks = {blocks, blocks + rank}});
  Expected<BlockRanges> computed =
      computeBlockRanges(engine->engine, tensor, *view);
  if (!computed)
    return failForC(computed.error());
  *summary = new attn_block_summary{*computed};
  return nullptr;
}

char *attn_block_summary_ranges(const attn_block_summary *summary,
                                attn_tensor *ranges) {
  if (!ranges)
    return failNull("ranges");
  *ranges = {};
  if (!summary)
    return failNull("summary");
  const TensorView &view = summary->computed.ranges;
  *ranges = {.data = view.data(),
             .type = int(view.type()),
             .rank = view.rank(),
             .sizes = view.sizes().data(),
             .strides = nullptr};
  return nullptr;
}

void attn_block_summary_destroy(attn_block_summary *summary) { delete summary; }
