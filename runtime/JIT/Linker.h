//===- Linker.h - Object files to callable code -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_LINKER_H
#define ATTN_RUNTIME_JIT_LINKER_H

#include "runtime/JIT/Codegen.h"
#include "runtime/Support/KernelCall.h"

#include "attn/error.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace attn::jit {

class Linker;

/// Linked code, unmapped when it dies.
class LinkedCode {
public:
  using Entry = support::KernelEntry;

  LinkedCode(std::shared_ptr<Linker> linker, llvm::orc::JITDylib &library)
      : linker(std::move(linker)), library(library) {}
  ~LinkedCode();
  LinkedCode(const LinkedCode &) = delete;
  LinkedCode &operator=(const LinkedCode &) = delete;

  Entry getEntry() const { return entry; }

private:
  friend class Linker;
  std::shared_ptr<Linker> linker;
  llvm::orc::JITDylib &library;
  Entry entry = nullptr;
};

/// Links objects into this process.
class Linker : public std::enable_shared_from_this<Linker> {
public:
  static Expected<std::shared_ptr<Linker>>
  create(const llvm::orc::JITTargetMachineBuilder &target);

  /// Copies and links objects that belong together. Safe to call from several
  /// threads.
  Expected<std::unique_ptr<LinkedCode>> link(llvm::ArrayRef<Object> objects);

private:
  friend class LinkedCode;
  std::mutex mutex;
  std::string reported; ///< The session's last error.
  std::atomic<unsigned> numLinked = 0;
  std::unique_ptr<llvm::orc::LLJIT> jit; // Reports as long as it lives.
};

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_LINKER_H
