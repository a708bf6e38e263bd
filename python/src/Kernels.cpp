//===- Kernels.cpp - Engines and kernels in Python ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/src/Kernels.h"

#include "python/src/Arrays.h"
#include "python/src/Calls.h"
#include "python/src/Captures.h"
#include "python/src/Errors.h"
#include "python/src/Layers.h"
#include "python/src/Values.h"

#include "attn/block_summary.h"
#include "attn/blocks.h"
#include "attn/engine.h"
#include "attn/object.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <utility>
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
  /// After prepare(), while others may call the kernel.
  std::optional<std::vector<Diagnostic>> allRemarks;
  string text;
  BlockOptions source;
};

/// An engine, and the processor that it compiles for.
struct CPUEngine {
  Engine engine;
  string cpu;
};

/// What Tuning is, with the kernel as Python has it.
struct TunedKernel {
  TextKernel kernel;
  Tuning tuning;
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
// Blocks
//===----------------------------------------------------------------------===//

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
                              unsigned threads, const string &cpu,
                              const std::optional<TuningOptions> &tuning) {
  EngineOptions options;
  options.tuning = tuning;
  options.cacheDirectory = cacheDirectory;
  options.threads = threads;
  options.cpu = cpu;
  auto create = [&] {
    nb::gil_scoped_release release;
    return Engine::create(options);
  };
  return {unwrap(create()), cpu};
}

/// The text of an attn.Attention or a layer, or that which `source` is.
static string getText(nb::handle source, const char *function) {
  if (std::optional<string> text = findText(source))
    return *text;
  if (nb::isinstance<nb::str>(source))
    return nb::cast<string>(source);
  throwTypeError(string(function) +
                 ": expected an attn.Attention, a layer or text in MLIR, got " +
                 typeName(source));
}

/// By `differentiate`, which has `name`.
template <auto differentiate>
static string differentiateText(const char *name, nb::handle source,
                                const std::vector<string> &of,
                                const std::vector<unsigned> &results,
                                bool saved, const string &entry,
                                const string &fileName) {
  string text = getText(source, name);
  GradientOptions options{.of = of,
                          .results = results,
                          .saved = saved,
                          .entry = entry,
                          .fileName = fileName};
  auto release = [&] {
    nb::gil_scoped_release release;
    return differentiate(text, options);
  };
  return unwrap(release());
}

static TextKernel compile(const CPUEngine &self, nb::handle source,
                          const string &entry, const string &pipeline,
                          bool quantizeQueries, const string &fileName) {
  string text = getText(source, "compile");
  CompileOptions options{.entry = entry,
                         .pipeline = pipeline,
                         .quantizeQueries = quantizeQueries,
                         .fileName = fileName};
  auto compile = [&] {
    nb::gil_scoped_release release;
    return self.engine.compile(text, options);
  };
  return {unwrap(compile()), /*allRemarks=*/std::nullopt, text,
          BlockOptions{.entry = entry, .fileName = fileName, .cpu = self.cpu}};
}

/// What a kernel becomes: text, or the bytes of an object file.
static nb::object emit(const CPUEngine &self, nb::handle source,
                       const string &form, const string &entry,
                       const string &pipeline, bool quantizeQueries,
                       const string &fileName) {
  static constexpr std::pair<const char *, CodeForm> forms[] = {
      {"mlir", CodeForm::MLIR},
      {"llvm", CodeForm::LLVM},
      {"asm", CodeForm::Assembly},
      {"obj", CodeForm::Object}};
  const auto *found =
      std::find_if(std::begin(forms), std::end(forms),
                   [&](const auto &entry) { return form == entry.first; });
  if (found == std::end(forms))
    throw nb::value_error(
        ("form: expected 'mlir', 'llvm', 'asm' or 'obj', got '" + form + "'")
            .c_str());
  string text = getText(source, "emit");
  CompileOptions options{.entry = entry,
                         .pipeline = pipeline,
                         .quantizeQueries = quantizeQueries,
                         .fileName = fileName};
  auto release = [&] {
    nb::gil_scoped_release release;
    return self.engine.emit(text, found->second, options);
  };
  string code = unwrap(release());
  if (found->second == CodeForm::Object)
    return nb::bytes(code.data(), code.size());
  return nb::str(code.data(), code.size());
}

static nb::tuple compileObject(nb::handle source, const string &name,
                               const string &cpu, const string &entry,
                               const string &pipeline, bool quantizeQueries,
                               const string &fileName) {
  string text = getText(source, "compile_to_object");
  ObjectOptions options{.name = name,
                        .cpu = cpu,
                        .entry = entry,
                        .pipeline = pipeline,
                        .quantizeQueries = quantizeQueries,
                        .fileName = fileName};
  auto release = [&] {
    nb::gil_scoped_release release;
    return compileToObject(text, options);
  };
  ObjectFile file = unwrap(release());
  return nb::make_tuple(nb::bytes(file.object.data(), file.object.size()),
                        file.header);
}

//===----------------------------------------------------------------------===//
// Tuning
//===----------------------------------------------------------------------===//

static TuningOptions createTuning(double seconds, bool isCold,
                                  const nb::object &progress) {
  TuningOptions options{.seconds = seconds, .isCold = isCold};
  if (progress.is_none())
    return options;
  if (!PyCallable_Check(progress.ptr()))
    throwTypeError("progress: expected a function of a TuningStep, got " +
                   typeName(progress));
  // The engine copies and drops it without the interpreter's lock.
  auto drop = [](nb::object *object) {
    nb::gil_scoped_acquire acquire;
    delete object;
  };
  std::shared_ptr<nb::object> function(new nb::object(progress), drop);
  options.progress = [function](const TuningStep &step) {
    nb::gil_scoped_acquire acquire;
    try {
      (*function)(step);
    } catch (nb::python_error &error) {
      // Tuning goes on: there is nobody to throw to.
      error.discard_as_unraisable("attn.TuningOptions.progress");
    }
  };
  return options;
}

static TunedKernel tune(const CPUEngine &self, nb::handle source,
                        nb::handle arguments, nb::handle out,
                        const TuningOptions &tuning, const string &entry,
                        bool quantizeQueries, const string &fileName) {
  TextKernel kernel =
      compile(self, source, entry, "cpu", quantizeQueries, fileName);
  CompileOptions options{
      .entry = entry, .quantizeQueries = quantizeQueries, .fileName = fileName};
  bool areNamed = nb::isinstance<nb::dict>(arguments);
  auto positional = nb::borrow<nb::args>(
      areNamed ? nb::tuple() : nb::tuple(nb::borrow(arguments)));
  auto named = nb::borrow<nb::kwargs>(areNamed ? nb::borrow<nb::dict>(arguments)
                                               : nb::dict());
  std::optional<Tuning> found;
  callKernel(kernel.kernel, positional, out, named,
             [&](std::span<const Argument> arguments,
                 std::span<const TensorView> results) -> Status {
               Expected<Tuning> result = self.engine.tune(
                   kernel.text, arguments, results, tuning, options);
               if (!result)
                 return result.error();
               found = std::move(*result);
               return {};
             });
  kernel.kernel = found->kernel;
  kernel.text = found->text;
  return {kernel, std::move(*found)};
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

static void bindTuning(nb::module_ &module) {
  nb::class_<TuningStep>(module, "TuningStep", "A plan that was tried.")
      .def_ro("op", &TuningStep::op, "The op, in the order of the text.")
      .def_ro("plan", &TuningStep::plan, "Its plan, ``#attn.plan<...>``.")
      .def_ro("times_faster", &TuningStep::timesFaster,
              "Over the best one before it.")
      .def_ro("is_kept", &TuningStep::isKept);

  nb::class_<TuningOptions>(module, "TuningOptions",
                            "How long to look for plans, and how.")
      .def(
          "__init__",
          [](TuningOptions *self, double seconds, bool cold,
             const nb::object &progress) {
            new (self) TuningOptions(createTuning(seconds, cold, progress));
          },
          nb::kw_only(), "seconds"_a = TuningOptions().seconds,
          "cold"_a = TuningOptions().isCold, "progress"_a = nb::none(),
          R"(``seconds`` include compiling. If it is ``cold``, a call finds nothing in the
processor's caches that the one before read or wrote. ``progress`` is called with a
TuningStep after each plan.)");

  nb::class_<TunedKernel>(module, "Tuning", "What Engine.tune found.")
      .def_ro("kernel", &TunedKernel::kernel, "With the best plans.")
      .def_prop_ro(
          "plans", [](const TunedKernel &self) { return self.tuning.plans; },
          "The plan of each op that has one, as ``#attn.plan<...>``.")
      .def_prop_ro(
          "text", [](const TunedKernel &self) { return self.tuning.text; },
          "The text with these plans, to compile anywhere.")
      .def_prop_ro(
          "times_faster",
          [](const TunedKernel &self) { return self.tuning.timesFaster; },
          "Over the compiler's own plans; 1 if those are the best.")
      .def_prop_ro(
          "num_tried",
          [](const TunedKernel &self) { return self.tuning.numTried; },
          "Plans, beside the compiler's own.")
      .def_prop_ro(
          "is_complete",
          [](const TunedKernel &self) { return self.tuning.isComplete; },
          "Whether every neighbour of the best plans was tried.");
}

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

  nb::class_<SizeExpr::Term>(
      module, "SizeTerm",
      R"(``coefficient`` times the size of a dimension of an argument, or times the value
of an integer argument where ``dimension`` is -1.)")
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

  nb::class_<BlockMap>(
      module, "BlockMap",
      R"(Which blocks of queries and keys a kernel skips, masks and computes whole: a
picture in a notebook, lines of characters elsewhere.)")
      .def_ro("text", &BlockMap::text, "A line for each tile of queries.")
      .def_ro("svg", &BlockMap::svg, "An SVG document.")
      .def("__repr__", [](const BlockMap &self) { return self.text; })
      .def("_repr_svg_", [](const BlockMap &self) { return self.svg; });

  nb::class_<TextKernel>(
      module, "Kernel",
      "A compiled kernel. It may be called by several threads at once.")
      .def(
          "__call__",
          [](const TextKernel &self, const nb::args &arguments, nb::handle out,
             const nb::kwargs &named) {
            return callKernel(self.kernel, arguments, out, named);
          },
          "arguments"_a, nb::kw_only(), "out"_a = nb::none(), "named"_a,
          R"(Runs the kernel, with arguments by position or by name.

They are numbers, and arrays that have ``__dlpack__`` and lie in the CPU's memory, as
those of NumPy and PyTorch. Nothing is copied. Strides are as in C++
(``attn/tensor_view.h``): the last dimension is contiguous; none is negative.

Results are written to ``out``, an array or a list with one for each result, or to new
arrays of the library that the first array is of. They are returned: one, a tuple of
several, or None. A result that updates an argument in place, such as a cache, is not
among them.

Raises attn.Error, before anything is written, for an argument that is of another type,
size or device than the kernel takes, and for results that overlap; and, with results
in an unspecified state, where the kernel itself finds an error, such as an index that
leads outside a tensor.)")
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
          [](const TextKernel &self) {
            return self.allRemarks.value_or(self.kernel.remarks());
          },
          "Where the kernel is slower than its text lets expect, and why "
          "(docs/remarks.md); of few queries alone, after prepare().")
      .def(
          "prepare",
          [](TextKernel &self) {
            Kernel kernel = self.kernel;
            auto prepare = [&] {
              nb::gil_scoped_release release;
              return kernel.prepare();
            };
            unwrap(prepare());
            self.allRemarks = kernel.remarks();
          },
          "Compile what only calls with few queries need, such as steps of "
          "decoding, so that no call has to.")
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

  module.def(
      "differentiate",
      [](nb::handle source, const std::vector<string> &of,
         const std::vector<unsigned> &results, bool saved, const string &entry,
         const string &fileName) {
        return differentiateText<&attn::differentiate>(
            "differentiate", source, of, results, saved, entry, fileName);
      },
      "source"_a, nb::kw_only(), "of"_a = std::vector<string>(),
      "results"_a = std::vector<unsigned>(), "saved"_a = false, "entry"_a = "",
      "file_name"_a = "<string>",
      R"(The gradient of an ``attn.Attention``, or of a function of a text in MLIR, as
text. It takes the arguments of the function, then, if they are ``saved``, its
results, and then the gradients of a number with respect to ``results``, by number;
all of floats if there are none. It gives those with respect to the arguments
named in ``of``, or to all of floats.)");
  module.def(
      "differentiate_forward",
      [](nb::handle source, const std::vector<string> &of,
         const std::vector<unsigned> &results, bool saved, const string &entry,
         const string &fileName) {
        return differentiateText<&attn::differentiateForward>(
            "differentiate_forward", source, of, results, saved, entry,
            fileName);
      },
      "source"_a, nb::kw_only(), "of"_a = std::vector<string>(),
      "results"_a = std::vector<unsigned>(), "saved"_a = false, "entry"_a = "",
      "file_name"_a = "<string>",
      R"(The tangent of an ``attn.Attention``, or of a function of a text in MLIR, such as
what ``differentiate`` gives, as text: how fast results move while arguments do. It
takes the arguments of the function, then, if they are ``saved``, its results, and
then the tangents of the arguments named in ``of``, or of all of floats. It gives
the tangents of ``results``, by number; of all of floats if there are none.)");

  module.def(
      "compile_to_object", &compileObject, "source"_a, nb::kw_only(),
      "name"_a = "", "cpu"_a = "", "entry"_a = "", "pipeline"_a = "cpu",
      "quantize_queries"_a = false, "file_name"_a = "<string>",
      R"(A kernel for programs without a compiler: the bytes of an object file with a
function that C can call, and the text of its header. The function is called
``name``, or as it is in the text. Other options are those of an Engine.)");

  bindTuning(module);
  nb::class_<CPUEngine>(module, "Engine",
                        "Compiles kernels for the processor that it runs on.")
      .def(
          "__init__",
          [](CPUEngine *self,
             const std::optional<std::filesystem::path> &directory,
             unsigned threads, const string &cpu,
             const std::optional<TuningOptions> &tuning) {
            new (self) CPUEngine(
                createEngine(directory.value_or(""), threads, cpu, tuning));
          },
          nb::kw_only(), "cache_directory"_a = nb::none(), "threads"_a = 0,
          "cpu"_a = "", "tuning"_a = nb::none(),
          R"(``cache_directory`` keeps compiled kernels for other processes; its files are
executed, so that it must be writable by you alone. ``threads`` work on one call:
as many as there are processors if 0. ``cpu`` is a processor by LLVM's name for it,
such as 'x86-64-v3'; this machine's if empty. With ``tuning``, every kernel that is
compiled and was not tuned before is, on standard sizes.)")
      .def("compile", &compile, "source"_a, nb::kw_only(), "entry"_a = "",
           "pipeline"_a = "cpu", "quantize_queries"_a = false,
           "file_name"_a = "<string>",
           R"(Compiles an ``attn.Attention``, an ``attn.CachedAttention``, an
``attn.MultiHeadAttention``, an ``attn.MultiTokenAttention``, or a function of a text
in MLIR: the one called ``entry``, or the only public one. ``pipeline`` is 'cpu', or
'reference', slow and plain, to compare with. With ``quantize_queries``, keys in
caches of i8 are multiplied as integers. ``file_name`` is what diagnostics call the
text.)")
      .def(
          "tune", &tune, "source"_a, "arguments"_a, nb::kw_only(),
          "out"_a = nb::none(), "tuning"_a = TuningOptions(), "entry"_a = "",
          "quantize_queries"_a = false, "file_name"_a = "<string>",
          R"(Looks for plans with which a kernel is faster than with the compiler's, on this
machine and in a call with these ``arguments``, a sequence or a dict by name. From
then on, ``compile`` uses them for the same source, in this engine and, with a cache
directory, in others on such a processor. The call is run often: results, and what
it updates in place, have no meaning afterwards.)")
      .def(
          "emit", &emit, "source"_a, "form"_a, nb::kw_only(), "entry"_a = "",
          "pipeline"_a = "cpu", "quantize_queries"_a = false,
          "file_name"_a = "<string>",
          "What a kernel becomes, to look at: 'mlir', 'llvm' or 'asm' as text, "
          "'obj' as the bytes of an object file.")
      .def(
          "summarize",
          [](const CPUEngine &self, const Captured &tensor, nb::handle table) {
            Borrowed memory = borrow(table, /*isWritten=*/false,
                                     "'" + tensor.declaration->name + "'");
            auto release = [&] { // It is computed by a kernel.
              nb::gil_scoped_release release;
              return BlockSummary::create(self.engine, tensor.declaration,
                                          memory.view);
            };
            BlockSummary summary = unwrap(release());
            nb::capsule owner(new BlockSummary(summary),
                              [](void *data) noexcept {
                                delete static_cast<BlockSummary *>(data);
                              });
            return viewArray(*Argument(summary).view(), owner);
          },
          "tensor"_a, "table"_a,
          R"(The smallest and the largest element of each block of ``table``, which is passed
for ``tensor``, as ``tensor.summarized`` says: an array that kernels take after it.)");
}
