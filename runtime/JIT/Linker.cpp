//===- Linker.cpp - Object files to callable code -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/Linker.h"
#include "runtime/JIT/Codegen.h"
#include "runtime/JIT/DeviceFunctions.h"

#include "runtime/MPI/Symbols.h"
#include "runtime/Support/Call.h"
#include "runtime/Support/Convert.h"
#include "runtime/Support/ParallelFor.h"

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace attn;
using namespace attn::jit;
using namespace llvm::orc;

/// Makes the functions of runtime/Support, of runtime/MPI and of devices known
/// under their names.
static llvm::Error defineSupport(LLJIT &jit, JITDylib &library) {
  SymbolMap symbols;
  auto define = [&](llvm::StringRef name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {ExecutorAddr::fromPtr(function),
                                          llvm::JITSymbolFlags::Exported |
                                              llvm::JITSymbolFlags::Callable};
  };
  define("attn_rt_fail", &attn_rt_fail);
  define("attn_rt_report", &attn_rt_report);
  define("attn_rt_alloc", &attn_rt_alloc);
  define("attn_rt_free", &attn_rt_free);
  define("attn_rt_parallel_ranges", &attn_rt_parallel_ranges);
  define("attn_rt_next_range", &attn_rt_next_range);
  define("attn_rt_rank_index", &attn_rt_rank_index);
  define("attn_rt_rank_block", &attn_rt_rank_block);
  define("attn_rt_rank_sums", &attn_rt_rank_sums);
  define("attn_rt_reshard", &attn_rt_reshard);
  define("attn_rt_all_gather", &attn_rt_all_gather);
  define("attn_rt_all_reduce", &attn_rt_all_reduce);
  define("attn_rt_all_merge", &attn_rt_all_merge);
  for (auto [name, address] : getDeviceFunctions())
    define(name, address);
  // LLVM narrows arithmetic on extended numbers, and rounds what it computed.
  define("__truncsfbf2", &attn_rt_truncate_f32_to_bf16);
  define("__truncdfbf2", &attn_rt_truncate_f64_to_bf16);
  return library.define(absoluteSymbols(std::move(symbols)));
}

/// Makes the functions of the C library known: memcpy, and those of libm, which
/// a process that loaded this library privately does not offer by itself.
static llvm::Error defineLibraries(LLJIT &jit, JITDylib &library) {
  char prefix = jit.getDataLayout().getGlobalPrefix();
  auto process = DynamicLibrarySearchGenerator::GetForCurrentProcess(prefix);
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
  auto libm = DynamicLibrarySearchGenerator::Load("libm.so.6", prefix);
  if (!libm)
    return libm.takeError();
  library.addGenerator(std::move(*libm));
  return llvm::Error::success();
}

Expected<std::shared_ptr<Linker>>
Linker::create(const JITTargetMachineBuilder &target) {
  auto fail = [](llvm::Error error) {
    return Error{
        "cannot set up the linker: " + llvm::toString(std::move(error)), {}};
  };
  auto jit = LLJITBuilder()
                 .setJITTargetMachineBuilder(target)
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(setUpInactivePlatform)
                 .create();
  if (!jit)
    return fail(jit.takeError());
  // Kernels look here for what they do not define.
  JITDylib &support = (*jit)->getMainJITDylib();
  if (llvm::Error error = defineSupport(**jit, support))
    return fail(std::move(error));
  if (llvm::Error error = defineLibraries(**jit, support))
    return fail(std::move(error));
  auto result = std::make_shared<Linker>();
  result->jit = std::move(*jit);
  // By default it prints.
  result->jit->getExecutionSession().setErrorReporter(
      [linker = result.get()](llvm::Error error) {
        std::lock_guard lock(linker->mutex);
        linker->reported = llvm::toString(std::move(error));
      });
  return result;
}

Expected<std::unique_ptr<LinkedCode>>
Linker::link(llvm::ArrayRef<Object> objects) {
  auto fail = [this](llvm::Error error) {
    // The lookup's error says what failed, the session's why.
    std::lock_guard lock(mutex);
    return Error{"cannot link: " + llvm::toString(std::move(error)) + "; " +
                     std::exchange(reported, {}),
                 {}};
  };
  ExecutionSession &session = jit->getExecutionSession();
  JITDylib &library =
      session.createBareJITDylib("kernel" + std::to_string(numLinked++));
  library.addToLinkOrder(jit->getMainJITDylib());
  auto code = std::make_unique<LinkedCode>(shared_from_this(), library);
  for (const Object &object : objects)
    if (llvm::Error error = jit->addObjectFile(
            library,
            llvm::MemoryBuffer::getMemBufferCopy(
                llvm::StringRef(object.data(), object.size()), "kernel")))
      return fail(std::move(error));
  llvm::Expected<ExecutorAddr> entry = jit->lookup(library, entryName);
  if (!entry)
    return fail(entry.takeError());
  code->entry = entry->toPtr<LinkedCode::Entry>();
  return code;
}

LinkedCode::~LinkedCode() {
  // Nobody is left to tell.
  llvm::consumeError(
      linker->jit->getExecutionSession().removeJITDylib(library));
}
