//===- Options.td - The command line of attn-import --------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An option table for the reason that attn-run has one.
//
//===----------------------------------------------------------------------===//

include "llvm/Option/OptParser.td"

/// An option with a value: "--name value" or "--name=value".
multiclass Value<string name, string metavar, string help> {
  def NAME : Separate<["--"], name>, MetaVarName<metavar>, HelpText<help>;
  def NAME#_joined : Joined<["--"], name#"=">, Alias<!cast<Separate>(NAME)>;
}

def output : Separate<["-"], "o">, MetaVarName<"<file>">,
  HelpText<"MLIR file to write (default: standard output)">;
defm node : Value<"node", "<name>",
  "Import this node alone; its inputs become arguments">;
def remarks : Flag<["--"], "remarks">, HelpText<
  "Say what of the model is slower than one expects, and why">;
def help : Flag<["--"], "help">, HelpText<"Show this">;
def : Flag<["-"], "h">, Alias<help>;
