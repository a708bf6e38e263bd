//===- TextLimits.cpp - Text that no parser survives ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Bridge/TextLimits.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace attn;
using llvm::StringRef;

/// Open brackets, aliases in aliases, and operators in one affine expression:
/// the parser recurses for all. Far above what anyone writes, far below what
/// overflows.
static constexpr unsigned maxNesting = 256;

/// Words that an alias of aliases stands for: each may double what the one
/// before it stands for.
static constexpr uint64_t maxAliasWords = uint64_t(1) << 16;

/// Elements that are listed: the parser makes room for all of the type's, and
/// compiling takes a millisecond for each.
static constexpr uint64_t maxListedElements = 4096;

/// Digits of an integer: the parser reads them in quadratic time, and 20000 in
/// half a minute. Those of 128 bits have 39, or in base 2 and 16 fewer than
/// this.
static constexpr size_t maxDigits = 256;

namespace {

/// What a piece of text comes to when its aliases are replaced.
struct Extent {
  uint64_t words = 0;
  unsigned depth = 0;
  uint64_t elements = 0; ///< Of a shaped type without dynamic sizes.
};

/// Reads the words of a text one after the other.
class Scanner {
public:
  explicit Scanner(StringRef text) : text(text) {}

  std::optional<TextFault> run();

private:
  StringRef readWord();
  StringRef peek() const { return text.substr(position).ltrim(); }
  uint64_t readElements() const;
  void trackAlias(StringRef word);
  void finishAlias();
  void useAlias(StringRef word);
  void trackNesting(StringRef word);
  void trackOperation(StringRef word);
  void checkDigits(StringRef word);
  void checkListedInteger(StringRef word);
  void checkIntegers(StringRef word);
  void checkListed(StringRef word, uint64_t elements);
  void report(StringRef place, std::string message);
  unsigned getDepth() const { return unsigned(brackets.size()); }

  const StringRef text;
  size_t position = 0;

  std::string brackets; ///< Those that are open.
  unsigned operators = 0;
  StringRef previous;  ///< The last word.
  StringRef operation; ///< The last word that may be an operation's name.
  bool listsElements = false; ///< Whether its type is still to come.

  llvm::StringMap<Extent> aliases;
  StringRef alias; ///< What is being defined, if anything.
  Extent extent;   ///< What it stands for so far.
  bool usesAliases = false;
  bool isComplete = false; ///< Whether its definition could end here.

  std::optional<TextFault> fault;
};

} // namespace

static bool isPartOfName(char c) {
  return llvm::isAlnum(c) || StringRef("$._").contains(c);
}

/// Length of the word at the front of `text`, which is not empty.
static size_t getWordLength(StringRef text) {
  char first = text.front();
  size_t length = 1;
  if (first == '"') {
    while (length < text.size() && text[length] != '"')
      length += text[length] == '\\' ? 2 : 1;
    return std::min(length + 1, text.size());
  }
  for (StringRef pair : {"->", "<=", ">=", "==", "::"})
    if (text.starts_with(pair))
      return 2;
  bool hasHyphens = StringRef("%^#!").contains(first);
  if (hasHyphens || isPartOfName(first) || first == '@')
    while (length < text.size() &&
           (isPartOfName(text[length]) || (hasHyphens && text[length] == '-')))
      ++length;
  return length;
}

/// The next word: an identifier with its sigil, a number, a string, or
/// punctuation. Empty at the end.
StringRef Scanner::readWord() {
  constexpr StringRef space(" \t\r\n\v\f\0", 7);
  StringRef rest = text.substr(position).ltrim(space);
  while (rest.starts_with("//"))
    rest = rest.substr(rest.find('\n')).ltrim(space);
  StringRef word = rest.empty() ? rest : rest.take_front(getWordLength(rest));
  position = size_t(word.end() - text.begin());
  return word;
}

void Scanner::report(StringRef place, std::string message) {
  if (fault)
    return;
  StringRef before = text.take_front(size_t(place.begin() - text.begin()));
  fault = {unsigned(1 + before.count('\n')),
           unsigned(before.size() - before.rfind('\n')), std::move(message)};
}

/// Elements of the static shape that follows, "<4x8xf32>" say; 0 without one.
uint64_t Scanner::readElements() const {
  StringRef shape = peek();
  if (!shape.consume_front("<"))
    return 0;
  uint64_t elements = 1, size;
  while (!(shape = shape.ltrim()).consumeInteger(10, size) &&
         shape.consume_front("x"))
    elements = llvm::SaturatingMultiply(elements, size);
  return shape.starts_with("?") ? 0 : elements;
}

/// Counts what the definition of an alias stands for, up to the first word that
/// cannot be part of it.
void Scanner::trackAlias(StringRef word) {
  bool isPunctuation = !isPartOfName(word.front()) &&
                       !StringRef("\"%^#!@").contains(word.front());
  if (!alias.empty() && brackets.empty() && isComplete && !isPunctuation)
    finishAlias();
  bool isAlias = (word.front() == '!' || word.front() == '#') &&
                 word.size() > 1 && !word.contains('.');
  if (isAlias && brackets.empty() && alias.empty() && peek().starts_with("=") &&
      !peek().starts_with("==")) {
    alias = word;
    extent = Extent();
    usesAliases = isComplete = false;
    readWord();
    return;
  }
  if (!alias.empty() && extent.words++ == 0)
    extent.elements = readElements();
  isComplete = word != "->" && word != ":" && word != "::" && word != "-";
  if (isAlias)
    useAlias(word);
}

void Scanner::useAlias(StringRef word) {
  auto used = aliases.find(word);
  if (used == aliases.end())
    return;
  const Extent &inner = used->second;
  if (getDepth() + inner.depth > maxNesting)
    report(word, "nested more than " + std::to_string(maxNesting) +
                     " levels deep, with all that '" + word.str() +
                     "' stands for");
  checkListed(word, inner.elements);
  if (alias.empty())
    return;
  usesAliases = true;
  if (extent.words == 1)
    extent.elements = inner.elements;
  extent.words = llvm::SaturatingAdd(extent.words, inner.words);
  // A function's result is nested without a bracket.
  extent.depth = std::max(extent.depth, std::max(getDepth(), 1u) + inner.depth);
}

void Scanner::finishAlias() {
  if (usesAliases && extent.words > maxAliasWords)
    report(alias, "alias '" + alias.str() + "' stands for more than " +
                      std::to_string(maxAliasWords) + " words");
  aliases[alias] = extent;
  alias = StringRef();
}

void Scanner::trackNesting(StringRef word) {
  if (word.size() == 1 && StringRef("([{<").contains(word.front())) {
    brackets += word.front();
    extent.depth = std::max(extent.depth, getDepth());
  } else if (word.size() == 1 && StringRef(")]}>").contains(word.front())) {
    if (!brackets.empty())
      brackets.pop_back();
  } else if (llvm::is_contained({"+", "-", "*", "floordiv", "ceildiv", "mod"},
                                word)) {
    ++operators;
  } else if (word == "," || word == "=" || word.front() == '%') {
    operators = 0;
  }
  if (getDepth() + operators > maxNesting)
    report(word,
           "nested more than " + std::to_string(maxNesting) + " levels deep");
}

void Scanner::checkDigits(StringRef word) {
  if (word.size() > maxDigits && llvm::isDigit(word.front()) &&
      !word.contains('.'))
    report(word, "expected numbers of at most " + std::to_string(maxDigits) +
                     " digits");
}

/// Reports the value that stands for a dynamic size where a list of sizes or
/// positions says it as a number: verifiers of some operations then look for
/// the operand, and there is none. What lies in angle brackets are elements.
void Scanner::checkListedInteger(StringRef word) {
  if (previous != "-" || !StringRef(brackets).ends_with("[") ||
      StringRef(brackets).contains('<'))
    return;
  unsigned radix = word.consume_front("0x") ? 16 : 10;
  uint64_t integer;
  if (!word.getAsInteger(radix, integer) && integer == uint64_t(1) << 63)
    report(previous, "expected an integer above -9223372036854775808, which "
                     "stands for a dynamic one");
}

/// Reports what is no list of integers, for which the parser of some operations
/// has no error that it survives.
void Scanner::checkIntegers(StringRef word) {
  StringRef list = peek();
  if (!list.consume_front("="))
    return;
  list = list.ltrim();
  bool isList = list.consume_front("[");
  StringRef items = list.take_until([](char c) { return c == ']'; });
  llvm::SmallVector<StringRef> parts;
  if (isList && !items.trim().empty())
    items.split(parts, ',');
  int64_t integer;
  auto wrong = llvm::find_if(parts, [&](StringRef part) {
    return part.trim().getAsInteger(0, integer);
  });
  if (!isList || wrong != parts.end())
    report(isList ? wrong->ltrim() : list,
           "'" + word.str() + "': expected a list of integers of 64 bits");
}

/// Reports a type of more elements than can be listed.
void Scanner::checkListed(StringRef word, uint64_t elements) {
  if (listsElements && elements > maxListedElements)
    report(word,
           "expected a type of at most " + std::to_string(maxListedElements) +
               " elements, which are listed, got " + std::to_string(elements));
}

/// Whether `text` begins with these words.
static bool startsWith(StringRef text, std::initializer_list<StringRef> words) {
  return llvm::all_of(words, [&](StringRef word) {
    return (text = text.ltrim()).consume_front(word);
  });
}

/// Reports what the parser of an operation crashes on.
void Scanner::trackOperation(StringRef word) {
  StringRef name = word.trim('"');
  if (!name.empty() && llvm::isAlpha(name.front()) && name.contains('.')) {
    operation = name;
    listsElements = name == "tensor.from_elements";
  } else if (word == "tensor") {
    checkListed(word, readElements());
    listsElements = false;
  } else if (word == "array" && startsWith(peek(), {"<", "index"})) {
    report(word, "array attributes of index are not supported");
  } else if ((word == "permutation" || word == "dimensions") &&
             previous == ")") { // Not in a dictionary.
    checkIntegers(word);
  } else if (word == "dim" && operation == "tensor.concat" &&
             startsWith(peek(), {"(", "-"})) {
    report(word, "expected a dimension of 0 or more");
  }
}

std::optional<TextFault> Scanner::run() {
  while (!fault) {
    StringRef word = readWord();
    if (word.empty())
      break;
    trackAlias(word);
    trackNesting(word);
    trackOperation(word);
    checkDigits(word);
    checkListedInteger(word);
    previous = word;
  }
  return fault;
}

std::optional<TextFault> attn::findTextFault(std::string_view text) {
  return Scanner(text).run();
}
