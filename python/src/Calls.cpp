//===- Calls.cpp - Calls of kernels from Python ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/src/Calls.h"

#include "python/src/Arrays.h"
#include "python/src/Errors.h"
#include "python/src/Values.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace attn;
using namespace attn::python;
using std::string;

namespace {

/// One call of a kernel: what it is given, in the order of the function.
class Call {
public:
  explicit Call(const Kernel &kernel)
      : kernel(kernel), signature(kernel.signature()) {}

  /// Arguments by position, then by name.
  void takeArguments(const nb::args &positional, const nb::kwargs &named);
  /// `out`, or new arrays. Results that update an argument are that.
  void takeResults(nb::handle out);
  /// Has `user` run the kernel, and gives what `takeResults` took.
  nb::object run(const CallUser &user);

private:
  string describeArgument(std::size_t index) const {
    return "argument " + std::to_string(index) + " '" +
           signature.arguments[index].name + "'";
  }
  bool isUpdated(std::size_t index) const {
    return std::any_of(
        signature.results.begin(), signature.results.end(),
        [&](const Parameter &result) { return result.updates == int(index); });
  }
  /// The query, of whose library results are; or None.
  nb::object getFirstArray() const {
    for (std::size_t i = 0; i < given.size(); ++i)
      if (signature.arguments[i].isTensor)
        return given[i];
    return nb::none();
  }
  Argument convert(std::size_t index, nb::handle object);
  Argument convertScalar(std::size_t index, nb::handle object) const;

  const Kernel &kernel;
  const Signature &signature;
  std::vector<nb::object> given;
  std::vector<Borrowed> borrowed; ///< Their memory lives as long as the call.
  std::vector<Argument> arguments;
  std::vector<TensorView> results;
  std::vector<nb::object> outputs;
};

} // namespace

void Call::takeArguments(const nb::args &positional, const nb::kwargs &named) {
  std::size_t count = signature.arguments.size();
  auto fail = [&](const string &got) {
    string names;
    for (const Parameter &parameter : signature.arguments)
      names += (names.empty() ? "" : ", ") + parameter.name;
    throwTypeError(signature.entry + "(" + names + "): expected " +
                   std::to_string(count) + " arguments, got " + got);
  };
  given.resize(count);
  if (positional.size() > count)
    fail(std::to_string(positional.size()));
  for (std::size_t i = 0; i < positional.size(); ++i)
    given[i] = positional[i];
  for (auto [key, value] : named) {
    auto name = nb::cast<string>(key);
    auto found =
        std::find_if(signature.arguments.begin(), signature.arguments.end(),
                     [&](const Parameter &p) { return p.name == name; });
    if (found == signature.arguments.end())
      fail("one called '" + name + "'");
    nb::object &place = given[found - signature.arguments.begin()];
    if (place.is_valid())
      fail("'" + name + "' twice");
    place = nb::borrow(value);
  }
  for (std::size_t i = 0; i < count; ++i)
    if (!given[i].is_valid())
      fail("no '" + signature.arguments[i].name + "'");
  for (std::size_t i = 0; i < count; ++i)
    arguments.push_back(convert(i, given[i]));
}

Argument Call::convert(std::size_t index, nb::handle object) {
  if (!signature.arguments[index].isTensor)
    return convertScalar(index, object);
  borrowed.push_back(borrow(object, isUpdated(index), describeArgument(index)));
  return borrowed.back().view;
}

Argument Call::convertScalar(std::size_t index, nb::handle object) const {
  ElementType type = signature.arguments[index].type;
  if (type == ElementType::i1 && isBool(object))
    return PyObject_IsTrue(object.ptr());
  bool isReal = isFloat(type);
  nb::object number = nb::steal(isReal ? PyNumber_Float(object.ptr())
                                       : PyNumber_Index(object.ptr()));
  if (nb::isinstance<nb::str>(object) || !number.is_valid()) {
    PyErr_Clear();
    throwError(describeArgument(index) + ": expected " +
               (isReal ? "a number" : "an integer") + " for " +
               string(nameOf(type)) + ", got " + typeName(object));
  }
  if (isReal)
    return PyFloat_AsDouble(number.ptr());
  long long integer = PyLong_AsLongLong(number.ptr());
  if (integer == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    throwError(describeArgument(index) +
               ": expected an integer of 64 bits, got " +
               nb::str(number).c_str());
  }
  return integer;
}

void Call::takeResults(nb::handle out) {
  std::vector<std::vector<std::int64_t>> shapes;
  if (out.is_none())
    shapes = unwrap(kernel.resultShapes(arguments));
  std::size_t count =
      std::count_if(signature.results.begin(), signature.results.end(),
                    [](const Parameter &result) { return result.updates < 0; });
  nb::object outs = nb::borrow(out);
  bool isList = nb::isinstance<nb::list>(out) || nb::isinstance<nb::tuple>(out);
  if (!out.is_none() && !isList)
    outs = nb::make_tuple(out);
  if (!out.is_none() && nb::len(outs) != count)
    throwTypeError(signature.entry + ": expected " + std::to_string(count) +
                   (count == 1 ? " array" : " arrays") + " as out, got " +
                   std::to_string(nb::len(outs)));

  for (std::size_t i = 0; i < signature.results.size(); ++i) {
    const Parameter &result = signature.results[i];
    if (result.updates >= 0) {
      const TensorView *updated = arguments[result.updates].view();
      results.push_back(*updated);
      continue;
    }
    outputs.push_back(out.is_none()
                          ? allocate(getFirstArray(), result.type, shapes[i])
                          : nb::object(outs[outputs.size()]));
    borrowed.push_back(borrow(outputs.back(), /*isWritten=*/true,
                              "result " + std::to_string(i)));
    results.push_back(borrowed.back().view);
  }
}

nb::object Call::run(const CallUser &user) {
  Status status;
  {
    nb::gil_scoped_release release;
    status = user(arguments, results);
  }
  unwrap(std::move(status));
  if (outputs.empty())
    return nb::none();
  if (outputs.size() == 1)
    return outputs[0];
  return nb::tuple(nb::cast(outputs));
}

nb::object python::callKernel(const Kernel &kernel, const nb::args &arguments,
                              nb::handle out, const nb::kwargs &named) {
  return callKernel(kernel, arguments, out, named,
                    [&](std::span<const Argument> arguments,
                        std::span<const TensorView> results) {
                      return kernel.run(arguments, results);
                    });
}

nb::object python::callKernel(const Kernel &kernel, const nb::args &arguments,
                              nb::handle out, const nb::kwargs &named,
                              const CallUser &user) {
  Call call(kernel);
  call.takeArguments(arguments, named);
  call.takeResults(out);
  return call.run(user);
}
