//===- Options.cpp - The command line of attn-import ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-import/Options.h"

#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::import_onnx;
using namespace llvm::opt;

namespace {
enum OptionId {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include "tools/attn-import/Options.inc"
#undef OPTION
};

#define OPTTABLE_STR_TABLE_CODE
#include "tools/attn-import/Options.inc"
#undef OPTTABLE_STR_TABLE_CODE

#define OPTTABLE_PREFIXES_TABLE_CODE
#include "tools/attn-import/Options.inc"
#undef OPTTABLE_PREFIXES_TABLE_CODE

constexpr OptTable::Info optionInfos[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include "tools/attn-import/Options.inc"
#undef OPTION
};

class OptionTable : public GenericOptTable {
public:
  OptionTable()
      : GenericOptTable(OptionStrTable, OptionPrefixesTable, optionInfos) {}
};
} // namespace

Expected<Options> attn::import_onnx::parseOptions(int argc, char **argv) {
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver(allocator);
  std::string problem;
  const OptionTable table; // The arguments point into it.
  InputArgList parsed = table.parseArgs(argc, argv, OPT_UNKNOWN, saver,
                                        [&](llvm::StringRef message) {
                                          if (problem.empty())
                                            problem = message.str();
                                        });
  Options options;
  options.help = parsed.hasArg(OPT_help);
  if (options.help)
    return options;
  if (!problem.empty())
    return Error{problem, {}};
  std::vector<std::string> inputs = parsed.getAllArgValues(OPT_INPUT);
  if (inputs.size() != 1)
    return Error{"expected one input file, got " +
                     std::to_string(inputs.size()) + "; see --help",
                 {}};
  options.inputFile = inputs.front();
  options.outputFile = parsed.getLastArgValue(OPT_output, options.outputFile);
  options.node = parsed.getLastArgValue(OPT_node);
  return options;
}

void attn::import_onnx::printHelp() {
  OptionTable().printHelp(
      llvm::outs(), "attn-import [options] model.onnx",
      "Writes what an ONNX model computes as an MLIR file for attn-run");
}
