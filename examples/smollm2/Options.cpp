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
    "\n"
    "Continues a text with SmolLM2-135M.\n"
    "\n"
    "  --tokens N         write at most N tokens (default: 64)\n"
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
    temperatureOption,
    seedOption,
    threadsOption,
    activationsOption,
    weightsOption,
    cacheOption,
    repeatOption,
    helpOption
  };
  static const option known[] = {
      {"tokens", required_argument, nullptr, tokensOption},
      {"temperature", required_argument, nullptr, temperatureOption},
      {"seed", required_argument, nullptr, seedOption},
      {"threads", required_argument, nullptr, threadsOption},
      {"activations", required_argument, nullptr, activationsOption},
      {"weights", required_argument, nullptr, weightsOption},
      {"cache-dir", required_argument, nullptr, cacheOption},
      {"repeat", required_argument, nullptr, repeatOption},
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
  if (argc - optind != 2)
    return Error{"expected MODEL.gguf and PROMPT, got " +
                     std::to_string(argc - optind) +
                     " arguments; --help says more",
                 {}};
  options.model = argv[optind];
  options.prompt = argv[optind + 1];
  return options;
}
