//===- BlockSummary.cpp - What masks read, block by block -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/block_summary.h"

#include "runtime/Builder/BlockRanges.h"
#include "runtime/Builder/Parameters.h"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

using namespace attn;
using namespace attn::builder;
using detail::Declaration;
using std::string;

/// A kernel that takes the table and the number of blocks in each dimension,
/// which does not follow from the sizes by sums alone.
static string writeSummarize(const Declaration &table) {
  string arguments, counts, zeros, sizes, ones, blocks;
  Declaration range{"", table.type, true, {}},
      ranges{"", table.type, true, {2}};
  for (std::size_t dim = 0; dim < table.blocks.size(); ++dim) {
    string count = "%count." + std::to_string(dim);
    string separator = dim == 0 ? "" : ", ";
    arguments += ", " + count + ": index";
    counts += separator + count;
    blocks += separator + std::to_string(table.blocks[dim]);
    zeros += ", 0";
    sizes += ", " + count;
    ones += ", 1";
    range.shape.push_back(dynamic);
    ranges.shape.push_back(dynamic);
  }
  string type = writeType(range), joint = writeType(ranges);
  string pair = type + ", " + type, input = "%" + table.name;
  auto insert = [&](const string &result, const string &source,
                    const string &into, int part) {
    return "  " + result + " = tensor.insert_slice " + source + " into " +
           into + "[" + std::to_string(part) + zeros + "] [1" + sizes + "] [1" +
           ones + "] : " + type + " into " + joint + "\n";
  };
  return "func.func @summarize(" + input + ": " + writeType(table) + arguments +
         ") -> " + joint + " {\n  %l = tensor.empty(" + counts + ") : " + type +
         "\n  %h = tensor.empty(" + counts + ") : " + type +
         "\n  %0:2 = attn.block_range ins(" + input + " : " + writeType(table) +
         ") outs(%l, %h : " + pair + ") blocks [" + blocks + "] -> " + pair +
         "\n  %1 = tensor.empty(" + counts + ") : " + joint + "\n" +
         insert("%2", "%0#0", "%1", 0) + insert("%3", "%0#1", "%2", 1) +
         "  return %3 : " + joint + "\n}\n";
}

Expected<BlockRanges>
builder::computeBlockRanges(const Engine &engine,
                            const detail::DeclarationPtr &tensor,
                            const TensorView &table) {
  if (tensor->blocks.empty())
    return Error{"argument '" + tensor->name +
                     "': expected a tensor that is summarized, got one without "
                     "sizes of blocks",
                 {}};
  Parameters parameters;
  if (Status added = parameters.add(tensor); !added)
    return std::move(added).error();
  Expected<Kernel> kernel = engine.compile(writeSummarize(*tensor));
  if (!kernel)
    return std::move(kernel).error();

  std::vector<Argument> arguments = {table};
  for (std::size_t dim = 0; dim < tensor->blocks.size(); ++dim) {
    // Of a table that the kernel refuses, any number.
    std::int64_t size = int(dim) < table.rank() ? table.size(int(dim)) : 0;
    std::int64_t block = tensor->blocks[dim];
    arguments.push_back(
        std::max<std::int64_t>(0, size / block + (size % block > 0)));
  }
  Expected<std::vector<std::vector<std::int64_t>>> shapes =
      kernel->resultShapes(arguments);
  if (!shapes)
    return std::move(shapes).error();
  std::size_t bytes = std::size_t(sizeOf(tensor->type));
  for (std::int64_t size : (*shapes)[0])
    bytes *= std::size_t(size);
  std::shared_ptr<std::byte[]> memory(new (std::nothrow) std::byte[bytes]);
  if (!memory)
    return Error{"argument '" + tensor->name +
                     "': no memory for the ranges of "
                     "its blocks, which take " +
                     std::to_string(bytes) + " bytes",
                 {}};
  auto view = [&](bool readOnly) {
    return TensorView(memory.get(), tensor->type, (*shapes)[0], readOnly);
  };
  TensorView results[] = {view(false)};
  if (Status status = kernel->run(arguments, results); !status)
    return std::move(status).error();
  TensorView ranges = view(true);
  return BlockRanges{std::move(memory), ranges};
}

Expected<BlockSummary>
BlockSummary::create(const Engine &engine, const detail::DeclarationPtr &tensor,
                     const TensorView &table) {
  Expected<BlockRanges> computed = computeBlockRanges(engine, tensor, table);
  if (!computed)
    return std::move(computed).error();
  return BlockSummary(std::move(computed->memory), computed->ranges);
}
