//===- Options.cpp - The command line of attn-compile ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-compile/Options.h"

#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::compile;
using namespace llvm::opt;

namespace {
enum OptionId {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include "tools/attn-compile/Options.inc"
#undef OPTION
};

#define OPTTABLE_STR_TABLE_CODE
#include "tools/attn-compile/Options.inc"
#undef OPTTABLE_STR_TABLE_CODE

#define OPTTABLE_PREFIXES_TABLE_CODE
#include "tools/attn-compile/Options.inc"
#undef OPTTABLE_PREFIXES_TABLE_CODE

constexpr OptTable::Info optionInfos[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include "tools/attn-compile/Options.inc"
#undef OPTION
};

class OptionTable : public GenericOptTable {
public:
  OptionTable()
      : GenericOptTable(OptionStrTable, OptionPrefixesTable, optionInfos) {}
};
} // namespace

Expected<Options> attn::compile::parseOptions(int argc, char **argv) {
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
  options.outputFile = parsed.getLastArgValue(OPT_output);
  if (options.outputFile.empty())
    return Error{"-o: expected the name of the object file", {}};
  options.headerFile = parsed.getLastArgValue(OPT_header);
  if (options.headerFile.empty())
    return Error{"--header: expected the name of the header", {}};
  ObjectOptions &object = options.object;
  object.name = parsed.getLastArgValue(OPT_name);
  object.cpu = parsed.getLastArgValue(OPT_cpu);
  object.entry = parsed.getLastArgValue(OPT_entry);
  object.pipeline = parsed.getLastArgValue(OPT_pipeline, object.pipeline);
  object.quantizeQueries = parsed.hasArg(OPT_quantize_queries);
  object.fileName = options.inputFile;
  options.remarks = parsed.hasArg(OPT_remarks);
  return options;
}

void attn::compile::printHelp() {
  OptionTable().printHelp(
      llvm::outs(), "attn-compile [options] file.mlir",
      "Compiles a function of an MLIR file into an object file for C");
}
