//===- Abi.h - What ONNX Runtime's C ABI is, as far as it is used -*- C++ -*-=//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyPI's packages of ONNX Runtime have its library and no headers, so that this
// is what a header would say: the places of functions in its tables, which
// never move (tables only grow, and `GetApi` gives none of a version that the
// library does not have), and the layout of what it is handed. The source is
// onnxruntime_c_api.h and onnxruntime_ep_c_api.h of ONNX Runtime 1.29, under
// whose names, without their prefix, things are here.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNXRUNTIME_ABI_H
#define ATTN_RUNTIME_ONNXRUNTIME_ABI_H

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace attn::ort::abi {

/// The version of all that is here, that of ONNX Runtime 1.24. Execution
/// providers in libraries came with 1.23, and with operators of their own and
/// `getTensorShape` only then.
inline constexpr std::uint32_t version = 24;

//===----------------------------------------------------------------------===//
// What only ONNX Runtime looks into
//===----------------------------------------------------------------------===//

struct Attribute;
struct CustomOpDomain;
struct EpDevice;
struct Graph;
struct HardwareDevice;
struct KernelContext;
struct KernelInfo;
struct KeyValuePairs;
struct Logger;
struct Node;
struct NodeComputeContext;
struct SessionOptions;
struct ShapeInferContext;
struct Status;
struct SupportInfo;
struct TensorInfo;
struct TypeInfo;
struct Value;
struct ValueInfo;

enum ErrorCode : int { fail = 1, invalidArgument = 2, notImplemented = 9 };

enum AttributeType : int {
  attributeInt = 1,
  attributeFloat = 3,
  attributeString = 5
};

/// Of tensors. Those that no kernel takes are not listed.
enum ElementDataType : int {
  dataUndefined = 0,
  dataFloat = 1,
  dataInt8 = 3,
  dataInt16 = 5,
  dataInt32 = 6,
  dataInt64 = 7,
  dataBool = 9,
  dataFloat16 = 10,
  dataDouble = 11,
  dataBfloat16 = 16
};

enum LogLevel : int { logInfo = 1 };

enum DeviceType : int { deviceCPU = 0 };

//===----------------------------------------------------------------------===//
// Functions of its tables
//===----------------------------------------------------------------------===//

/// A table of functions.
struct Table;

/// Returns a Status where it can fail, which is null if it did not.
struct ApiBase {
  const Table *(*getApi)(std::uint32_t version);
  const char *(*getVersionString)();
};

/// A function at a place of a table.
template <int Slot, typename Result, typename... Arguments> struct Function {};

template <int Slot, typename Result, typename... Arguments>
Result call(const Table *table, Function<Slot, Result, Arguments...> /*which*/,
            std::type_identity_t<Arguments>... arguments) {
  using Pointer = Result (*)(Arguments...);
  return reinterpret_cast<const Pointer *>(table)[Slot](arguments...);
}

// The general table.
inline constexpr Function<0, Status *, int, const char *> createStatus;
inline constexpr Function<2, const char *, const Status *> getErrorMessage;
inline constexpr Function<26, Status *, const char *, CustomOpDomain **>
    createCustomOpDomain;
inline constexpr Function<27, Status *, CustomOpDomain *,
                          const struct CustomOp *>
    customOpDomainAdd;
inline constexpr Function<51, Status *, Value *, void **> getTensorMutableData;
/// Null for what is not a tensor.
inline constexpr Function<55, Status *, const TypeInfo *, const TensorInfo **>
    castTypeInfoToTensorInfo;
inline constexpr Function<57, Status *, TensorInfo **> createTensorInfo;
inline constexpr Function<58, Status *, TensorInfo *, int> setElementType;
inline constexpr Function<59, Status *, TensorInfo *, const std::int64_t *,
                          std::size_t>
    setDimensions;
inline constexpr Function<60, Status *, const TensorInfo *, int *>
    getElementType;
inline constexpr Function<61, Status *, const TensorInfo *, std::size_t *>
    getDimensionsCount;
/// -1 where a size is not known.
inline constexpr Function<62, Status *, const TensorInfo *, std::int64_t *,
                          std::size_t>
    getDimensions;
/// Empty where a size has no name.
inline constexpr Function<63, Status *, const TensorInfo *, const char **,
                          std::size_t>
    getSymbolicDimensions;
/// Null for an optional input that is absent.
inline constexpr Function<90, Status *, const KernelContext *, std::size_t,
                          const Value **>
    getInput;
inline constexpr Function<91, Status *, KernelContext *, std::size_t,
                          const std::int64_t *, std::size_t, Value **>
    getOutput;
inline constexpr Function<93, void, Status *> releaseStatus;
inline constexpr Function<99, void, TensorInfo *> releaseTensorInfo;
inline constexpr Function<101, void, CustomOpDomain *> releaseCustomOpDomain;
inline constexpr Function<247, Status *, const Logger *, int, const char *,
                          const char *, int, const char *>
    logMessage;
inline constexpr Function<248, Status *, const Logger *, int *>
    getLoggingSeverityLevel;
inline constexpr Function<268, Status *, const ShapeInferContext *, std::size_t,
                          TensorInfo **>
    getInputTypeShape;
inline constexpr Function<270, Status *, const ShapeInferContext *, std::size_t,
                          const TensorInfo *>
    setOutputTypeShape;
inline constexpr Function<271, Status *, TensorInfo *, const char **,
                          std::size_t>
    setSymbolicDimensions;
/// Into so many bytes; gives how many it takes.
inline constexpr Function<272, Status *, const Attribute *, int, void *,
                          std::size_t, std::size_t *>
    readAttribute;
/// Calls a function for each number less than a count, on the session's
/// threads; in at most so many parts, any number of them if 0.
inline constexpr Function<274, Status *, const KernelContext *,
                          void (*)(void *, std::size_t), std::size_t,
                          std::size_t, void *>
    parallelFor;
inline constexpr Function<289, Status *, const ValueInfo *, const char **>
    getValueInfoName;
inline constexpr Function<290, Status *, const ValueInfo *, const TypeInfo **>
    getValueInfoTypeInfo;
inline constexpr Function<298, void, const KeyValuePairs *,
                          const char *const **, const char *const **,
                          std::size_t *>
    getKeyValuePairs;
inline constexpr Function<300, void, KeyValuePairs *> releaseKeyValuePairs;
inline constexpr Function<307, int, const HardwareDevice *> hardwareDeviceType;
inline constexpr Function<317, const Table *> getEpApi;
/// Null for what is not an initializer.
inline constexpr Function<326, Status *, const ValueInfo *, const Value **>
    getInitializerValue;
inline constexpr Function<331, Status *, const ValueInfo *, bool *>
    isConstantInitializer;
inline constexpr Function<338, Status *, const Graph *, std::size_t *>
    graphGetNumInputs;
inline constexpr Function<339, Status *, const Graph *, const ValueInfo **,
                          std::size_t>
    graphGetInputs;
inline constexpr Function<340, Status *, const Graph *, std::size_t *>
    graphGetNumOutputs;
inline constexpr Function<341, Status *, const Graph *, const ValueInfo **,
                          std::size_t>
    graphGetOutputs;
inline constexpr Function<342, Status *, const Graph *, std::size_t *>
    graphGetNumInitializers;
inline constexpr Function<343, Status *, const Graph *, const ValueInfo **,
                          std::size_t>
    graphGetInitializers;
inline constexpr Function<344, Status *, const Graph *, std::size_t *>
    graphGetNumNodes;
inline constexpr Function<345, Status *, const Graph *, const Node **,
                          std::size_t>
    graphGetNodes;
inline constexpr Function<349, Status *, const Node *, const char **>
    nodeGetName;
inline constexpr Function<350, Status *, const Node *, const char **>
    nodeGetOperatorType;
inline constexpr Function<351, Status *, const Node *, const char **>
    nodeGetDomain;
inline constexpr Function<352, Status *, const Node *, int *>
    nodeGetSinceVersion;
inline constexpr Function<353, Status *, const Node *, std::size_t *>
    nodeGetNumInputs;
/// Null for those that are absent.
inline constexpr Function<354, Status *, const Node *, const ValueInfo **,
                          std::size_t>
    nodeGetInputs;
inline constexpr Function<355, Status *, const Node *, std::size_t *>
    nodeGetNumOutputs;
inline constexpr Function<356, Status *, const Node *, const ValueInfo **,
                          std::size_t>
    nodeGetOutputs;
/// What graphs within the node take from around it.
inline constexpr Function<357, Status *, const Node *, std::size_t *>
    nodeGetNumImplicitInputs;
inline constexpr Function<358, Status *, const Node *, const ValueInfo **,
                          std::size_t>
    nodeGetImplicitInputs;
inline constexpr Function<359, Status *, const Node *, std::size_t *>
    nodeGetNumAttributes;
inline constexpr Function<360, Status *, const Node *, const Attribute **,
                          std::size_t>
    nodeGetAttributes;
/// Null, or an error, if there is no such attribute.
inline constexpr Function<361, Status *, const Node *, const char *,
                          const Attribute **>
    nodeGetAttributeByName;
inline constexpr Function<364, Status *, const Attribute *, const char **>
    getAttributeName;
inline constexpr Function<365, Status *, const Node *, std::size_t *>
    nodeGetNumSubgraphs;
inline constexpr Function<366, Status *, const Node *, const Graph **,
                          std::size_t, const char **>
    nodeGetSubgraphs;
inline constexpr Function<378, Status *, const Value *, const void **>
    getTensorData;
inline constexpr Function<379, Status *, const SessionOptions *,
                          KeyValuePairs **>
    getSessionOptionsConfigEntries;

/// The sizes stay the tensor's.
inline constexpr Function<414, Status *, const Value *, int *,
                          const std::int64_t **, std::size_t *>
    getTensorShape;

struct NodeFusionOptions {
  std::uint32_t version;
  bool dropConstantInitializers;
};

// The table of execution providers.
inline constexpr Function<0, Status *, struct EpFactory *,
                          const HardwareDevice *, const KeyValuePairs *,
                          const KeyValuePairs *, EpDevice **>
    createEpDevice;
inline constexpr Function<2, Status *, SupportInfo *, const Node *const *,
                          std::size_t, const NodeFusionOptions *>
    addNodesToFuse;

//===----------------------------------------------------------------------===//
// What it calls
//===----------------------------------------------------------------------===//

/// A function that is not offered.
using Absent = void (*)();

/// Runs the node that a fused one stands for.
struct NodeComputeInfo {
  std::uint32_t version;
  Status *(*createState)(NodeComputeInfo *, NodeComputeContext *, void **state);
  Status *(*compute)(NodeComputeInfo *, void *state, KernelContext *);
  void (*releaseState)(NodeComputeInfo *, void *state);
};

/// An execution provider of one session.
struct Ep {
  std::uint32_t version;
  const char *(*getName)(const Ep *);
  Status *(*getCapability)(Ep *, const Graph *, SupportInfo *);
  Status *(*compile)(Ep *, const Graph **graphs, const Node **fusedNodes,
                     std::size_t count, NodeComputeInfo **, Node **contexts);
  void (*releaseNodeComputeInfos)(Ep *, NodeComputeInfo **, std::size_t count);
  Absent getPreferredDataLayout, shouldConvertDataLayoutForOp,
      setDynamicOptions, onRunStart, onRunEnd, createAllocator,
      createSyncStreamForDevice, getCompiledModelCompatibilityInfo,
      getKernelRegistry, isConcurrentRunSupported;
};

/// Makes execution providers.
struct EpFactory {
  std::uint32_t version;
  const char *(*getName)(const EpFactory *);
  const char *(*getVendor)(const EpFactory *);
  Status *(*getSupportedDevices)(EpFactory *, const HardwareDevice *const *,
                                 std::size_t count, EpDevice **,
                                 std::size_t capacity, std::size_t *found);
  Status *(*createEp)(EpFactory *, const HardwareDevice *const *,
                      const KeyValuePairs *const *metadata, std::size_t count,
                      const SessionOptions *, const Logger *, Ep **);
  void (*releaseEp)(EpFactory *, Ep *);
  std::uint32_t (*getVendorId)(const EpFactory *);
  const char *(*getVersion)(const EpFactory *);
  Absent validateCompiledModelCompatibilityInfo, createAllocator,
      releaseAllocator;
  Status *(*createDataTransfer)(EpFactory *, void **transfer);
  bool (*isStreamAware)(const EpFactory *);
  Absent createSyncStreamForDevice;
  Absent getHardwareDeviceIncompatibilityDetails,
      createExternalResourceImporterForDevice;
  Status *(*getNumCustomOpDomains)(EpFactory *, std::size_t *);
  Status *(*getCustomOpDomains)(EpFactory *, CustomOpDomain **, std::size_t);
};

/// An operator that the standard libraries of operators do not have.
struct CustomOp {
  std::uint32_t version;
  Absent createKernel;
  const char *(*getName)(const CustomOp *);
  const char *(*getExecutionProviderType)(const CustomOp *);
  int (*getInputType)(const CustomOp *, std::size_t);
  std::size_t (*getInputTypeCount)(const CustomOp *);
  int (*getOutputType)(const CustomOp *, std::size_t);
  std::size_t (*getOutputTypeCount)(const CustomOp *);
  Absent kernelCompute;
  void (*kernelDestroy)(void *);
  int (*getInputCharacteristic)(const CustomOp *, std::size_t);
  int (*getOutputCharacteristic)(const CustomOp *, std::size_t);
  int (*getInputMemoryType)(const CustomOp *, std::size_t);
  int (*getVariadicInputMinArity)(const CustomOp *);
  int (*getVariadicInputHomogeneity)(const CustomOp *);
  int (*getVariadicOutputMinArity)(const CustomOp *);
  int (*getVariadicOutputHomogeneity)(const CustomOp *);
  Status *(*createKernelV2)(const CustomOp *, const Table *api,
                            const KernelInfo *, void **kernel);
  Status *(*kernelComputeV2)(void *kernel, KernelContext *);
  Status *(*inferOutputShape)(const CustomOp *, ShapeInferContext *);
  int (*getStartVersion)(const CustomOp *);
  int (*getEndVersion)(const CustomOp *);
  Absent getMayInplace, releaseMayInplace, getAliasMap, releaseAliasMap;
};

} // namespace attn::ort::abi

#endif // ATTN_RUNTIME_ONNXRUNTIME_ABI_H
