//===- Options.cpp - What a user asks for ---------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/Options.h"

#include "examples/gguf/Message.h"

#include <charconv>
#include <getopt.h>
#include <string_view>

using namespace smollm2;
using attn::ElementType;
using attn::Error;
using attn::Expected;
using attn::Status;

const char smollm2::usage[] =
    "usage: smollm2 [options] MODEL.gguf PROMPT\n"
    "       smollm2 [options] MODEL.gguf --sequences FILE\n"
    "\n"
    "Continues texts with SmolLM2-135M or another small model of its kind.\n"
    "\n"
    "  --tokens N         write at most N tokens of each (default: 64)\n"
    "  --sequences FILE   continue a prompt for each line, in which \\n is a "
    "new line,\n"
    "                     \\t a tab and \\\\ a backslash\n"
    "  --batch N          that many of them at the same time (default: 8)\n"
    "  --step-tokens N    read at most N tokens in a step (default: 512)\n"
    "  --draft N          guess N tokens ahead, from what the text has said "
    "before\n"
    "                     (default: 0)\n"
    "  --temperature T    0: always the most likely token (default); else "
    "from\n"
    "                     the distribution, flatter the higher T is\n"
    "  --seed N           of the random choices (default: 0)\n"
    "  --threads N        0: one for each processor (default)\n"
    "  --activations T    f32: multiply them as they are (default); bf16: "
    "round "
    "them,\n"
    "                     which is faster, and may give other tokens\n"
    "  --weights T        bf16: round them (default); i8: quantise them, each "
    "output\n"
    "                     with a scale, so that a token reads half as much\n"
    "  --cache-dir DIR    keep compiled kernels there, for the next time\n"
    "  --repeat N         read the prompt N times, and say how long it took "
    "in\n"
    "                     the median (default: 1)\n"
    "  --mpi              this is one of several processes that mpirun "
    "started,\n"
    "                     which share heads and the feed-forward network; the "
    "first\n"
    "                     one prints\n"
    "  --help             print this\n";

/// Reads all of `text` as a number from `least` to `most`.
template <typename T>
static Status readNumber(const char *option, std::string_view text, T least,
                         T most, T &number) {
  const char *end = text.data() + text.size();
  auto [rest, code] = std::from_chars(text.data(), end, number);
  if (code == std::errc() && rest == end && number >= least && number <= most)
    return {};
  auto spell = [](T value) {
    char buffer[32];
    return std::string(buffer, std::to_chars(buffer, buffer + 32, value).ptr);
  };
  return Error{std::string("--") + option + ": expected a number from " +
                   spell(least) + " to " + spell(most) + ", got " +
                   gguf::quoted(text),
               {}};
}

/// Reads a type, which is `first` or `second`.
static Status readType(const char *option, std::string_view text,
                       ElementType first, ElementType second,
                       ElementType &type) {
  for (ElementType known : {first, second})
    if (text == attn::nameOf(known)) {
      type = known;
      return {};
    }
  return Error{std::string("--") + option + ": expected '" +
                   std::string(attn::nameOf(first)) + "' or '" +
                   std::string(attn::nameOf(second)) + "', got " +
                   gguf::quoted(text),
               {}};
}

Expected<Options> Options::parse(int argc, char **argv) {
  enum {
    tokensOption = 1,
    sequencesOption,
    batchOption,
    stepTokensOption,
    draftOption,
    temperatureOption,
    seedOption,
    threadsOption,
    activationsOption,
    weightsOption,
    cacheOption,
    repeatOption,
    mpiOption,
    helpOption
  };
  static const option known[] = {
      {"tokens", required_argument, nullptr, tokensOption},
      {"sequences", required_argument, nullptr, sequencesOption},
      {"batch", required_argument, nullptr, batchOption},
      {"step-tokens", required_argument, nullptr, stepTokensOption},
      {"draft", required_argument, nullptr, draftOption},
      {"temperature", required_argument, nullptr, temperatureOption},
      {"seed", required_argument, nullptr, seedOption},
      {"threads", required_argument, nullptr, threadsOption},
      {"activations", required_argument, nullptr, activationsOption},
      {"weights", required_argument, nullptr, weightsOption},
      {"cache-dir", required_argument, nullptr, cacheOption},
      {"repeat", required_argument, nullptr, repeatOption},
      {"mpi", no_argument, nullptr, mpiOption},
      {"help", no_argument, nullptr, helpOption},
      {}};
  Options options;
  opterr = 0; // Errors are ours to print.
  // ':' tells an option without its argument from one that is not known.
  for (int which, index = 0;
       (which = getopt_long(argc, argv, ":", known, &index)) != -1;) {
    Status status;
    switch (which) {
    case tokensOption:
      status = readNumber<std::int64_t>("tokens", optarg, 1, 1 << 30,
                                        options.tokens);
      break;
    case sequencesOption:
      options.sequences = optarg;
      break;
    case batchOption:
      status = readNumber<std::int64_t>("batch", optarg, 1, 256, options.batch);
      break;
    case stepTokensOption:
      status = readNumber<std::int64_t>("step-tokens", optarg, 1, 65536,
                                        options.stepTokens);
      break;
    case draftOption:
      status =
          readNumber<std::int64_t>("draft", optarg, 0, 64, options.draftTokens);
      break;
    case temperatureOption:
      status =
          readNumber("temperature", optarg, 0.0, 100.0, options.temperature);
      break;
    case seedOption:
      status = readNumber<std::uint64_t>("seed", optarg, 0, UINT64_MAX,
                                         options.seed);
      break;
    case threadsOption:
      status = readNumber("threads", optarg, 0u, 1024u, options.threads);
      break;
    case activationsOption:
      status = readType("activations", optarg, ElementType::f32,
                        ElementType::bf16, options.activations);
      break;
    case weightsOption:
      status = readType("weights", optarg, ElementType::bf16, ElementType::i8,
                        options.weights);
      break;
    case cacheOption:
      options.cacheDirectory = optarg;
      break;
    case repeatOption:
      status =
          readNumber<std::int64_t>("repeat", optarg, 1, 1000, options.repeat);
      break;
    case mpiOption:
      options.ofRanks = true;
      break;
    case helpOption:
      options.help = true;
      return options;
    case ':':
      return Error{"expected a value after " + gguf::quoted(argv[optind - 1]),
                   {}};
    default:
      return Error{"expected an option of --help, got " +
                       gguf::quoted(argv[optind - 1]),
                   {}};
    }
    if (!status)
      return status.error();
  }
  bool isFile = !options.sequences.empty();
  if (argc - optind != (isFile ? 1 : 2))
    return Error{std::string("expected MODEL.gguf and ") +
                     (isFile ? "no PROMPT with --sequences" : "PROMPT") +
                     ", got " + std::to_string(argc - optind) +
                     " arguments; --help says more",
                 {}};
  if (isFile && options.repeat != 1)
    return Error{"--repeat: expected none with --sequences, got " +
                     std::to_string(options.repeat),
                 {}};
  // Each that runs has a token in a step.
  if (options.stepTokens < options.batch)
    return Error{"--step-tokens: expected at least --batch, which is " +
                     std::to_string(options.batch) + ", got " +
                     std::to_string(options.stepTokens),
                 {}};
  options.model = argv[optind];
  if (!isFile)
    options.prompt = argv[optind + 1];
  return options;
}
