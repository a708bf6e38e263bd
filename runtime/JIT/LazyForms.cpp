//===- LazyForms.cpp - Forms of a kernel, compiled when called ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/LazyForms.h"
#include "runtime/JIT/KernelCode.h"
#include "runtime/Support/CallChecks.h"

#include <algorithm>

using namespace attn;
using namespace attn::jit;
using detail::KernelCode;

std::optional<unsigned>
LazyForms::findForm(std::span<const Argument> arguments) const {
  std::optional<std::int64_t> length =
      support::evaluate(forms.length, arguments);
  if (!length || *length < 1 || *length > forms.most.back())
    return std::nullopt;
  auto most = std::lower_bound(forms.most.begin(), forms.most.end(), *length);
  auto form = unsigned(most - forms.most.begin());
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
    Expected<Code> built = build(form);
    if (!built)
      return std::move(built).error();
    slot.owner = std::move(*built);
    slot.code.store(slot.owner.get(), std::memory_order_release);
  }
  return slot.owner.get();
}
