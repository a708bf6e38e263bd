//===- Progress.h - Says what takes long ------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNRUN_PROGRESS_H
#define ATTN_TOOLS_ATTNRUN_PROGRESS_H

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace attn::run {

/// While it lives, shows what is going on and for how many seconds, on a line
/// of stderr, from the first second on. Silent if stderr is not a terminal.
class Progress {
public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

private:
  void show(const std::string &what);

  std::mutex mutex; ///< Guards `done`.
  std::condition_variable changed;
  bool done = false;
  std::thread thread;
};

} // namespace attn::run

#endif // ATTN_TOOLS_ATTNRUN_PROGRESS_H
