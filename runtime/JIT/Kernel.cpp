//===- Kernel.cpp - Calls of compiled kernels -----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/kernel.h"

#include "runtime/JIT/HostTensors.h"
#include "runtime/JIT/KernelCode.h"
#include "runtime/Support/CallChecks.h"
#include "runtime/Support/KernelCall.h"

#include <algorithm>

using namespace attn;

Kernel::Kernel(std::shared_ptr<const detail::KernelCode> code,
               CompileStats stats)
    : code(std::move(code)), compileStats(stats),
      compileRemarks(this->code->remarks) {}

const Signature &Kernel::signature() const { return code->signature; }

const std::string &Kernel::pipeline() const { return code->pipeline; }

const CompileStats &Kernel::stats() const { return compileStats; }

const std::vector<Diagnostic> &Kernel::remarks() const {
  return compileRemarks;
}

Expected<std::vector<std::vector<std::int64_t>>>
Kernel::resultShapes(std::span<const Argument> arguments) const {
  return support::computeResultShapes(code->signature, arguments);
}

Status Kernel::run(std::span<const Argument> arguments,
                   std::span<const TensorView> results) const {
  if (code->device)
    return jit::runOnHostTensors(*code, arguments, results);
  const detail::KernelCode *form = code.get();
  if (code->forms) {
    Expected<const detail::KernelCode *> few = code->forms->find(arguments);
    if (!few)
      return std::move(few).error();
    if (*few)
      form = *few;
  }
  return support::callKernel(code->signature, form->code->getEntry(),
                             code->threads.get(), arguments, results);
}

Status Kernel::prepare() {
  if (!code->forms)
    return {};
  auto few = code->forms->getAll();
  if (!few)
    return std::move(few).error();
  for (const detail::KernelCode *form : *few)
    for (const Diagnostic &remark : form->remarks)
      if (std::ranges::find(compileRemarks, remark) == compileRemarks.end())
        compileRemarks.push_back(remark);
  return {};
}

Expected<bool> Kernel::prepare(std::span<const Argument> arguments) const {
  return code->forms ? code->forms->prepare(arguments) : false;
}

Status Kernel::launch(std::span<const Argument> arguments,
                      std::span<const TensorView> results, void *stream) const {
  if (!code->device)
    return Error{"expected a kernel of pipeline 'gpu' to launch, got one of '" +
                     code->pipeline + "'",
                 {}};
  return code->launch(arguments, results, static_cast<cuda::CUstream>(stream));
}
