//===- Progress.cpp - Says what takes long --------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-run/Progress.h"

#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace attn::run;

Progress::Progress(std::string what) {
  if (llvm::sys::Process::StandardErrIsDisplayed())
    thread = std::thread([this, what = std::move(what)] { show(what); });
}

Progress::~Progress() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    done = true;
  }
  changed.notify_one();
  thread.join();
}

void Progress::show(const std::string &what) {
  std::unique_lock lock(mutex);
  int seconds = 0;
  while (!changed.wait_for(lock, std::chrono::seconds(1), [&] { return done; }))
    llvm::errs() << "\r" << what << " ... " << ++seconds << " s";
  if (seconds > 0)
    llvm::errs() << "\r\033[K"; // Erase the line.
}
