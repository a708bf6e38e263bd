//===- PagedCaches.cpp - Caches in pages in Python ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/src/PagedCaches.h"

#include "python/src/Arrays.h"
#include "python/src/Errors.h"
#include "python/src/Types.h"

#include "attn/paged_cache.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;
using namespace attn;
using namespace attn::python;
using std::string;

namespace {

using Size = std::optional<std::int64_t>;
using Numbers = std::vector<std::int64_t>;

/// A step that may be over: what is left of a with statement.
struct Step {
  std::optional<CacheStep> step;
};

} // namespace

static std::vector<SequenceId> toSequences(const Numbers &numbers) {
  std::vector<SequenceId> sequences;
  for (std::int64_t number : numbers)
    sequences.push_back(SequenceId(number));
  return sequences;
}

/// The memory of a layer, which lives as long as the array.
template <TensorView (PagedCache::*get)(std::int64_t) const>
static nb::object viewLayer(nb::handle self, std::int64_t layer) {
  const auto &cache = nb::cast<const PagedCache &>(self);
  std::int64_t layers = cache.options().layers;
  if (layer < 0 || layer >= layers)
    throwError("layer: expected 0 to " + std::to_string(layers - 1) + ", got " +
               std::to_string(layer));
  TensorView view = (cache.*get)(layer);
  if (view.rank() < 0)
    throwError("the cache is of " + string(nameOf(cache.options().type)) +
               ", and has no scales");
  return viewArray(view, self);
}

/// A copy, as the memory goes with the step.
template <TensorView (CacheStep::*get)() const>
static nb::object copyOfStep(const Step &self) {
  if (!self.step)
    throwError("the step is over");
  return viewArray((*self.step.*get)(), nb::none()).attr("copy")();
}

static void bindSteps(nb::module_ &module) {
  nb::class_<Step>(
      module, "CacheStep",
      R"(What one call of kernels needs to know of its sequences, and what it changes.

    with cache.append(sequences, counts) as step:
        kernel(query, key, value, cache.keys(), cache.values(), step.lengths,
               step.table)

New tokens become part of their sequences at the end of the ``with`` statement; after
an exception, nothing changed. Arrays are copies.)")
      .def_prop_ro("table", &copyOfStep<&CacheStep::table>,
                   "(B, pages of the longest) i32: the pages of each sequence.")
      .def_prop_ro("lengths", &copyOfStep<&CacheStep::lengths>,
                   "(B) i32: tokens before the call.")
      .def_prop_ro("counts", &copyOfStep<&CacheStep::counts>,
                   "(B) i32: tokens that the call appends.")
      .def_prop_ro("new_lengths", &copyOfStep<&CacheStep::newLengths>,
                   "(B) i32: tokens after the call.")
      .def(
          "commit",
          [](Step &self) {
            if (!self.step)
              throwError("the step is over");
            self.step->commit();
            self.step.reset();
          },
          "Makes the new tokens part of their sequences, and ends the step.")
      .def(
          "drop", [](Step &self) { self.step.reset(); },
          "Ends the step; nothing changed.")
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def(
          "__exit__",
          [](Step &self, nb::handle type, nb::handle, nb::handle) {
            if (self.step && type.is_none())
              self.step->commit();
            self.step.reset();
          },
          "type"_a.none(), "value"_a.none(), "traceback"_a.none());
}

void python::bindPagedCaches(nb::module_ &module) {
  bindSteps(module);

  nb::class_<PagedCache>(
      module, "PagedCache",
      R"(Keys and values of many sequences, in pages that sequences share where they have
tokens in common. A sequence is a number. Errors leave everything as it was.)")
      .def(
          "__init__",
          [](PagedCache *self, std::int64_t pages, std::int64_t pageSize,
             std::int64_t layers, std::int64_t keyValueHeads,
             std::int64_t headSize, Size valueHeadSize, const string &type) {
            new (self) PagedCache(
                unwrap(PagedCache::create({.pages = pages,
                                           .pageSize = pageSize,
                                           .layers = layers,
                                           .keyValueHeads = keyValueHeads,
                                           .headSize = headSize,
                                           .valueHeadSize = valueHeadSize,
                                           .type = parseType("type", type)})));
          },
          nb::kw_only(), "pages"_a, "page_size"_a = 16, "layers"_a = 1,
          "kv_heads"_a = 1, "head_size"_a, "value_head_size"_a = nb::none(),
          "type"_a = "f32",
          R"(``type`` is f32, f16, bf16, f8E4M3FN, f8E5M2, or i8 with a scale of f32 for
each row. Memory is used as pages are.)")
      .def("keys", &viewLayer<&PagedCache::keys>, "layer"_a = 0,
           "(pages, kv_heads, page_size, head_size): the memory of a layer's "
           "keys, as an array of NumPy.")
      .def("values", &viewLayer<&PagedCache::values>, "layer"_a = 0,
           "The same of its values.")
      .def("key_scales", &viewLayer<&PagedCache::keyScales>, "layer"_a = 0,
           "(pages, kv_heads, page_size): what keys of i8 are multiplied by.")
      .def("value_scales", &viewLayer<&PagedCache::valueScales>, "layer"_a = 0,
           "The same of values.")
      .def(
          "create_sequence",
          [](PagedCache &self) {
            return std::int64_t(unwrap(self.createSequence()));
          },
          "A sequence without tokens.")
      .def(
          "fork",
          [](PagedCache &self, std::int64_t sequence, Size length) {
            return std::int64_t(
                unwrap(self.fork(SequenceId(sequence), length)));
          },
          "sequence"_a, "length"_a = nb::none(),
          "A sequence that starts with the first ``length`` tokens of another, "
          "or with all.")
      .def(
          "truncate",
          [](PagedCache &self, std::int64_t sequence, std::int64_t length) {
            unwrap(self.truncate(SequenceId(sequence), length));
          },
          "sequence"_a, "length"_a,
          "Drops all tokens of a sequence but the first ``length``.")
      .def(
          "free",
          [](PagedCache &self, std::int64_t sequence) {
            unwrap(self.free(SequenceId(sequence)));
          },
          "sequence"_a, "Drops a sequence.")
      .def(
          "length",
          [](const PagedCache &self, std::int64_t sequence) {
            return unwrap(self.length(SequenceId(sequence)));
          },
          "sequence"_a, "Its tokens, without those of a step under way.")
      .def(
          "append",
          [](PagedCache &self, const Numbers &sequences,
             const Numbers &counts) {
            return Step{unwrap(self.append(toSequences(sequences), counts))};
          },
          "sequences"_a, "counts"_a,
          R"(Makes room for as many more tokens in each sequence as ``counts`` says; 0 only
reads. Raises attn.Error for a sequence that is not there, comes twice or is in use by
another step, for a negative count, and if there are too few free pages.)")
      .def(
          "count_new_pages",
          [](const PagedCache &self, const Numbers &sequences,
             const Numbers &counts) {
            return unwrap(self.countNewPages(toSequences(sequences), counts));
          },
          "sequences"_a, "counts"_a, "Free pages that such a step takes.")
      .def_prop_ro("free_pages", &PagedCache::freePages,
                   "Pages that neither a sequence nor a step has.");
}
