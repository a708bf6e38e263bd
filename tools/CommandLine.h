//===- CommandLine.h - The options of a tool with one input -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the one file of a tool that reads its options: ATTN_OPTIONS, which it
// defines before, is the path of the table that llvm-tblgen makes of them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMMANDLINE_H
#define ATTN_TOOLS_COMMANDLINE_H

#include "attn/error.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/StringSaver.h"

#include <string>
#include <vector>

namespace {

enum OptionId {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include ATTN_OPTIONS
#undef OPTION
};

#define OPTTABLE_STR_TABLE_CODE
#include ATTN_OPTIONS
#undef OPTTABLE_STR_TABLE_CODE

#define OPTTABLE_PREFIXES_TABLE_CODE
#include ATTN_OPTIONS
#undef OPTTABLE_PREFIXES_TABLE_CODE

using namespace llvm::opt; // What the table is written in.

constexpr OptTable::Info optionInfos[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include ATTN_OPTIONS
#undef OPTION
};

class OptionTable : public GenericOptTable {
public:
  OptionTable()
      : GenericOptTable(OptionStrTable, OptionPrefixesTable, optionInfos) {}
};

/// Reads --help, after which nothing else counts, the input file and, by
/// `read`, the other options.
template <typename Options>
attn::Expected<Options> parseCommandLine(
    int argc, char **argv,
    llvm::function_ref<attn::Status(const InputArgList &, Options &)> read) {
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
    return attn::Error{problem, {}};
  std::vector<std::string> inputs = parsed.getAllArgValues(OPT_INPUT);
  if (inputs.size() != 1)
    return attn::Error{"expected one input file, got " +
                           std::to_string(inputs.size()) + "; see --help",
                       {}};
  options.inputFile = inputs.front();
  if (attn::Status status = read(parsed, options); !status)
    return status.error();
  return options;
}

} // namespace

#endif // ATTN_TOOLS_COMMANDLINE_H
