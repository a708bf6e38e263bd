//===- CrashGuard.cpp - Crashes of upstream as errors ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// llvm::CrashRecoveryContext does not serve in a library. Its handlers take no
// siginfo, and on a signal of a thread that it does not guard it turns itself
// off and raises the signal again: without the address that a JVM or Go's
// runtime, which live from SIGSEGV, look at. It has no hold on
// llvm::report_fatal_error either, which exits.
//
//===----------------------------------------------------------------------===//

#include "runtime/Bridge/CrashGuard.h"

#include "llvm/Support/ErrorHandling.h"

#include <cstring>
#include <mutex>
#include <setjmp.h>
#include <unistd.h>

using namespace attn;

namespace {

struct Guard {
  sigjmp_buf recovery;
  const char *signal = nullptr;
  std::string reason; ///< LLVM's, if it has one.
};

/// One signal that is caught while anything is guarded.
struct Signal {
  int number;
  const char *name;
  /// What was there before, and gets what is not ours.
  struct sigaction previous = {};
  /// Whether the host set a handler over ours, which it may call.
  bool isCovered = false;
};

} // namespace

static Signal signals[] = {{SIGSEGV, "SIGSEGV"},
                           {SIGBUS, "SIGBUS"},
                           {SIGABRT, "SIGABRT"},
                           {SIGFPE, "SIGFPE"},
                           {SIGILL, "SIGILL"}};

/// The guard of this thread. In memory that exists when the thread does: a
/// handler may not allocate it.
__attribute__((
    tls_model("initial-exec"))) static thread_local Guard *currentGuard;

sigset_t attn::getCrashSignals() {
  sigset_t result;
  sigemptyset(&result);
  for (const Signal &signal : signals)
    sigaddset(&result, signal.number);
  return result;
}

static Signal &getSignal(int number) {
  for (Signal &signal : signals)
    if (signal.number == number)
      return signal;
  llvm_unreachable("no handler was set for it");
}

/// Does with a signal what would be done without us.
static void passOn(const Signal &signal, siginfo_t *info, void *context) {
  const struct sigaction &previous = signal.previous;
  bool isFault = info->si_code > 0; // It would happen again on return.
  bool isFunction =
      previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN;
  if (previous.sa_handler == SIG_IGN && !isFault)
    return;
  if (!isFunction || (previous.sa_flags & int(SA_RESETHAND))) {
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal.number, &standard, nullptr);
  }
  if (!isFunction) {
    if (!isFault)
      raise(signal.number);
  } else if (previous.sa_flags & SA_SIGINFO) {
    previous.sa_sigaction(signal.number, info, context);
  } else {
    previous.sa_handler(signal.number);
  }
}

static void handle(int number, siginfo_t *info, void *context) {
  const Signal &signal = getSignal(number);
  Guard *guard = currentGuard;
  // A fault, or abort(); not what another process sends to whom it may reach.
  bool isOwn = info->si_code > 0 ||
               (info->si_code == SI_TKILL && info->si_pid == getpid());
  if (!guard || !isOwn)
    return passOn(signal, info, context);
  guard->signal = signal.name;
  siglongjmp(guard->recovery, 1);
}

static void handleFatalError(void *, const char *reason, bool) {
  if (Guard *guard = currentGuard) {
    guard->reason = reason;
    siglongjmp(guard->recovery, 1);
  }
  // As LLVM does without a handler; then it ends the process.
  for (const char *part : {"LLVM ERROR: ", reason, "\n"})
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0)
      return;
}

static bool isOurs(const struct sigaction &action) {
  return (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == handle;
}

static void install(Signal &signal) {
  struct sigaction action;
  sigaction(signal.number, nullptr, &action);
  bool isFunction =
      action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
  // The host's may pass signals on to ours: above it, ours would pass them back
  // to it.
  if (isOurs(action) || (signal.isCovered && isFunction))
    return;
  signal.previous = action;
  signal.isCovered = false;
  // Runs as the previous handler would, which it may call.
  action.sa_flags &= SA_RESTART | SA_NODEFER;
  action.sa_flags |= SA_SIGINFO | SA_ONSTACK;
  action.sa_sigaction = handle;
  sigaction(signal.number, &action, nullptr);
}

static void uninstall(Signal &signal) {
  struct sigaction action;
  sigaction(signal.number, nullptr, &action);
  signal.isCovered = !isOurs(action);
  if (!signal.isCovered)
    sigaction(signal.number, &signal.previous, nullptr);
}

namespace {

/// Handlers are set while anything is guarded and no longer: what the host sets
/// between two compilations stays on top, and the next guard works.
class Handlers {
public:
  Handlers() {
    std::lock_guard lock(mutex);
    if (users++)
      return;
    for (Signal &signal : signals)
      install(signal);
    llvm::install_fatal_error_handler(handleFatalError);
  }

  ~Handlers() {
    std::lock_guard lock(mutex);
    if (--users)
      return;
    llvm::remove_fatal_error_handler();
    for (Signal &signal : signals)
      uninstall(signal);
  }

private:
  static inline std::mutex mutex;
  static inline unsigned users = 0;
};

} // namespace

/// Whether `function` returned. Apart, so that what is alive across the jump is
/// in the caller's frame.
[[gnu::noinline]] static bool returns(Guard &guard,
                                      llvm::function_ref<void()> function) {
  if (sigsetjmp(guard.recovery, /*savemask=*/1)) {
    currentGuard = nullptr;
    return false;
  }
  currentGuard = &guard;
  function();
  currentGuard = nullptr;
  return true;
}

std::optional<std::string>
attn::runGuarded(llvm::function_ref<void()> function) {
  if (!catchesCrashes) {
    function();
    return std::nullopt;
  }
  Handlers handlers;
  Guard guard;
  if (returns(guard, function))
    return std::nullopt;
  return guard.signal ? guard.signal : std::move(guard.reason);
}
