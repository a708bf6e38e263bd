//===- Options.cpp - What a user asks for ---------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/Options.h"

#include "examples/smollm2/Message.h"

#include <charconv>
#include <getopt.h>
#include <string_view>

using namespace smollm2;
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
    "  --cache-dir DIR    keep compiled kernels there, for the next time\n"
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
                   quoted(text),
               {}};
}

static Status readType(const char *option, std::string_view text,
                       attn::ElementType &type) {
  if (text != "f32" && text != "bf16")
    return Error{std::string("--") + option +
                     ": expected 'f32' or 'bf16', got " + quoted(text),
                 {}};
  type = text == "f32" ? attn::ElementType::f32 : attn::ElementType::bf16;
  return {};
}

Expected<Options> Options::parse(int argc, char **argv) {
  enum {
    tokensOption = 1,
    temperatureOption,
    seedOption,
    threadsOption,
    activationsOption,
    cacheOption,
    helpOption
  };
  static const option known[] = {
      {"tokens", required_argument, nullptr, tokensOption},
      {"temperature", required_argument, nullptr, temperatureOption},
      {"seed", required_argument, nullptr, seedOption},
      {"threads", required_argument, nullptr, threadsOption},
      {"activations", required_argument, nullptr, activationsOption},
      {"cache-dir", required_argument, nullptr, cacheOption},
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
      status = readType("activations", optarg, options.activations);
      break;
    case cacheOption:
      options.cacheDirectory = optarg;
      break;
    case helpOption:
      options.help = true;
      return options;
    case ':':
      return Error{"expected a value after " + quoted(argv[optind - 1]), {}};
    default:
      return Error{
          "expected an option of --help, got " + quoted(argv[optind - 1]), {}};
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
