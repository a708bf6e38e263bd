//===- Kernels.cpp - The model's kernels ----------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/Kernels.h"

#include "examples/smollm2/ModelText.h"

#include <algorithm>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>
#include <utility>

using namespace smollm2;
using attn::ElementType;
using attn::Expected;
using attn::Kernel;

/// What activations.mlir expects before it, in its first line.
static const char *prefixFor(ElementType factors) {
  return factors == ElementType::bf16
             ? "!factor = bf16 "
               "func.func private @to_factor(%x: f32) -> bf16 { "
               "%y = arith.truncf %x : f32 to bf16 return %y : bf16 } "
               "func.func private @from_factor(%x: bf16) -> f32 { "
               "%y = arith.extf %x : bf16 to f32 return %y : f32 } "
             : "!factor = f32 "
               "func.func private @to_factor(%x: f32) -> f32 { "
               "return %x : f32 } "
               "func.func private @from_factor(%x: f32) -> f32 { "
               "return %x : f32 } ";
}

std::string smollm2::fillSizes(const std::string &text, const ModelShape &shape,
                               NamedSizes sizes) {
  const std::pair<std::string_view, std::int64_t> ofModel[] = {
      {"width", shape.width},
      {"hidden", shape.hidden},
      {"heads", shape.heads},
      {"key_heads", shape.keyHeads},
      {"head_size", shape.headSize},
      {"rotary_size", shape.rotarySize},
      {"query_width", shape.heads * shape.headSize},
      {"key_width", shape.keyHeads * shape.headSize},
      {"vocabulary", shape.vocabulary}};
  sizes.insert(sizes.end(), std::begin(ofModel), std::end(ofModel));
  static const std::regex size("\\{([a-z_]+)(/([0-9]+))?\\}");
  std::string result;
  auto rest = text.begin();
  for (std::sregex_iterator match(text.begin(), text.end(), size), end;
       match != end; ++match) {
    auto found =
        std::ranges::find(sizes, match->str(1),
                          &std::pair<std::string_view, std::int64_t>::first);
    if (found == sizes.end()) // Braces of the language.
      continue;
    std::int64_t divisor = (*match)[3].matched ? std::stoll(match->str(3)) : 1;
    result.append(rest, (*match)[0].first);
    result += std::to_string((found->second + divisor - 1) / divisor);
    rest = (*match)[0].second;
  }
  return result.append(rest, text.end());
}

Expected<Kernels> Kernels::compile(const attn::Engine &engine,
                                   const ModelShape &ofFile,
                                   ElementType factors, ElementType weights,
                                   const attn::Ranks *ranks) {
  ModelShape shape = ranks ? ofFile.padHeads(ranks->size()) : ofFile;
  std::string text = std::string(prefixFor(factors)) + activationsText;
  text += weights == ElementType::i8 ? i8WeightsText : bf16WeightsText;
  text = fillSizes(text + modelText, shape);
  auto optionsFor = [](const char *entry) {
    return attn::CompileOptions{.entry = entry, .fileName = "model.mlir"};
  };
  Expected<Kernel> logits = engine.compile(text, optionsFor("logits"));
  if (!logits)
    return logits.error();
  if (ranks) {
    Expected<attn::RankKernel> layer =
        ranks->compile(engine, text, optionsFor("layer"));
    if (!layer)
      return layer.error();
    return Kernels{layer->kernel, *logits, factors,
                   shape,         *layer,  ranks->rank()};
  }
  Expected<Kernel> layer = engine.compile(text, optionsFor("layer"));
  if (!layer)
    return layer.error();
  return Kernels{*layer, *logits, factors, shape, {}};
}
