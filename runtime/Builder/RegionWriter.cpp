//===- RegionWriter.cpp - Expressions as regions of IR --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Builder/RegionWriter.h"
#include "runtime/Builder/Node.h"
#include "runtime/Builder/Operators.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <optional>
#include <unordered_map>
#include <unordered_set>

using namespace attn;
using namespace attn::builder;
using namespace attn::detail;
using std::string;

namespace {

/// Writes one region, in which every node of the graph is one value. After a
/// problem, values are empty strings.
class RegionWriter {
public:
  RegionWriter(RegionKind kind, ElementType accumulation,
               const FirstPosition &first, Parameters &parameters)
      : kind(kind), accumulation(accumulation),
        real(string(nameOf(accumulation))), first(first),
        parameters(parameters) {}

  Expected<string> write(const Node &root) {
    string yielded = writeValue(root);
    if (numValues > Node::maxOperations)
      fail("expected at most " + std::to_string(Node::maxOperations) +
           " operations, got " + std::to_string(numValues));
    bool isScore = kind == RegionKind::score;
    if (problem)
      return Error{(isScore ? "score '" : "mask '") + describe(root) +
                       "': " + *problem,
                   {}};
    return (isScore ? "(%s, " : "(") + string("%b, %h, %q, %k)") +
           (captures.empty() ? "" : " captures(" + captures + ")") + " {\n" +
           body + "        attn.yield " + yielded + " : " + typeOf(root) +
           "\n      }";
  }

private:
  string writeValue(const Node &node);
  string writeNew(const Node &node);
  string writeSymbol(Symbol symbol);
  string writeRow();
  string writeInteger(const string &value, const string &type);
  string writeReal(double value);
  string writeLoad(const Node &node, const Load &load);
  string writeOperation(const Node &node, Operator op);
  string writeRemainder(const Node &node, const string &a, const string &b);
  string writeDivision(const Node &node, const string &a, const string &b);
  string capture(const DeclarationPtr &declaration);
  string convertElement(const string &value, ElementType type);

  string typeOf(const Node &node) const {
    if (node.type == NodeType::index)
      return "index";
    return node.type == NodeType::real ? real : "i1";
  }
  string append(const string &operation) {
    string result = "%" + std::to_string(numValues++);
    if (numValues <= Node::maxOperations) // Else they are only counted.
      body += "        " + result + " = " + operation + "\n";
    return result;
  }
  string append(const string &op, const string &a, const string &b,
                const string &type) {
    return append(op + " " + a + ", " + b + " : " + type);
  }
  string constant(const string &value, const string &type) {
    string typed = type == "i1" ? value : value + " : " + type;
    string &result = constants[typed];
    if (result.empty())
      result = append("arith.constant " + typed);
    return result;
  }
  string fail(const string &message) {
    if (!problem)
      problem = message;
    return "";
  }

  const RegionKind kind;
  const ElementType accumulation;
  const string real; ///< The accumulation type in IR.
  const FirstPosition &first;
  Parameters &parameters;
  std::optional<string> problem;
  string body, captures;
  unsigned numValues = 0;
  std::unordered_map<const Node *, string> values;
  std::unordered_map<string, string> constants;
  /// By the name of the argument, converted to its type in expressions.
  std::unordered_map<string, string> captured;
};

string RegionWriter::writeValue(const Node &node) {
  if (problem)
    return "";
  if (auto found = values.find(&node); found != values.end())
    return found->second;
  if (node.depth > Node::maxDepth)
    return fail("expected at most " + std::to_string(Node::maxDepth) +
                " operations that each need the one before");
  string result = writeNew(node);
  values.emplace(&node, result);
  return result;
}

string RegionWriter::writeNew(const Node &node) {
  if (const Symbol *symbol = node.as<Symbol>())
    return writeSymbol(*symbol);
  if (const std::int64_t *integer = node.as<std::int64_t>())
    return constant(std::to_string(*integer), "index");
  if (const double *number = node.as<double>())
    return writeReal(*number);
  if (const bool *boolean = node.as<bool>())
    return constant(*boolean ? "true" : "false", "i1");
  if (const auto *scalar = node.as<detail::Scalar>())
    return convertElement(capture(scalar->declaration),
                          scalar->declaration->type);
  if (const Load *load = node.as<Load>())
    return writeLoad(node, *load);
  if (const Invalid *invalid = node.as<Invalid>())
    return fail(invalid->problem);
  return writeOperation(node, *node.as<Operator>());
}

string RegionWriter::writeSymbol(Symbol symbol) {
  if (symbol == Symbol::score && kind == RegionKind::mask)
    return fail("expected no use of the score, which is not known yet");
  if (symbol == Symbol::row)
    return writeRow();
  return string("%") + "sbhqk"[std::size_t(symbol)];
}

/// An integer of a type as an index.
string RegionWriter::writeInteger(const string &value, const string &type) {
  return type == "index"
             ? value
             : append("arith.index_cast " + value + " : " + type + " to index");
}

/// The query's position less that of the first.
string RegionWriter::writeRow() {
  if (first.values.empty())
    return "%q";
  std::vector<string> names;
  for (const FirstPosition::Captured &value : first.values) {
    names.push_back("%first." + std::to_string(names.size()));
    captures += (captures.empty() ? "" : ", ") + names.back() + " = " +
                value.name + " : " + value.type;
  }
  auto load = [&](std::size_t which, const string &index) {
    const string &type = first.values[which].type;
    string element =
        append("tensor.extract " + names[which] + "[" + index + "] : " + type);
    std::size_t begin = type.rfind('x') + 1; // Of "i32>".
    return writeInteger(element, type.substr(begin, type.size() - begin - 1));
  };
  string position;
  if (names.size() == 2) {
    string next = append("arith.addi", "%b", constant("1", "index"), "index");
    string queries =
        append("arith.subi", load(0, next), load(0, "%b"), "index");
    string keys = append("arith.subi", load(1, next), load(1, "%b"), "index");
    position = append("arith.subi", keys, queries, "index");
  } else {
    position = first.isPerBatch ? load(0, "%b")
                                : writeInteger(names[0], first.values[0].type);
  }
  return append("arith.subi", "%q", position, "index");
}

string RegionWriter::writeReal(double value) {
  bool isDouble = accumulation == ElementType::f64;
  double rounded = isDouble ? value : double(float(value));
  if (std::isfinite(rounded))
    return constant(writeNumber(rounded), real);
  if (std::isfinite(value))
    return fail("expected numbers that f32 can hold, got " +
                writeNumber(value));
  char bits[24];
  if (isDouble)
    std::snprintf(bits, sizeof(bits), "0x%016llX",
                  (unsigned long long)std::bit_cast<std::uint64_t>(value));
  else
    std::snprintf(bits, sizeof(bits), "0x%08X",
                  unsigned(std::bit_cast<std::uint32_t>(float(value))));
  return constant(bits, real);
}

//===----------------------------------------------------------------------===//
// Arguments of the kernel
//===----------------------------------------------------------------------===//

/// An argument in the region. The '.' keeps it apart from the region's own
/// values, which have names that an argument of the kernel may have too.
string RegionWriter::capture(const DeclarationPtr &declaration) {
  if (Status added = parameters.add(declaration); !added)
    return fail(added.error().message);
  string &result = captured[declaration->name];
  if (result.empty()) {
    result = "%captured." + declaration->name;
    captures += (captures.empty() ? "" : ", ") + result + " = " +
                writeTable(*declaration) + " : " + writeType(*declaration);
  }
  return result;
}

/// From an element of a tensor to a value of an expression.
string RegionWriter::convertElement(const string &value, ElementType type) {
  if (problem || type == ElementType::i1 || type == accumulation)
    return value;
  string name(nameOf(type));
  if (!isFloat(type))
    return append("arith.index_cast " + value + " : " + name + " to index");
  string op = sizeOf(type) < sizeOf(accumulation) ? "extf" : "truncf";
  return append("arith." + op + " " + value + " : " + name + " to " + real);
}

string RegionWriter::writeLoad(const Node &node, const Load &load) {
  const Declaration &tensor = *load.declaration;
  string source = capture(load.declaration), indices;
  for (std::size_t dim = 0; dim < node.operands.size(); ++dim) {
    const Node &index = *node.operands[dim];
    const std::int64_t *number = index.as<std::int64_t>();
    if (number && (*number < 0 || (tensor.shape[dim] != dynamic &&
                                   *number >= tensor.shape[dim])))
      return fail("expected an element of '" + tensor.name + "', which is " +
                  writeType(tensor) + ", got '" + describe(node) + "'");
    indices += (dim ? ", " : "") + writeValue(index);
  }
  if (problem)
    return "";
  return convertElement(append("tensor.extract " + source + "[" + indices +
                               "] : " + writeType(tensor)),
                        tensor.type);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The bits below a power of two; -1 if the divisor is none.
static std::int64_t getLowBits(const Node &divisor) {
  const std::int64_t *number = divisor.as<std::int64_t>();
  bool isPower = number && *number > 0 && (*number & (*number - 1)) == 0;
  return isPower ? *number - 1 : -1;
}

string RegionWriter::writeOperation(const Node &node, Operator op) {
  std::vector<string> operands;
  // The low bits are the remainder of a number below zero too; and vectors have
  // no division.
  if (op == Operator::remainder)
    if (std::int64_t mask = getLowBits(*node.operands[1]); mask >= 0) {
      string a = writeValue(*node.operands[0]);
      return append("arith.andi", a, constant(std::to_string(mask), "index"),
                    "index");
    }
  for (const NodePtr &operand : node.operands)
    operands.push_back(writeValue(*operand));
  if (problem)
    return "";
  const Node &last = *node.operands.back();
  string type = typeOf(last);
  bool isReal = last.type == NodeType::real;
  switch (op) {
  case Operator::negate:
    if (isReal)
      return append("arith.negf " + operands[0] + " : " + type);
    return append("arith.subi", constant("0", type), operands[0], type);
  case Operator::logicalNot:
    return append("arith.xori", operands[0], constant("true", type), type);
  case Operator::select:
    return append("arith.select " + operands[0] + ", " + operands[1] + ", " +
                  operands[2] + " : " + type);
  case Operator::toReal: {
    string integer =
        append("arith.index_cast " + operands[0] + " : index to i64");
    return append("arith.sitofp " + integer + " : i64 to " + real);
  }
  case Operator::toIndex: {
    string integer =
        append("arith.fptosi " + operands[0] + " : " + real + " to i64");
    return append("arith.index_cast " + integer + " : i64 to index");
  }
  case Operator::remainder:
    return writeRemainder(node, operands[0], operands[1]);
  case Operator::divide:
    if (!isReal)
      return writeDivision(node, operands[0], operands[1]);
    break;
  default:
    break;
  }
  const OperatorNames &names = getNames(op);
  string name(isReal ? names.ofReals : names.ofIntegers);
  if (operands.size() == 1)
    return append(name + " " + operands[0] + " : " + type);
  return append(name, operands[0], operands[1], type);
}

string RegionWriter::writeDivision(const Node &node, const string &a,
                                   const string &b) {
  const std::int64_t *divisor = node.operands[1]->as<std::int64_t>();
  if (divisor && *divisor == 0)
    return fail("expected no division by 0, got '" + describe(node) + "'");
  return append("arith.floordivsi", a, b, "index");
}

/// The remainder of division that rounds down.
string RegionWriter::writeRemainder(const Node &node, const string &a,
                                    const string &b) {
  const std::int64_t *divisor = node.operands[1]->as<std::int64_t>();
  if (divisor && *divisor == 0)
    return fail("expected no division by 0, got '" + describe(node) + "'");
  string zero = constant("0", "index");
  string rest = append("arith.remsi", a, b, "index");
  string isBelow = append("arith.cmpi slt,", rest, zero, "index");
  if (!divisor) { // Its sign may be any.
    string isNegative = append("arith.cmpi slt,", b, zero, "index");
    string differs = append("arith.xori", isBelow, isNegative, "i1");
    string isInexact = append("arith.cmpi ne,", rest, zero, "index");
    isBelow = append("arith.andi", differs, isInexact, "i1");
  } else if (*divisor < 0) {
    isBelow = append("arith.cmpi sgt,", rest, zero, "index");
  }
  string shifted = append("arith.addi", rest, b, "index");
  return append("arith.select " + isBelow + ", " + shifted + ", " + rest +
                " : index");
}

} // namespace

/// The name of an item, or its region.
static Expected<string> writeItem(const Item &item, RegionKind kind,
                                  ElementType accumulation,
                                  const FirstPosition &first,
                                  Parameters &parameters) {
  // Also what has a name, to find what is wrong with it.
  Parameters unused;
  RegionWriter writer(kind, accumulation, first,
                      item.name.empty() ? parameters : unused);
  Expected<string> region = writer.write(*item.value);
  if (!region || item.name.empty())
    return region;
  string names, types;
  for (const DeclarationPtr &argument : item.arguments) {
    if (Status added = parameters.add(argument); !added)
      return std::move(added).error();
    names += (names.empty() ? "" : ", ") + writeTable(*argument);
    types += (types.empty() ? "" : ", ") + writeType(*argument);
  }
  if (!names.empty())
    return item.name + "(" + names + " : " + types + ")";
  return item.name + (item.literals.empty() ? "" : "(" + item.literals + ")");
}

/// Each node is looked at once, as many may share it.
static bool readsRow(const Node &node, std::unordered_set<const Node *> &seen) {
  if (!seen.insert(&node).second || node.depth > Node::maxDepth)
    return false;
  const Symbol *symbol = node.as<Symbol>();
  return (symbol && *symbol == Symbol::row) ||
         std::any_of(
             node.operands.begin(), node.operands.end(),
             [&](const NodePtr &operand) { return readsRow(*operand, seen); });
}

bool builder::readRows(const std::vector<Item> &items) {
  std::unordered_set<const Node *> seen;
  return std::any_of(items.begin(), items.end(), [&](const Item &item) {
    return readsRow(*item.value, seen);
  });
}

Expected<string> builder::writeItems(const std::vector<Item> &items,
                                     RegionKind kind, ElementType accumulation,
                                     const FirstPosition &first,
                                     Parameters &parameters) {
  string keyword = kind == RegionKind::score ? "score" : "mask", list;
  if (items.size() > Item::maxItems)
    return Error{keyword + " '" + describe(*items.front().value) +
                     "' and what it is combined with: expected at most " +
                     std::to_string(Item::maxItems) + " items, got more",
                 {}};
  for (const Item &item : items) {
    Expected<string> written =
        writeItem(item, kind, accumulation, first, parameters);
    if (!written)
      return written;
    list += (list.empty() ? "\n      " + keyword + " " : ", ") + *written;
  }
  return list;
}
