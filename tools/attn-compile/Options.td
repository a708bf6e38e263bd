//===- Options.td - The command line of attn-compile -------*- tablegen -*-===//
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
  HelpText<"Object file to write">;
defm header : Value<"header", "<file>", "C header to write">;
defm name : Value<"name", "<name>",
  "Name of the function in C (default: that in the file)">;
defm entry : Value<"entry", "<name>",
  "Function to compile (default: the only public one)">;
defm cpu : Value<"cpu", "<name>",
  "Processor to compile for, such as x86-64-v3 (default: this\n"
  "machine)">;
defm pipeline : Value<"pipeline", "<name>",
  "Lowering: cpu (default), or reference, slow and plain">;
def quantize_queries : Flag<["--"], "quantize-queries">, HelpText<
  "Multiply keys in caches of i8 as integers, with queries\n"
  "rounded to i8, where the processor has dot products of them">;
def remarks : Flag<["--"], "remarks">, HelpText<
  "Say where the kernel is slower than its text lets expect, and\n"
  "why">;
def help : Flag<["--"], "help">, HelpText<"Show this">;
def : Flag<["-"], "h">, Alias<help>;
