//===- Provider.cpp - Attn as an execution provider of ONNX Runtime -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ONNX Runtime finds in the library: a factory, which makes a provider for
// each session, which claims the nodes that it has an operator for. Each of
// them becomes a fused node of its own: kernels need nothing but its inputs and
// outputs, which are ONNX Runtime's.
//
//===----------------------------------------------------------------------===//

#include "attn/export.h"
#include "runtime/ONNXRuntime/FlexSchema.h"
#include "runtime/ONNXRuntime/Session.h"

#include <algorithm>
#include <memory>

using namespace attn;
using namespace attn::ort;
using std::string;

static constexpr const char *providerName = "AttnExecutionProvider";

namespace {
/// Runs one node.
class Computation : public abi::NodeComputeInfo {
public:
  Computation(Session &session, const abi::Graph *graph,
              const abi::Node *fused);

private:
  Session &session;
  std::unique_ptr<Operator> node;
  Call::Places places;
};

class Provider : public abi::Ep {
public:
  Provider(const Api &api, const abi::SessionOptions *options,
           const abi::Logger *logger);

private:
  void claimNodes(const abi::Graph *graph, abi::SupportInfo *info);

  Session session;
};

class Factory : public abi::EpFactory {
public:
  explicit Factory(const Api &api);

private:
  std::size_t addDevices(const abi::HardwareDevice *const *devices,
                         std::size_t count, abi::EpDevice **found,
                         std::size_t capacity);

  const Api api;
  FlexSchema flexAttention;
};
} // namespace

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Where values are among others; -1 for those that are not there.
static std::vector<int> findPlaces(const std::vector<GraphValue> &values,
                                   const std::vector<GraphValue> &among) {
  std::vector<int> places;
  for (const GraphValue &value : values) {
    auto found = std::ranges::find(among, value.name, &GraphValue::name);
    bool isThere = value && found != among.end();
    places.push_back(isThere ? int(found - among.begin()) : -1);
  }
  return places;
}

Computation::Computation(Session &session, const abi::Graph *graph,
                         const abi::Node *fused)
    : NodeComputeInfo(), session(session) {
  const Api &api = session.api;
  GraphNode inner(api, readNodes(api, graph).at(0)), outer(api, fused);
  node = createOperator(session, inner);
  std::vector<GraphValue> inputs = inner.inputs;
  inputs.insert(inputs.end(), inner.captured.begin(), inner.captured.end());
  places = {findPlaces(inputs, outer.inputs),
            findPlaces(inner.outputs, outer.outputs)};
  for (std::size_t i = 0; i < inner.inputs.size(); ++i)
    if (inner.inputs[i] && places.inputs[i] < 0)
      throw Failure("expected input '" + inner.inputs[i].name +
                    "' of a fused node, got none");
  node->prepare();

  version = abi::version;
  createState = [](NodeComputeInfo *self, abi::NodeComputeContext *,
                   void **state) -> abi::Status * {
    *state = self;
    return nullptr;
  };
  compute = [](NodeComputeInfo *self, void *, abi::KernelContext *context) {
    auto &computation = *static_cast<Computation *>(self);
    const Api &api = computation.session.api;
    return api.guard(
        [&] { computation.node->run(Call(api, computation.places, context)); });
  };
  releaseState = [](NodeComputeInfo *, void *) {};
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

Provider::Provider(const Api &api, const abi::SessionOptions *options,
                   const abi::Logger *logger)
    : Ep(), session(api, options, logger) {
  version = abi::version;
  getName = [](const Ep *) { return providerName; };
  getCapability = [](Ep *self, const abi::Graph *graph,
                     abi::SupportInfo *info) {
    auto &provider = *static_cast<Provider *>(self);
    return provider.session.api.guard(
        [&] { provider.claimNodes(graph, info); });
  };
  compile = [](Ep *self, const abi::Graph **graphs, const abi::Node **fused,
               std::size_t count, abi::NodeComputeInfo **computations,
               abi::Node **) {
    Session &session = static_cast<Provider *>(self)->session;
    return session.api.guard([&] {
      // What has been created when one fails is released like the others.
      for (std::size_t i = 0; i < count; ++i)
        computations[i] = new Computation(session, graphs[i], fused[i]);
    });
  };
  releaseNodeComputeInfos = [](Ep *, abi::NodeComputeInfo **computations,
                               std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      delete static_cast<Computation *>(computations[i]);
  };
}

void Provider::claimNodes(const abi::Graph *graph, abi::SupportInfo *info) {
  const Api &api = session.api;
  for (const abi::Node *node : readNodes(api, graph)) {
    GraphNode read(api, node);
    try {
      if (!createOperator(session, read))
        continue;
    } catch (const Failure &failure) {
      session.log(string(providerName) + " leaves node '" + read.name + "' (" +
                  read.type + ") to others: " + failure.what());
      continue;
    }
    abi::NodeFusionOptions options = {.version = abi::version,
                                      .dropConstantInitializers = false};
    api.ofProviders()(abi::addNodesToFuse, info, &node, 1, &options);
  }
}

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

Factory::Factory(const Api &api) : EpFactory(), api(api), flexAttention(api) {
  version = abi::version;
  getName = [](const EpFactory *) { return providerName; };
  getVendor = [](const EpFactory *) { return "Attn"; };
  // Of no vendor of PCI devices.
  getVendorId = [](const EpFactory *) { return std::uint32_t(0); };
  getVersion = [](const EpFactory *) { return ATTN_VERSION; };
  // Its tensors are in ordinary memory.
  createDataTransfer = [](EpFactory *, void **transfer) {
    *transfer = nullptr;
    return static_cast<abi::Status *>(nullptr);
  };
  isStreamAware = [](const EpFactory *) { return false; };
  getSupportedDevices = [](EpFactory *self,
                           const abi::HardwareDevice *const *devices,
                           std::size_t count, abi::EpDevice **found,
                           std::size_t capacity, std::size_t *numFound) {
    auto &factory = *static_cast<Factory *>(self);
    return factory.api.guard([&] {
      *numFound = factory.addDevices(devices, count, found, capacity);
    });
  };
  createEp = [](EpFactory *self, const abi::HardwareDevice *const *,
                const abi::KeyValuePairs *const *, std::size_t,
                const abi::SessionOptions *options, const abi::Logger *logger,
                abi::Ep **provider) {
    const Api &api = static_cast<Factory *>(self)->api;
    return api.guard([&] { *provider = new Provider(api, options, logger); });
  };
  releaseEp = [](EpFactory *, abi::Ep *provider) {
    delete static_cast<Provider *>(provider);
  };
  getNumCustomOpDomains = [](EpFactory *, std::size_t *number) {
    *number = 1;
    return static_cast<abi::Status *>(nullptr);
  };
  getCustomOpDomains = [](EpFactory *self, abi::CustomOpDomain **domains,
                          std::size_t) {
    domains[0] = static_cast<Factory *>(self)->flexAttention.domain();
    return static_cast<abi::Status *>(nullptr);
  };
}

std::size_t Factory::addDevices(const abi::HardwareDevice *const *devices,
                                std::size_t count, abi::EpDevice **found,
                                std::size_t capacity) {
  std::size_t numFound = 0;
  for (std::size_t i = 0; i < count && numFound < capacity; ++i)
    if (api(abi::hardwareDeviceType, devices[i]) == abi::deviceCPU)
      api.ofProviders()(abi::createEpDevice, this, devices[i], nullptr, nullptr,
                        &found[numFound++]);
  return numFound;
}

extern "C" {
/// Called by `RegisterExecutionProviderLibrary`.
ATTN_EXPORT abi::Status *
CreateEpFactories(const char * /*registeredName*/, const abi::ApiBase *base,
                  const abi::Logger * /*logger*/, abi::EpFactory **factories,
                  std::size_t capacity, std::size_t *count) {
  // Every version has the functions that make a Status.
  Api api(base->getApi(1));
  return api.guard([&] {
    const abi::Table *table = base->getApi(abi::version);
    if (!table)
      throw Failure("expected ONNX Runtime 1." + std::to_string(abi::version) +
                    " or later, got " + base->getVersionString());
    if (capacity < 1)
      throw Failure("expected room for a factory, got none");
    factories[0] = new Factory(Api(table));
    *count = 1;
  });
}

/// Called when the library is unregistered.
ATTN_EXPORT abi::Status *ReleaseEpFactory(abi::EpFactory *factory) {
  delete static_cast<Factory *>(factory);
  return nullptr;
}
}
