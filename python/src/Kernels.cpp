//===- Kernels.cpp - Engines and kernels in Python ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/src/Kernels.h"

#include "python/src/Arrays.h"
#include "python/src/Attention.h"
#include "python/src/Errors.h"
#include "python/src/Values.h"

#include "attn/blocks.h"
#include "attn/engine.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;
using namespace attn;
using namespace attn::python;
using std::string;

namespace {

/// A kernel, and what its blocks are shown by.
struct TextKernel {
  Kernel kernel;
  string text;
  BlockOptions source;
};

/// An engine, and the processor that it compiles for.
struct CPUEngine {
  Engine engine;
  string cpu;
};

/// Blocks as text and as a picture.
struct BlockMap {
  string text, svg;
};

using Size = std::optional<std::int64_t>;

} // namespace

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

static nb::object getShape(const Parameter &parameter) {
  if (!parameter.isTensor)
    return nb::none();
  nb::list shape;
  for (std::int64_t size : parameter.shape)
    shape.append(size == Parameter::dynamic ? nb::none() : nb::cast(size));
  return nb::tuple(shape);
}

/// "query: 1x8x?x64xf32"
static string writeParameter(const Parameter &parameter) {
  string text = parameter.name.empty() ? "" : parameter.name + ": ";
  for (std::int64_t size : parameter.shape)
    text += (size == Parameter::dynamic ? "?" : std::to_string(size)) + "x";
  return text + string(nameOf(parameter.type));
}

static string writeKernel(const TextKernel &self) {
  const Signature &signature = self.kernel.signature();
  auto list = [](const std::vector<Parameter> &parameters) {
    string text;
    for (const Parameter &parameter : parameters)
      text += (text.empty() ? "" : ", ") + writeParameter(parameter);
    return text;
  };
  return "<attn.Kernel " + signature.entry + "(" + list(signature.arguments) +
         ") -> (" + list(signature.results) + ")>";
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

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
  /// Runs the kernel and gives what `takeResults` took.
  nb::object run();

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
    // All are of the library of the first argument, which is the query.
    outputs.push_back(out.is_none()
                          ? allocate(given.empty() ? nb::none() : given[0],
                                     result.type, shapes[i])
                          : nb::object(outs[outputs.size()]));
    borrowed.push_back(borrow(outputs.back(), /*isWritten=*/true,
                              "result " + std::to_string(i)));
    results.push_back(borrowed.back().view);
  }
}

nb::object Call::run() {
  Status status;
  {
    nb::gil_scoped_release release;
    status = kernel.run(arguments, results);
  }
  unwrap(std::move(status));
  if (outputs.empty())
    return nb::none();
  if (outputs.size() == 1)
    return outputs[0];
  return nb::tuple(nb::cast(outputs));
}

static nb::object callKernel(const TextKernel &self, const nb::args &arguments,
                             nb::handle out, const nb::kwargs &named) {
  Call call(self.kernel);
  call.takeArguments(arguments, named);
  call.takeResults(out);
  return call.run();
}

static BlockMap mapBlocks(const TextKernel &self, Size queryLength,
                          Size keyLength, Size batch, Size offset) {
  BlockOptions options = self.source;
  options.batch = batch;
  options.queryLength = queryLength;
  options.keyLength = keyLength;
  options.offset = offset;
  auto show = [&](BlockOptions::Format format) {
    options.format = format;
    nb::gil_scoped_release release;
    return showBlocks(self.text, options);
  };
  return {unwrap(show(BlockOptions::Format::text)),
          unwrap(show(BlockOptions::Format::svg))};
}

//===----------------------------------------------------------------------===//
// Engines
//===----------------------------------------------------------------------===//

static CPUEngine createEngine(const std::filesystem::path &cacheDirectory,
                              unsigned threads, const string &cpu) {
  EngineOptions options;
  options.cacheDirectory = cacheDirectory;
  options.threads = threads;
  options.cpu = cpu;
  auto create = [&] {
    nb::gil_scoped_release release;
    return Engine::create(options);
  };
  return {unwrap(create()), cpu};
}

static TextKernel compile(const CPUEngine &self, nb::handle source,
                          const string &entry, const string &pipeline,
                          bool quantizeQueries, const string &fileName) {
  string text;
  if (nb::isinstance<Attention>(source))
    text = writeText(nb::cast<const Attention &>(source));
  else if (nb::isinstance<nb::str>(source))
    text = nb::cast<string>(source);
  else
    throwTypeError("compile: expected an attn.Attention or text in MLIR, got " +
                   typeName(source));
  CompileOptions options{.entry = entry,
                         .pipeline = pipeline,
                         .quantizeQueries = quantizeQueries,
                         .fileName = fileName};
  auto compile = [&] {
    nb::gil_scoped_release release;
    return self.engine.compile(text, options);
  };
  return {unwrap(compile()), text,
          BlockOptions{.entry = entry, .fileName = fileName, .cpu = self.cpu}};
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

static void bindSignature(nb::module_ &module) {
  nb::class_<Parameter>(module, "Parameter",
                        "One argument or result of a kernel.")
      .def_ro("name", &Parameter::name,
              "Its name in the text; empty for results.")
      .def_prop_ro(
          "type",
          [](const Parameter &self) { return string(nameOf(self.type)); },
          "The element type, as 'f32'.")
      .def_prop_ro("shape", &getShape,
                   "Sizes, None where only a call knows them; None for a "
                   "number.")
      .def_ro("updates", &Parameter::updates,
              "Of a result: the argument that it updates in place, or -1.")
      .def("__repr__",
           [](const Parameter &self) { return writeParameter(self); });

  nb::class_<SizeExpr::Term>(module, "SizeTerm",
                             "``coefficient`` times the size of a dimension of "
                             "an argument, or times the value\nof an integer "
                             "argument where ``dimension`` is -1.")
      .def_ro("coefficient", &SizeExpr::Term::coefficient)
      .def_ro("argument", &SizeExpr::Term::argument)
      .def_ro("dimension", &SizeExpr::Term::dimension);
  nb::class_<SizeExpr>(module, "SizeExpr",
                       "The size of a dimension of a result: ``constant`` and "
                       "the sum of ``terms``.")
      .def_ro("constant", &SizeExpr::constant)
      .def_ro("terms", &SizeExpr::terms);

  nb::class_<CompileStats>(module, "CompileStats",
                           "Where a kernel's code came from, and what it cost.")
      .def_prop_ro(
          "source",
          [](const CompileStats &self) {
            static constexpr const char *names[] = {"compiler", "memory cache",
                                                    "disk cache"};
            return names[int(self.source)];
          },
          "'compiler', 'memory cache' or 'disk cache'.")
      .def_ro("total_ms", &CompileStats::totalMs, "Milliseconds.");
}

void python::bindKernels(nb::module_ &module) {
  bindSignature(module);

  nb::class_<BlockMap>(module, "BlockMap",
                       "Which blocks of queries and keys a kernel skips, "
                       "masks and computes whole: a\npicture in a notebook, "
                       "lines of characters elsewhere.")
      .def_ro("text", &BlockMap::text, "A line for each tile of queries.")
      .def_ro("svg", &BlockMap::svg, "An SVG document.")
      .def("__repr__", [](const BlockMap &self) { return self.text; })
      .def("_repr_svg_", [](const BlockMap &self) { return self.svg; });

  nb::class_<TextKernel>(
      module, "Kernel",
      "A compiled kernel. It may be called by several threads at once.")
      .def(
          "__call__", &callKernel, "arguments"_a, nb::kw_only(),
          "out"_a = nb::none(), "named"_a,
          "Runs the kernel, with arguments by position or by name: arrays that "
          "have\n``__dlpack__`` and lie in the CPU's memory, as those of NumPy "
          "and PyTorch, and\nnumbers. Nothing is copied. Strides are as in "
          "C++ (``attn/tensor_view.h``): the last\ndimension is contiguous; "
          "none is negative.\n\n"
          "Results are written to ``out``, an array or one for each result, "
          "or to new arrays\nof the library that the first argument is of. "
          "They are returned: one, a tuple of\nseveral, or None. A result "
          "that updates an argument in place, such as a cache, is\nnot among "
          "them.\n\n"
          "Raises attn.Error, before anything is written, for an argument "
          "that is of another\ntype, size or device than the kernel takes, "
          "and for results that overlap; and, with\nresults in an unspecified "
          "state, where the kernel itself finds an error, such as an\nindex "
          "that leads outside a tensor.")
      .def_prop_ro(
          "arguments",
          [](const TextKernel &self) {
            return self.kernel.signature().arguments;
          },
          "What it takes.")
      .def_prop_ro(
          "results",
          [](const TextKernel &self) {
            return self.kernel.signature().results;
          },
          "What it gives.")
      .def_prop_ro(
          "result_sizes",
          [](const TextKernel &self) {
            return self.kernel.signature().resultSizes;
          },
          "The size of every dimension of every result.")
      .def_prop_ro(
          "remarks",
          [](const TextKernel &self) { return self.kernel.remarks(); },
          "Where the kernel is slower than its text lets expect, and why "
          "(docs/remarks.md).")
      .def_prop_ro(
          "pipeline",
          [](const TextKernel &self) { return self.kernel.pipeline(); },
          "The lowering that it was compiled with.")
      .def_prop_ro(
          "stats", [](const TextKernel &self) { return self.kernel.stats(); },
          "Where the code came from.")
      .def_ro("text", &TextKernel::text, "What was compiled.")
      .def(
          "blocks", &mapBlocks, nb::kw_only(), "query_length"_a = nb::none(),
          "key_length"_a = nb::none(), "batch"_a = nb::none(),
          "offset"_a = nb::none(),
          "The blocks of the kernel of pipeline 'cpu', for sizes that the text "
          "leaves open.")
      .def("__repr__",
           [](const TextKernel &self) { return writeKernel(self); });

  nb::class_<CPUEngine>(module, "Engine",
                        "Compiles kernels for the processor that it runs on.")
      .def(
          "__init__",
          [](CPUEngine *self, std::optional<std::filesystem::path> directory,
             unsigned threads, const string &cpu) {
            new (self)
                CPUEngine(createEngine(directory.value_or(""), threads, cpu));
          },
          nb::kw_only(), "cache_directory"_a = nb::none(), "threads"_a = 0,
          "cpu"_a = "",
          "``cache_directory`` keeps compiled kernels for other processes; its "
          "files are\nexecuted, so that it must be writable by you alone. "
          "``threads`` work on one call:\nas many as there are processors if "
          "0. ``cpu`` is a processor by LLVM's name for it,\nsuch as "
          "'x86-64-v3'; this machine's if empty.")
      .def("compile", &compile, "source"_a, nb::kw_only(), "entry"_a = "",
           "pipeline"_a = "cpu", "quantize_queries"_a = false,
           "file_name"_a = "<string>",
           "Compiles an ``attn.Attention``, or a function of a text in MLIR: "
           "the one called\n``entry``, or the only public one. ``pipeline`` is "
           "'cpu', or 'reference', slow and\nplain, to compare with. With "
           "``quantize_queries``, keys in caches of i8 are\nmultiplied as "
           "integers. ``file_name`` is what diagnostics call the text.");
}
