//===- Session.h - What the nodes of a session share ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNXRUNTIME_SESSION_H
#define ATTN_RUNTIME_ONNXRUNTIME_SESSION_H

#include "attn/engine.h"
#include "runtime/ONNXRuntime/Form.h"
#include "runtime/ONNXRuntime/Graph.h"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace attn::ort {

/// Memory that calls use again.
class Scratch {
public:
  class Buffer {
  public:
    Buffer(Scratch &scratch, std::size_t size);
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    ~Buffer();
    std::byte *data() const { return block.bytes.get(); }

  private:
    friend class Scratch;
    struct Block {
      std::unique_ptr<std::byte[]> bytes;
      std::size_t size = 0;
    };
    Scratch &scratch;
    Block block;
  };

private:
  std::mutex mutex;
  std::vector<Buffer::Block> free;
};

/// The execution provider's part of a session of ONNX Runtime.
class Session {
public:
  /// With the options of the provider in a session's; an unknown one is an
  /// error.
  Session(const Api &api, const abi::SessionOptions *options,
          const abi::Logger *logger);

  const Api api;
  Scratch scratch;

  Kernel compile(const Attention &attention) const;
  /// For who looks at what a session does with its nodes.
  void log(const std::string &message) const;

private:
  const abi::Logger *logger;
  Engine engine;
};

/// A node's inputs and outputs in one call.
class Call {
public:
  /// Where a fused node has the inputs and outputs of the node that it stands
  /// for; -1 where that has none.
  struct Places {
    std::vector<int> inputs, outputs;
  };

  Call(const Api &api, const Places &places, abi::KernelContext *context)
      : api(api), places(places), context(context) {}

  TensorValue input(std::size_t index) const;
  bool hasOutput(std::size_t index) const {
    return index < places.outputs.size() && places.outputs[index] >= 0;
  }
  /// Allocates it.
  void *output(std::size_t index, const Shape &shape) const;

  /// Runs tasks on the session's threads.
  void parallelFor(int count, const ParallelTask &task) const;

private:
  const Api &api;
  const Places &places;
  abi::KernelContext *context;
};

/// The kernels of one node.
class Kernels {
public:
  explicit Kernels(Session &session, Score score = {}, Mask mask = {})
      : session(session), score(std::move(score)), mask(std::move(mask)) {}

  /// Compiles, if it is the first time for the form.
  Kernel get(const Form &form);
  void run(const Call &call, const Form &form, const Operands &operands,
           const TensorView &output);

private:
  Session &session;
  Score score;
  Mask mask;
  std::mutex mutex;
  std::map<Form, Kernel> kernels;
};

/// A node that kernels run.
class Operator {
public:
  virtual ~Operator() = default;
  /// Compiles what the graph's sizes let foresee.
  virtual void prepare() = 0;
  virtual void run(const Call &call) = 0;
};

/// The operator of a node, null if it is of another kind than these; a Failure
/// says why a node of one of these kinds is left to others.
std::unique_ptr<Operator> createOperator(Session &session,
                                         const GraphNode &node);
std::unique_ptr<Operator> createAttention(Session &session,
                                          const GraphNode &node);
std::unique_ptr<Operator> createGroupQuery(Session &session,
                                           const GraphNode &node);
std::unique_ptr<Operator> createFlexAttention(Session &session,
                                              const GraphNode &node);

} // namespace attn::ort

#endif // ATTN_RUNTIME_ONNXRUNTIME_SESSION_H
