//===- Errors.cpp - Errors as exceptions ----------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/src/Errors.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace attn;
using namespace attn::python;
using std::string;

/// attn.Error, which the module keeps.
static PyObject *errorType = nullptr;

void python::throwError(const Error &error) {
  nb::object exception = nb::handle(errorType)(formatError(error));
  exception.attr("diagnostics") = nb::cast(error.diagnostics);
  PyErr_SetObject(errorType, exception.ptr());
  nb::raise_python_error();
}

void python::throwError(const string &message) {
  throwError(Error{message, {}});
}

void python::throwFrom(nb::python_error &cause, const string &message) {
  string text = nb::str(cause.value()).c_str();
  nb::raise_from(cause, errorType, "%s: %s", message.c_str(), text.c_str());
}

static const char *nameSeverity(Diagnostic::Severity severity) {
  static constexpr const char *names[] = {"error", "warning", "remark", "note"};
  return names[int(severity)];
}

void python::bindErrors(nb::module_ &module) {
  nb::class_<Diagnostic>(
      module, "Diagnostic",
      "One message of the compiler about a place in the text.")
      .def_prop_ro(
          "severity",
          [](const Diagnostic &self) { return nameSeverity(self.severity); },
          "'error', 'warning', 'remark' or 'note'.")
      .def_ro("file", &Diagnostic::file, "The name of the text.")
      .def_ro("line", &Diagnostic::line, "From 1 on; 0 if it is not known.")
      .def_ro("column", &Diagnostic::column, "From 1 on; 0 if it is not known.")
      .def_ro("message", &Diagnostic::message, "What the compiler says.")
      .def("__str__", &formatDiagnostic)
      .def("__repr__", [](const Diagnostic &self) {
        return "<Diagnostic " + formatDiagnostic(self) + ">";
      });

  // Those of the compiler, where it said more than the message.
  nb::dict members;
  members["diagnostics"] = nb::tuple();
  errorType = PyErr_NewExceptionWithDoc(
      "attn.Error",
      R"(What could not be written, compiled or called, and why. ``diagnostics`` are the
compiler's, with their places in the text.)",
      nullptr, members.ptr());
  if (!errorType)
    nb::raise_python_error();
  module.attr("Error") = nb::handle(errorType);
}
