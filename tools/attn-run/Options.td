//===- Options.td - The command line of attn-run -----------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An option table and not llvm::cl, because libLLVM.so has already registered
// options such as --threads there, and aborts when a name comes twice.
//
//===----------------------------------------------------------------------===//

include "llvm/Option/OptParser.td"

/// An option with a value: "--name value" or "--name=value".
multiclass Value<string name, string metavar, string help> {
  def NAME : Separate<["--"], name>, MetaVarName<metavar>, HelpText<help>;
  def NAME#_joined : Joined<["--"], name#"=">, Alias<!cast<Separate>(NAME)>;
}

defm entry : Value<"entry", "<name>",
  "Function to run (default: the only public one)">;
defm arg : Value<"arg", "<file|number:type|sizes|->",
  "Argument, in function order: a .npy file; a scalar such as\n"
  "3:index or 0.5:f32; the sizes of a tensor that is filled as by\n"
  "--random, such as 1x8x512x64; or - to leave it to --random. An\n"
  "f32 file is rounded for an argument of bf16 or of a float of\n"
  "8 bits">;
defm random : Value<"random", "<seed>",
  "Fill arguments that are not given: floats from the standard\n"
  "normal distribution, weights divided by the square root of\n"
  "the number of inputs, tensors of i1 with 0 or 1, other\n"
  "integers with 0. A dynamic size is what the given arguments\n"
  "require, or else 64">;
defm out : Value<"out", "<file|->",
  "File for a result, in order; - writes none. bf16 and floats of\n"
  "8 bits are written as f32">;
defm expect : Value<"expect", "<file>",
  "Compare a result, in order, with a .npy file, print the\n"
  "largest error, and exit with 1 if it exceeds the tolerance of\n"
  "the result's type">;
def check : Flag<["--"], "check">, HelpText<
  "Compare every result with what an interpreter computes in\n"
  "float64, as --expect does with files. Slow">;
defm pipeline : Value<"pipeline", "<name>",
  "Lowering: cpu (default); reference, slow and plain, to compare\n"
  "with; gpu, for the machine's NVIDIA GPU; or gpu-emulator,\n"
  "kernels for GPUs, executed on the CPU, or\n"
  "gpu-emulator-sm_90a, those for Hopper's">;
def fall_back_to_cpu : Flag<["--"], "fall-back-to-cpu">, HelpText<
  "Use pipeline cpu where gpu fails, as without a GPU">;
def quantize_queries : Flag<["--"], "quantize-queries">, HelpText<
  "Multiply keys in caches of i8 as integers, with queries\n"
  "rounded to i8, where the processor has dot products of them;\n"
  "--check and --expect allow for it">;
defm cpu : Value<"cpu", "<name>",
  "Processor to compile for, such as x86-64-v3, whose code this\n"
  "machine can execute (default: this machine)">;
defm threads : Value<"threads", "<number>",
  "Threads to run on; 0: as many as there are processors\n"
  "(default: 1)">;
defm repeat : Value<"repeat", "<number>",
  "Run this often; report the least and the median time">;
defm json : Value<"json", "<file>",
  "Write the report as JSON too, with the FLOP/s of its attention\n"
  "as if nothing were masked">;
defm emit : Value<"emit", "<form>",
  "Print the code and run nothing: mlir, the LLVM dialect; llvm,\n"
  "optimised LLVM IR; asm; or obj, an object file">;
def assembly : Flag<["-"], "S">, HelpText<"The same as --emit=asm">;
def output : Separate<["-"], "o">, MetaVarName<"<file>">,
  HelpText<"File for --emit (default: stdout)">;
def remarks : Flag<["--"], "remarks">, HelpText<
  "Say where the kernel is slower than its text lets expect, and\n"
  "why">;
def gradient : Flag<["--"], "gradient">, HelpText<
  "Run the gradient of the function: its arguments are followed\n"
  "by the gradients of a number with respect to its results, and\n"
  "its results are those with respect to the arguments of\n"
  "floats; --gradient=<names> for those of some, such as\n"
  "query,key">;
def gradient_of : Joined<["--"], "gradient=">, Flags<[HelpHidden]>;
def tangent : Flag<["--"], "tangent">, HelpText<
  "Run the tangent of the function, or of its gradient with\n"
  "--gradient: its arguments are followed by tangents of those of\n"
  "floats, and its results are how fast results move;\n"
  "--tangent=<names> for tangents of some">;
def tangent_of : Joined<["--"], "tangent=">, Flags<[HelpHidden]>;
def tune : Flag<["--"], "tune">, HelpText<
  "Look for plans with which this call is faster, for 10\n"
  "seconds; --tune=<seconds> for others. With --cache-dir, they\n"
  "are kept and used from then on">;
def tune_seconds : Joined<["--"], "tune=">, Flags<[HelpHidden]>;
defm cache_dir : Value<"cache-dir", "<directory>",
  "Keep compiled kernels here">;
def mpi : Flag<["--"], "mpi">, HelpText<
  "Run as one of the ranks that mpirun started: arguments and\n"
  "results are those of the whole, of which each rank computes\n"
  "what shard.shard or --split says; rank 0 writes and reports">;
defm split : Value<"split", "<what>",
  "Split query, key and value of a function without shard.shard\n"
  "among all ranks: by batch, heads, sequence (the rows of all\n"
  "three; ring, gather and ulysses also say how keys are\n"
  "exchanged) or keys (the rows of key and value)">;
defm time_limit : Value<"time-limit", "<seconds>",
  "How long a rank waits for another one (default: 120)">;
def help : Flag<["--"], "help">, HelpText<"Show this">;
def : Flag<["-"], "h">, Alias<help>;
