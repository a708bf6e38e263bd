//===- Options.td - Command line of attn-tune --------------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "llvm/Option/OptParser.td"

/// An option with a value: "--name value" or "--name=value".
multiclass Value<string name, string metavar, string help> {
  def NAME : Separate<["--"], name>, MetaVarName<metavar>, HelpText<help>;
  def NAME#_joined : Joined<["--"], name#"=">, Alias<!cast<Separate>(NAME)>;
}

defm entry : Value<"entry", "<name>",
  "Function to tune (default: the only public one)">;
defm sizes : Value<"sizes", "<sizes,...>",
  "Sizes of the tensors in the function's order, such as\n"
  "1x8x512x64,1x8x512x64; scalars and what is left to --random\n"
  "are -. The same as an --arg for each">;
defm arg : Value<"arg", "<file|number:type|sizes|->",
  "Argument, in function order, as attn-run takes it: lengths and\n"
  "tables of caches have to be given by their .npy files">;
defm random : Value<"random", "<seed>",
  "Fill arguments that are not given, as attn-run does">;
defm seconds : Value<"seconds", "<number>",
  "How long to look for plans (default: 10)">;
defm threads : Value<"threads", "<number>",
  "Threads to run on; 0: as many as there are processors\n"
  "(default: 1)">;
def quantize_queries : Flag<["--"], "quantize-queries">, HelpText<
  "As of attn-run">;
defm cache_dir : Value<"cache-dir", "<directory>",
  "Keep the plans here, too, with the kernel">;
def o : JoinedOrSeparate<["-"], "o">, MetaVarName<"<file>">, HelpText<
  "File for the module with the best plans (default: -, stdout)">;
def help : Flag<["--"], "help">, HelpText<"Show this">;
def : Flag<["-"], "h">, Alias<help>;
