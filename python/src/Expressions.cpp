//===- Expressions.cpp - Symbolic values in Python ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator does for each two types what C++ does for them, and is "not
// implemented" for those that C++ refuses. Where Python would look at a
// symbolic value, as `if` does, it is a TypeError that says what to write
// instead.
//
//===----------------------------------------------------------------------===//

#include "python/src/Values.h"

#include <functional>
#include <type_traits>

namespace nb = nanobind;
using namespace attn;
using namespace attn::python;
using std::string;

string python::typeName(nb::handle object) {
  return nb::str(object.type().attr("__name__")).c_str();
}

bool python::isBool(nb::handle object) { return typeName(object) == "bool"; }

void python::throwTypeError(const string &message) {
  throw nb::type_error(message.c_str());
}

/// Runs `convert`, a function of Python's C API, which fails with -1.
template <typename T, typename Convert>
static std::optional<T> tryConvert(const Convert &convert) {
  T result = convert();
  if (result != T(-1) || !PyErr_Occurred())
    return result;
  if (!PyErr_ExceptionMatches(PyExc_TypeError))
    throw nb::python_error();
  PyErr_Clear();
  return std::nullopt;
}

/// The integer that an object with `__index__` is.
static std::optional<std::int64_t> findInteger(nb::handle object) {
  if (!PyIndex_Check(object.ptr()))
    return std::nullopt;
  nb::object integer = nb::steal(PyNumber_Index(object.ptr()));
  if (integer.is_valid())
    if (std::optional<long long> number = tryConvert<long long>(
            [&] { return PyLong_AsLongLong(integer.ptr()); }))
      return *number;
  PyErr_Clear(); // An array of floating-point numbers has `__index__`, too.
  return std::nullopt;
}

std::optional<Value> python::toValue(nb::handle object) {
  if (nb::isinstance<Index>(object))
    return nb::cast<Index>(object);
  if (nb::isinstance<Real>(object))
    return nb::cast<Real>(object);
  if (nb::isinstance<Bool>(object))
    return nb::cast<Bool>(object);
  if (isBool(object))
    return Bool(PyObject_IsTrue(object.ptr()) == 1);
  if (std::optional<std::int64_t> number = findInteger(object))
    return Index(*number);
  if (PyNumber_Check(object.ptr()))
    if (std::optional<double> number =
            tryConvert<double>([&] { return PyFloat_AsDouble(object.ptr()); }))
      return Real(*number);
  return std::nullopt;
}

std::int64_t python::toInteger(nb::handle object, const string &expected) {
  if (!isBool(object))
    if (std::optional<std::int64_t> number = findInteger(object))
      return *number;
  throwTypeError(expected + ", got " + typeName(object));
}

Real python::toReal(nb::handle object, const string &expected) {
  if (std::optional<Value> value = toValue(object)) {
    if (const Index *index = std::get_if<Index>(&*value))
      return Real(*index);
    if (const Real *real = std::get_if<Real>(&*value))
      return *real;
  }
  throwTypeError(expected + ", got " + typeName(object));
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

namespace {

// Of Python's operators whose C++ form has another meaning or another name.
struct TrueDivide {
  template <typename A, typename B>
    requires(std::constructible_from<Real, A> &&
             std::constructible_from<Real, B>)
  Real operator()(const A &a, const B &b) const {
    return Real(a) / Real(b);
  }
};
struct FloorDivide {
  Index operator()(const Index &a, const Index &b) const { return a / b; }
};
struct Power {
  template <typename A, typename B>
    requires(std::constructible_from<Real, A> &&
             std::constructible_from<Real, B>)
  Real operator()(const A &a, const B &b) const {
    return pow(Real(a), Real(b));
  }
};
struct And {
  Index operator()(const Index &a, const Index &b) const { return a & b; }
  Bool operator()(const Bool &a, const Bool &b) const { return a && b; }
};
struct Or {
  Index operator()(const Index &a, const Index &b) const { return a | b; }
  Bool operator()(const Bool &a, const Bool &b) const { return a || b; }
};
struct ShiftLeft {
  Index operator()(const Index &a, const Index &b) const { return a << b; }
};
struct ShiftRight {
  Index operator()(const Index &a, const Index &b) const { return a >> b; }
};
struct Minimum {
  Index operator()(const Index &a, const Index &b) const { return min(a, b); }
  template <typename A, detail::RealOperands<A> B>
  Real operator()(const A &a, const B &b) const {
    return min(Real(a), Real(b));
  }
};
struct Maximum {
  Index operator()(const Index &a, const Index &b) const { return max(a, b); }
  template <typename A, detail::RealOperands<A> B>
  Real operator()(const A &a, const B &b) const {
    return max(Real(a), Real(b));
  }
};
struct Select {
  const Bool &condition;
  Index operator()(const Index &a, const Index &b) const {
    return select(condition, a, b);
  }
  Bool operator()(const Bool &a, const Bool &b) const {
    return select(condition, a, b);
  }
  template <typename A, detail::RealOperands<A> B>
  Real operator()(const A &a, const B &b) const {
    return select(condition, Real(a), Real(b));
  }
};

} // namespace

/// The result of an operation on two values; null where it has no meaning. In a
/// constant expression, such as `attn.min(1, 2)`, both are an Index or a Real.
template <typename Operation>
static nb::any apply(const Operation &operation, nb::handle a, nb::handle b) {
  std::optional<Value> first = toValue(a), second = toValue(b);
  if (!first || !second)
    return {};
  return std::visit(
      [&](const auto &x, const auto &y) -> nb::any {
        if constexpr (std::invocable<const Operation &, decltype(x),
                                     decltype(y)>)
          return nb::steal<nb::any>(nb::cast(operation(x, y)).release());
        else
          return {};
      },
      *first, *second);
}

/// The same, of a function that has a name.
template <typename Operation>
static nb::any call(const char *name, const Operation &operation, nb::handle a,
                    nb::handle b) {
  nb::any result = apply(operation, a, b);
  if (!result.is_valid())
    throwTypeError(string(name) +
                   ": expected two numbers, or two Bools where "
                   "it takes them, got " +
                   typeName(a) + " and " + typeName(b));
  return result;
}

namespace {

/// Python's operators of a class, and what it must not be asked for.
template <typename T> class Operators {
public:
  explicit Operators(nb::class_<T> &bound) : bound(bound) {}

  /// `__name__` and `__rname__`.
  template <typename Operation>
  Operators &arithmetic(const char *name, const Operation &operation) {
    auto notImplemented = [](const nb::any &result) {
      return result.is_valid() ? result
                               : nb::borrow<nb::any>(Py_NotImplemented);
    };
    bound.def(("__" + string(name) + "__").c_str(),
              [=](nb::handle self, nb::handle other) {
                return notImplemented(apply(operation, self, other));
              },
              nb::is_operator());
    bound.def(("__r" + string(name) + "__").c_str(),
              [=](nb::handle self, nb::handle other) {
                return notImplemented(apply(operation, other, self));
              },
              nb::is_operator());
    return *this;
  }

  /// Not "not implemented": Python would compare addresses then.
  template <typename Operation>
  Operators &comparison(const char *name, const char *symbol,
                        const Operation &operation) {
    bound.def(name, [=](nb::handle self, nb::handle other) {
      nb::any result = apply(operation, self, other);
      if (!result.is_valid())
        throwTypeError("'" + string(symbol) + "': expected two numbers, got " +
                       typeName(self) + " and " + typeName(other));
      return result;
    });
    return *this;
  }

  template <typename Operation>
  Operators &unary(const char *name, const Operation &operation) {
    bound.def(name, [=](const T &self) { return operation(self); });
    return *this;
  }

  Operators &numbers() {
    return arithmetic("add", std::plus<>())
        .arithmetic("sub", std::minus<>())
        .arithmetic("mul", std::multiplies<>())
        .arithmetic("truediv", TrueDivide())
        .arithmetic("floordiv", FloorDivide())
        .arithmetic("mod", std::modulus<>())
        .arithmetic("pow", Power())
        .comparison("__lt__", "<", std::less<>())
        .comparison("__le__", "<=", std::less_equal<>())
        .comparison("__gt__", ">", std::greater<>())
        .comparison("__ge__", ">=", std::greater_equal<>())
        .unary("__neg__", std::negate<>())
        .unary("__pos__", [](const T &self) { return self; })
        .unary("__abs__", [](const T &self) { return abs(self); })
        .refuse("__int__", numberAdvice)
        .refuse("__index__", numberAdvice)
        .refuse("__float__", numberAdvice)
        .refuse("__bool__", "compare it, as in k % 4 == 0: ");
  }

  /// All types have these.
  Operators &equality() {
    comparison("__eq__", "==", std::equal_to<>());
    comparison("__ne__", "!=", std::not_equal_to<>());
    bound.attr("__hash__") = nb::none();
    // NumPy leaves operators on its arrays and numbers to this class.
    bound.attr("__array_ufunc__") = nb::none();
    return *this;
  }

  Operators &refuse(const char *name, const char *advice) {
    bound.def(name, [advice](const T &) -> nb::object {
      throwTypeError(advice +
                     string(nb::str(nb::type<T>().attr("__name__")).c_str()) +
                     " has no value while a mask or score is written down");
    });
    return *this;
  }

  static constexpr const char *numberAdvice =
      "use the functions of attn, as in attn.exp(s), and attn.Tensor for "
      "arrays: ";

private:
  nb::class_<T> &bound;
};

} // namespace

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

static void bindTypes(nb::module_ &module) {
  nb::class_<Index> index(
      module, "Index",
      R"(An integer of 64 bits that a kernel knows: a batch, a head, a position, or
what is computed of them. ``//`` and ``%`` round down, as Python's do.)");
  Operators(index)
      .numbers()
      .equality()
      .arithmetic("and", And())
      .arithmetic("or", Or())
      .arithmetic("xor", std::bit_xor<>())
      .arithmetic("lshift", ShiftLeft())
      .arithmetic("rshift", ShiftRight());

  nb::class_<Real> real(
      module, "Real",
      R"(A floating-point number in the precision of the scores: f64 if the queries
are, f32 otherwise. An Index becomes one where it meets it.)");
  Operators(real).numbers().equality();

  nb::class_<Bool> boolean(
      module, "Bool",
      R"(True or false. Python runs a mask once, kernels run it at every position:
``attn.select`` takes the place of ``if``; ``&``, ``|`` and ``~`` that of ``and``,
``or`` and ``not``.)");
  Operators(boolean)
      .equality()
      .arithmetic("and", And())
      .arithmetic("or", Or())
      .unary("__invert__", std::logical_not<>())
      .refuse("__bool__", "use attn.select(condition, a, b) instead of if, "
                          "attn.min and attn.max instead of min and max, and "
                          "&, | and ~ instead of and, or and not: ");
}

void python::bindExpressions(nb::module_ &module) {
  bindTypes(module);

  auto define = [&](const char *name, Real (*function)(const Real &),
                    const char *doc) {
    module.def(
        name,
        [name = string(name), function](nb::handle x) {
          return function(python::toReal(x, name + ": expected a number"));
        },
        nb::arg("x"), doc);
  };
  define("exp", exp, "e to the power of ``x``.");
  define("exp2", exp2, "2 to the power of ``x``.");
  define("log", log, "The natural logarithm.");
  define("log2", log2, "The logarithm to base 2.");
  define("sin", sin, "The sine.");
  define("cos", cos, "The cosine.");
  define("tanh", tanh, "The hyperbolic tangent.");
  define("erf", erf, "The error function.");
  define("sqrt", sqrt, "The square root.");
  define("floor", floor, "The next integer down, as a Real.");
  define("ceil", ceil, "The next integer up, as a Real.");
  define("round", round,
         "The nearest integer, as a Real; away from 0 if it is halfway.");
  module.def(
      "to_index",
      [](nb::handle x) {
        return toIndex(python::toReal(x, "to_index: expected a number"));
      },
      nb::arg("x"),
      R"(The number without its fraction, as an Index: of -1.5, -1. NaN, and what 64
bits do not hold, is an error of the call where a visible position depends on it.)");
  module.def(
      "min",
      [](nb::handle a, nb::handle b) { return call("min", Minimum(), a, b); },
      nb::arg("a"), nb::arg("b"), "The smaller; NaN if either is.");
  module.def(
      "max",
      [](nb::handle a, nb::handle b) { return call("max", Maximum(), a, b); },
      nb::arg("a"), nb::arg("b"), "The larger; NaN if either is.");
  module.def(
      "select",
      [](nb::handle condition, nb::handle a, nb::handle b) {
        std::optional<Value> value = toValue(condition);
        const Bool *truth = value ? std::get_if<Bool>(&*value) : nullptr;
        if (!truth)
          throwTypeError("select: expected a Bool as condition, such as k <= "
                         "q, got " +
                         typeName(condition));
        return call("select", Select{*truth}, a, b);
      },
      nb::arg("condition"), nb::arg("a"), nb::arg("b"),
      "``a`` where ``condition`` holds, otherwise ``b``: of two numbers, or "
      "two "
      "Bools.");
}
