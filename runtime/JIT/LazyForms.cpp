//===- LazyForms.cpp - Forms of a kernel, compiled when called ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/LazyForms.h"
#include "runtime/JIT/KernelCode.h"
#include "runtime/Support/CallChecks.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace attn;
using namespace attn::jit;
using detail::KernelCode;

/// The element of a dense vector of i32 or i64.
static std::int64_t load(const TensorView &vector, std::int64_t index) {
  if (vector.type() == ElementType::i32)
    return static_cast<const std::int32_t *>(vector.data())[index];
  return static_cast<const std::int64_t *>(vector.data())[index];
}

void LazyForms::include(std::int64_t length, std::optional<Range> &range) {
  if (length < 1)
    return;
  Range all = range.value_or(Range{length, length});
  range = {std::min(all.least, length), std::max(all.most, length)};
}

std::optional<LazyForms::Range>
LazyForms::findRange(std::span<const Argument> arguments) const {
  if (auto *size = std::get_if<SizeExpr>(&forms.length)) {
    std::optional<Range> range;
    include(support::evaluate(*size, arguments).value_or(0), range);
    return range;
  }
  auto [argument, isCumulative] = std::get<SequenceLengths>(forms.length);
  if (!support::isArgument(signature, arguments, argument))
    return std::nullopt;
  const TensorView &lengths = *arguments[argument].view();
  std::optional<Range> range;
  for (std::int64_t i = isCumulative; i < lengths.size(0); ++i) {
    // A wrong one may be any number; the call says so.
    auto length = std::uint64_t(load(lengths, i));
    if (isCumulative)
      length -= std::uint64_t(load(lengths, i - 1));
    include(std::int64_t(length), range);
  }
  return range;
}

std::optional<unsigned>
LazyForms::findForm(std::span<const Argument> arguments) const {
  std::optional<Range> range = findRange(arguments);
  if (!range)
    return std::nullopt;
  auto find = [&](std::int64_t length) {
    return unsigned(llvm::lower_bound(forms.most, length) - forms.most.begin());
  };
  unsigned form = find(range->most);
  // What many queries alone need is there. For sequences of several forms, all
  // are in one code.
  if (find(range->least) != form)
    form = unsigned(forms.most.size());
  else if (form == forms.most.size())
    return std::nullopt;
  if (!isCompiled(form) && support::checkArguments(signature, arguments))
    return std::nullopt;
  return form;
}

Expected<const KernelCode *>
LazyForms::find(std::span<const Argument> arguments) {
  std::optional<unsigned> form = findForm(arguments);
  if (!form)
    return nullptr;
  return get(*form);
}

Expected<bool> LazyForms::prepare(std::span<const Argument> arguments) {
  std::optional<unsigned> form = findForm(arguments);
  if (!form || isCompiled(*form))
    return false;
  Expected<const KernelCode *> code = get(*form);
  if (!code)
    return std::move(code).error();
  return true;
}

Expected<std::vector<const KernelCode *>> LazyForms::getAll() {
  std::vector<const KernelCode *> all;
  for (unsigned form = 0; form < slots.size(); ++form) {
    Expected<const KernelCode *> code = get(form);
    if (!code)
      return std::move(code).error();
    all.push_back(*code);
  }
  return all;
}

Expected<const KernelCode *> LazyForms::get(unsigned form) {
  Slot &slot = slots[form];
  if (const KernelCode *code = slot.code.load(std::memory_order_acquire))
    return code;
  // Others that need it wait. After an error the next one tries again.
  std::lock_guard lock(slot.mutex);
  if (!slot.owner) {
    Expected<Code> built =
        build(form < forms.most.size() ? FormIndex(form) : std::nullopt);
    if (!built)
      return std::move(built).error();
    slot.owner = std::move(*built);
    slot.code.store(slot.owner.get(), std::memory_order_release);
  }
  return slot.owner.get();
}
