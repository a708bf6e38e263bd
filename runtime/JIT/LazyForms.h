//===- LazyForms.h - Forms of a kernel, compiled when called ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_LAZYFORMS_H
#define ATTN_RUNTIME_JIT_LAZYFORMS_H

#include "runtime/JIT/Compiler.h"

#include "attn/kernel.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace attn::detail {
struct KernelCode;
} // namespace attn::detail

namespace attn::jit {

/// The forms of a kernel for few queries, each compiled before the first call
/// that needs it. Safe to use from several threads.
class LazyForms {
public:
  using Code = std::shared_ptr<const detail::KernelCode>;
  /// Compiles the form of an index, or code that has all of them.
  using Build = std::function<Expected<Code>(FormIndex form)>;

  LazyForms(Signature signature, KernelForms forms, Build build)
      : signature(std::move(signature)), forms(std::move(forms)),
        build(std::move(build)),
        slots(this->forms.most.size() + (areOfSequences() ? 1 : 0)) {}

  /// The form for a call, which has yet to be checked; null if it is that of
  /// many queries. A call that is wrong may get any, and compiles none if its
  /// arguments do not fit the signature.
  Expected<const detail::KernelCode *>
  find(std::span<const Argument> arguments);

  /// Compiles the form for a call. False if it was there.
  Expected<bool> prepare(std::span<const Argument> arguments);

  /// Those for few, compiled if they are not.
  Expected<std::vector<const detail::KernelCode *>> getAll();

private:
  /// How many queries there are, or in sequences that have some.
  struct Range {
    std::int64_t least, most;
  };

  struct Slot {
    std::atomic<const detail::KernelCode *> code = nullptr;
    std::mutex mutex;
    Code owner;
  };

  static void include(std::int64_t length, std::optional<Range> &range);
  std::optional<Range> findRange(std::span<const Argument> arguments) const;
  std::optional<unsigned> findForm(std::span<const Argument> arguments) const;
  bool areOfSequences() const {
    return std::holds_alternative<SequenceLengths>(forms.length);
  }
  bool isCompiled(unsigned form) const {
    return slots[form].code.load(std::memory_order_acquire);
  }
  Expected<const detail::KernelCode *> get(unsigned form);

  const Signature signature;
  const KernelForms forms;
  const Build build;
  std::vector<Slot> slots;
};

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_LAZYFORMS_H
