//===- Arguments.cpp - The arguments of a call ----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/Arguments.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string_view>

using namespace attn;
using namespace attn::run;

static Error makeError(std::string message) { return {std::move(message), {}}; }

Argument HostArgument::argument() const {
  if (const NpyArray *tensor = array())
    return tensor->view();
  if (const std::int64_t *integer = std::get_if<std::int64_t>(&value))
    return *integer;
  return *std::get_if<double>(&value);
}

std::string attn::run::formatType(std::span<const std::int64_t> shape,
                                  ElementType type) {
  std::string text;
  for (std::int64_t size : shape)
    text += (size == Parameter::dynamic ? "?" : std::to_string(size)) + "x";
  return text + std::string(nameOf(type));
}

/// "argument 1 'key' (tensor<?x2x?x64xf32>)".
static std::string describe(const Signature &signature, std::size_t index) {
  const Parameter &parameter = signature.arguments[index];
  std::string type = formatType(parameter.shape, parameter.type);
  return "argument " + std::to_string(index) +
         (parameter.name.empty() ? "" : " '" + parameter.name + "'") + " (" +
         (parameter.isTensor ? "tensor<" + type + ">" : type) + ")";
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

namespace {
/// "3:index", taken apart.
struct ScalarText {
  std::string_view number, typeName;
  ElementType type;
};
} // namespace

/// The parts of a scalar, or nothing if `text` must be the name of a file.
static std::optional<ScalarText> splitScalar(std::string_view text) {
  std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return std::nullopt;
  std::string_view number = text.substr(0, colon),
                   name = text.substr(colon + 1);
  if (name == "index")
    return ScalarText{number, name, ElementType::i64};
  for (ElementType type :
       {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16,
        ElementType::i64, ElementType::i32, ElementType::i16, ElementType::i8,
        ElementType::i1})
    if (name == nameOf(type))
      return ScalarText{number, name, type};
  return std::nullopt;
}

/// "1x8x512x64" taken apart, or nothing if `text` must be the name of a file.
static std::optional<std::vector<std::int64_t>>
splitSizes(std::string_view text) {
  std::vector<std::int64_t> sizes;
  while (true) {
    std::int64_t size;
    auto [end, code] =
        std::from_chars(text.data(), text.data() + text.size(), size);
    if (code != std::errc() || size < 0)
      return std::nullopt;
    sizes.push_back(size);
    text.remove_prefix(std::size_t(end - text.data()));
    if (text.empty())
      return sizes;
    if (text.front() != 'x')
      return std::nullopt;
    text.remove_prefix(1);
  }
}

static double roundTo(ElementType type, double value) {
  switch (type) {
  case ElementType::f32:
    return float(value);
  case ElementType::f16:
    return f16(float(value));
  case ElementType::bf16:
    return bf16(float(value));
  default:
    return value;
  }
}

/// Reads all of `text` as a number.
template <typename T>
static std::optional<T> parseNumber(std::string_view text) {
  T value;
  auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

static Expected<HostArgument> parseScalar(const std::string &what,
                                          const std::string &text,
                                          const ScalarText &scalar) {
  HostArgument result{std::int64_t(0), text};
  if (isFloat(scalar.type)) {
    std::optional<double> value = parseNumber<double>(scalar.number);
    if (!value)
      return makeError(what + ": expected a number before ':" +
                       std::string(scalar.typeName) + "', got '" +
                       std::string(scalar.number) + "'");
    result.value = roundTo(scalar.type, *value);
    return result;
  }

  std::optional<std::int64_t> value = parseNumber<std::int64_t>(scalar.number);
  std::int64_t highest = scalar.type == ElementType::i1
                             ? 1
                             : std::numeric_limits<std::int64_t>::max() >>
                                   (64 - 8 * sizeOf(scalar.type));
  std::int64_t lowest = scalar.type == ElementType::i1 ? 0 : -highest - 1;
  if (!value || *value < lowest || *value > highest)
    return makeError(what + ": expected an integer from " +
                     std::to_string(lowest) + " to " + std::to_string(highest) +
                     " before ':" + std::string(scalar.typeName) + "', got '" +
                     std::string(scalar.number) + "'");
  result.value = *value;
  return result;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Elements of f32 as those of a type that NumPy does not have.
static Expected<NpyArray> roundElements(const NpyArray &array,
                                        ElementType type) {
  Expected<NpyArray> result = NpyArray::allocate(type, array.shape());
  if (!result)
    return result;
  const std::byte *from = array.bytes().data();
  visitElementType(type, [&]<typename T>(std::type_identity<T>) {
    for (std::size_t i = 0; i < result->bytes().size(); i += sizeof(T)) {
      float wide;
      std::memcpy(&wide, from + i / sizeof(T) * sizeof(wide), sizeof(wide));
      T narrow = T(wide);
      std::memcpy(result->bytes().data() + i, &narrow, sizeof(narrow));
    }
  });
  return result;
}

static Expected<HostArgument> loadGiven(const Signature &signature,
                                        std::size_t index,
                                        const std::string &text) {
  const Parameter &parameter = signature.arguments[index];
  std::string what = describe(signature, index);
  std::optional<ScalarText> scalar = splitScalar(text);
  if (parameter.isTensor) {
    if (scalar)
      return makeError(what + ": expected a .npy file, got '" + text + "'");
    Expected<NpyArray> array = readNpy(text);
    if (!array)
      return makeError(what + ": " + array.error().message);
    if (array->type() == ElementType::f32 &&
        (parameter.type == ElementType::bf16 || isFloat8(parameter.type)))
      array = roundElements(*array, parameter.type);
    if (!array)
      return makeError(what + ": " + array.error().message);
    return HostArgument{std::move(*array), text};
  }

  std::string type(nameOf(parameter.type));
  if (!scalar)
    return makeError(what + ": expected a number with its type, such as '1:" +
                     type + "', got '" + text + "'");
  if (scalar->type != parameter.type)
    return makeError(what + ": expected type " + type + ", got '" + text + "'");
  return parseScalar(what, text, *scalar);
}

//===----------------------------------------------------------------------===//
// Sizes that are not given
//===----------------------------------------------------------------------===//

namespace {
/// Finds the sizes of arguments that will be made up.
class SizeSolver {
public:
  SizeSolver(const Signature &signature,
             std::span<const std::optional<HostArgument>> given,
             std::vector<std::vector<std::int64_t>> sizes)
      : signature(signature), given(given), sizes(std::move(sizes)) {
    for (std::size_t i = 0; i < given.size(); ++i)
      if (given[i] && given[i]->array())
        this->sizes[i] = given[i]->array()->shape();
  }

  std::vector<std::vector<std::int64_t>> solve(std::int64_t unknownSize) {
    propagate();
    for (std::vector<std::int64_t> &shape : sizes)
      for (std::int64_t &size : shape)
        if (size == Parameter::dynamic) {
          size = unknownSize;
          propagate();
        }
    return std::move(sizes);
  }

private:
  /// Uses constraints until none says more.
  void propagate() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (const Signature::Constraint &constraint : signature.constraints)
        changed |= propagate(constraint);
    }
  }

  /// Solves a constraint with one unknown size, if it has a solution. A
  /// constraint that cannot hold is left to Kernel::run, which explains it.
  bool propagate(const Signature::Constraint &constraint) {
    // 128 bits, so that no size overflows.
    using Wide = __int128;
    Wide sum = Wide(constraint.lhs.constant) - constraint.rhs.constant;
    Wide coefficient = 0;
    std::int64_t *unknown = nullptr;
    for (auto [side, sign] :
         {std::pair{&constraint.lhs, 1}, std::pair{&constraint.rhs, -1}})
      for (const SizeExpr::Term &term : side->terms) {
        if (term.dimension < 0) {
          sum += Wide(sign) * term.coefficient * integer(term.argument);
          continue;
        }
        std::vector<std::int64_t> &shape = sizes[std::size_t(term.argument)];
        if (std::size_t(term.dimension) >= shape.size())
          return false; // The file has another rank.
        std::int64_t &size = shape[std::size_t(term.dimension)];
        if (size != Parameter::dynamic) {
          sum += Wide(sign) * term.coefficient * size;
          continue;
        }
        if (unknown && unknown != &size)
          return false;
        unknown = &size;
        coefficient += Wide(sign) * term.coefficient;
      }
    if (!unknown || coefficient == 0 || sum % coefficient != 0)
      return false;
    Wide solution = -sum / coefficient;
    if (solution < 0 || solution > std::numeric_limits<std::int64_t>::max())
      return false;
    *unknown = std::int64_t(solution);
    return true;
  }

  /// The value of an integer argument, which is 0 if it is not given.
  std::int64_t integer(int argument) const {
    const std::optional<HostArgument> &host = given[std::size_t(argument)];
    const std::int64_t *value =
        host ? std::get_if<std::int64_t>(&host->value) : nullptr;
    return value ? *value : 0;
  }

  const Signature &signature;
  std::span<const std::optional<HostArgument>> given;
  std::vector<std::vector<std::int64_t>> sizes;
};
} // namespace

template <typename T>
static void fillNormal(NpyArray &array, double deviation,
                       std::mt19937_64 &random) {
  std::normal_distribution<double> normal(0, deviation);
  std::span<std::byte> bytes = array.bytes();
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(T)) {
    T element;
    if constexpr (std::is_same_v<T, double>)
      element = normal(random);
    else
      element = T(float(normal(random)));
    std::memcpy(bytes.data() + i, &element, sizeof(T));
  }
}

static void fillBooleans(NpyArray &array, std::mt19937_64 &random) {
  for (std::byte &element : array.bytes())
    element = std::byte(random() & 1);
}

static Expected<HostArgument> makeRandom(const Parameter &parameter,
                                         std::vector<std::int64_t> shape,
                                         const std::vector<int> &summed,
                                         std::mt19937_64 random) {
  bool isRandom = isFloat(parameter.type) || isFloat8(parameter.type) ||
                  (parameter.isTensor && parameter.type == ElementType::i1);
  const char *source = isRandom ? "random" : "zero";
  if (!parameter.isTensor) {
    if (!isFloat(parameter.type))
      return HostArgument{std::int64_t(0), source};
    return HostArgument{
        roundTo(parameter.type, std::normal_distribution<double>()(random)),
        source};
  }
  double terms = 1;
  for (int dim : summed)
    terms *= double(shape[std::size_t(dim)]);
  double deviation = terms > 0 ? 1 / std::sqrt(terms) : 1;
  Expected<NpyArray> array =
      NpyArray::allocate(parameter.type, std::move(shape));
  if (!array)
    return array.error();
  if (parameter.type == ElementType::i1)
    fillBooleans(*array, random);
  else if (isRandom)
    visitElementType(parameter.type, [&]<typename T>(std::type_identity<T>) {
      fillNormal<T>(*array, deviation, random);
    });
  return HostArgument{std::move(*array), source};
}

Expected<std::vector<HostArgument>> attn::run::loadArguments(
    const Signature &signature, std::span<const std::string> given,
    std::optional<std::uint64_t> seed,
    std::span<const std::vector<int>> weights, std::int64_t unknownSize) {
  std::size_t count = signature.arguments.size();
  if (given.size() > count)
    return makeError("@" + signature.entry + " takes " + std::to_string(count) +
                     (count == 1 ? " argument" : " arguments") + ", got " +
                     std::to_string(given.size()) + " --arg");

  std::vector<std::optional<HostArgument>> loaded(count);
  std::vector<std::vector<std::int64_t>> known;
  for (std::size_t i = 0; i < count; ++i) {
    const Parameter &parameter = signature.arguments[i];
    known.push_back(parameter.shape);
    auto ofText = i < given.size() && parameter.isTensor ? splitSizes(given[i])
                                                         : std::nullopt;
    if (ofText) {
      if (ofText->size() != parameter.shape.size())
        return makeError(describe(signature, i) + ": expected " +
                         std::to_string(parameter.shape.size()) +
                         " sizes, got '" + given[i] + "'");
      known.back() = *ofText;
    } else if (i < given.size() && given[i] != "-") {
      Expected<HostArgument> argument = loadGiven(signature, i, given[i]);
      if (!argument)
        return argument.error();
      loaded[i] = std::move(*argument);
    } else if (!seed) {
      return makeError(describe(signature, i) +
                       " is not given: use --arg, or --random");
    }
  }

  std::vector<std::vector<std::int64_t>> sizes =
      SizeSolver(signature, loaded, std::move(known)).solve(unknownSize);
  std::vector<HostArgument> arguments;
  for (std::size_t i = 0; i < count; ++i) {
    if (!loaded[i]) {
      // A stream for each argument: giving one leaves the others as they are.
      std::uint64_t ofAll = seed.value_or(0);
      std::seed_seq sequence{ofAll & 0xffffffff, ofAll >> 32, std::uint64_t(i)};
      Expected<HostArgument> argument =
          makeRandom(signature.arguments[i], std::move(sizes[i]), weights[i],
                     std::mt19937_64(sequence));
      if (!argument)
        return makeError(describe(signature, i) + ": " +
                         argument.error().message);
      loaded[i] = std::move(*argument);
    }
    arguments.push_back(std::move(*loaded[i]));
  }
  return arguments;
}
