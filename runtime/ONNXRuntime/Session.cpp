//===- Session.cpp - What the nodes of a session share --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNXRuntime/Session.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

using namespace attn;
using namespace attn::ort;
using std::string;

//===----------------------------------------------------------------------===//
// Scratch
//===----------------------------------------------------------------------===//

Scratch::Buffer::Buffer(Scratch &scratch, std::size_t size) : scratch(scratch) {
  {
    std::lock_guard lock(scratch.mutex);
    if (!scratch.free.empty()) {
      block = std::move(scratch.free.back());
      scratch.free.pop_back();
    }
  }
  if (block.size < size || !block.bytes)
    block = {std::make_unique_for_overwrite<std::byte[]>(size), size};
}

Scratch::Buffer::~Buffer() {
  std::lock_guard lock(scratch.mutex);
  scratch.free.push_back(std::move(block));
}

//===----------------------------------------------------------------------===//
// Session
//===----------------------------------------------------------------------===//

/// The call that runs on this thread: kernels ask for threads without saying
/// for whom.
static thread_local const Call *currentCall = nullptr;

namespace {
class CurrentCall {
public:
  explicit CurrentCall(const Call &call)
      : previous(std::exchange(currentCall, &call)) {}
  CurrentCall(const CurrentCall &) = delete;
  CurrentCall &operator=(const CurrentCall &) = delete;
  ~CurrentCall() { currentCall = previous; }

private:
  const Call *previous;
};
} // namespace

static unsigned readThreads(const string &name, std::string_view text) {
  unsigned threads = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc() || end != text.data() + text.size())
    refuse("option '" + name + "': expected a number of threads, got '" +
           string(text) + "'");
  return threads;
}

static Engine createEngine(const Api &api,
                           const abi::SessionOptions *sessionOptions) {
  // How ONNX Runtime passes a provider's options on.
  constexpr std::string_view prefix = "ep.attnexecutionprovider.";
  abi::KeyValuePairs *pairs = nullptr;
  api(abi::getSessionOptionsConfigEntries, sessionOptions, &pairs);
  auto release = [&](abi::KeyValuePairs *owned) {
    api(abi::releaseKeyValuePairs, owned);
  };
  std::unique_ptr<abi::KeyValuePairs, decltype(release)> owner(pairs, release);
  const char *const *keys = nullptr, *const *values = nullptr;
  std::size_t number = 0;
  api(abi::getKeyValuePairs, pairs, &keys, &values, &number);

  EngineOptions options;
  options.parallelFor = [](int count, const ParallelTask &task) {
    currentCall->parallelFor(count, task);
  };
  for (std::size_t i = 0; i < number; ++i) {
    std::string_view key = keys[i];
    if (!key.starts_with(prefix))
      continue;
    key.remove_prefix(prefix.size());
    if (key == "threads")
      options.threads = readThreads(string(key), values[i]);
    else if (key == "cache_dir")
      options.cacheDirectory = values[i];
    else
      refuse("option '" + string(key) + "': expected 'threads' or 'cache_dir'");
  }
  Expected<Engine> engine = Engine::create(options);
  if (!engine)
    throw Failure(engine.error());
  return *engine;
}

Session::Session(const Api &api, const abi::SessionOptions *options,
                 const abi::Logger *logger)
    : api(api), logger(logger), engine(createEngine(api, options)) {}

Kernel Session::compile(const Attention &attention) const {
  Expected<Kernel> kernel = engine.compile(attention);
  if (!kernel)
    throw Failure(kernel.error());
  return *kernel;
}

void Session::log(const string &message) const {
  api.succeeds(abi::logMessage, logger, abi::logInfo, message.c_str(), __FILE__,
               __LINE__, __func__);
}

//===----------------------------------------------------------------------===//
// Call
//===----------------------------------------------------------------------===//

TensorValue Call::input(std::size_t index) const {
  if (index >= places.inputs.size() || places.inputs[index] < 0)
    return {};
  const abi::Value *value = nullptr;
  api(abi::getInput, context, std::size_t(places.inputs[index]), &value);
  return readTensor(api, value);
}

void *Call::output(std::size_t index, const Shape &shape) const {
  abi::Value *value = nullptr;
  api(abi::getOutput, context, std::size_t(places.outputs[index]), shape.data(),
      shape.size(), &value);
  void *data = nullptr;
  api(abi::getTensorMutableData, value, &data);
  return data;
}

void Call::parallelFor(int count, const ParallelTask &task) const {
  auto run = [](void *task, std::size_t index) {
    (*static_cast<const ParallelTask *>(task))(int(index));
  };
  api(abi::parallelFor, context, run, std::size_t(count), 0,
      const_cast<ParallelTask *>(&task));
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Kernel Kernels::get(const Form &form) {
  std::lock_guard lock(mutex);
  auto found = kernels.find(form);
  if (found == kernels.end())
    found = kernels.emplace(form, session.compile(form.attention(score, mask)))
                .first;
  return found->second;
}

void Kernels::run(const Call &call, const Form &form, const Operands &operands,
                  const TensorView &output) {
  Kernel kernel = get(form);
  CurrentCall current(call);
  std::vector<Argument> arguments = operands.arguments(kernel.signature());
  if (Status status = kernel.run(arguments, {&output, 1}); !status)
    throw Failure(status.error());
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

std::unique_ptr<Operator> ort::createOperator(Session &session,
                                              const GraphNode &node) {
  // ONNX Runtime may spell the standard domain out.
  bool isStandard = node.domain.empty() || node.domain == "ai.onnx";
  if (isStandard && node.type == "Attention")
    return createAttention(session, node);
  if (node.domain == "com.microsoft" && node.type == "GroupQueryAttention")
    return createGroupQuery(session, node);
  if (node.domain == "ai.onnx.preview" && node.type == "FlexAttention")
    return createFlexAttention(session, node);
  return nullptr;
}
