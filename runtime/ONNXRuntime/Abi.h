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
/// One that gives an error, or null.
template <int Slot, typename... Arguments>
using Fallible = Function<Slot, Status *, Arguments...>;

template <int Slot, typename Result, typename... Arguments>
Result call(const Table *table, Function<Slot, Result, Arguments...> /*which*/,
            std::type_identity_t<Arguments>... arguments) {
  using Pointer = Result (*)(Arguments...);
  return reinterpret_cast<const Pointer *>(table)[Slot](arguments...);
}

// The general table.
inline constexpr Fallible<0, int, const char *> createStatus;
inline constexpr Function<2, const char *, const Status *> getErrorMessage;
inline constexpr Fallible<26, const char *, CustomOpDomain **>
    createCustomOpDomain;
inline constexpr Fallible<27, CustomOpDomain *, const struct CustomOp *>
    customOpDomainAdd;
inline constexpr Fallible<51, Value *, void **> getTensorMutableData;
/// Null for what is not a tensor.
inline constexpr Fallible<55, const TypeInfo *, const TensorInfo **>
    castTypeInfoToTensorInfo;
inline constexpr Fallible<57, TensorInfo **> createTensorInfo;
inline constexpr Fallible<58, TensorInfo *, int> setElementType;
inline constexpr Fallible<59, TensorInfo *, const std::int64_t *, std::size_t>
    setDimensions;
inline constexpr Fallible<60, const TensorInfo *, int *> getElementType;
inline constexpr Fallible<61, const TensorInfo *, std::size_t *>
    getDimensionsCount;
/// -1 where a size is not known.
inline constexpr Fallible<62, const TensorInfo *, std::int64_t *, std::size_t>
    getDimensions;
/// Empty where a size has no name.
inline constexpr Fallible<63, const TensorInfo *, const char **, std::size_t>
    getSymbolicDimensions;
/// Null for an optional input that is absent.
inline constexpr Fallible<90, const KernelContext *, std::size_t,
                          const Value **>
    getInput;
inline constexpr Fallible<91, KernelContext *, std::size_t,
                          const std::int64_t *, std::size_t, Value **>
    getOutput;
inline constexpr Function<93, void, Status *> releaseStatus;
inline constexpr Function<99, void, TensorInfo *> releaseTensorInfo;
inline constexpr Function<101, void, CustomOpDomain *> releaseCustomOpDomain;
inline constexpr Fallible<247, const Logger *, int, const char *, const char *,
                          int, const char *>
    logMessage;
inline constexpr Fallible<248, const Logger *, int *> getLoggingSeverityLevel;
inline constexpr Fallible<268, const ShapeInferContext *, std::size_t,
                          TensorInfo **>
    getInputTypeShape;
inline constexpr Fallible<270, const ShapeInferContext *, std::size_t,
                          const TensorInfo *>
    setOutputTypeShape;
inline constexpr Fallible<271, TensorInfo *, const char **, std::size_t>
    setSymbolicDimensions;
/// Into so many bytes; gives how many it takes.
inline constexpr Fallible<272, const Attribute *, int, void *, std::size_t,
                          std::size_t *>
    readAttribute;
/// Calls a function for each number less than a count, on the session's
/// threads; in at most so many parts, any number of them if 0.
inline constexpr Fallible<274, const KernelContext *,
                          void (*)(void *, std::size_t), std::size_t,
                          std::size_t, void *>
    parallelFor;
inline constexpr Fallible<289, const ValueInfo *, const char **>
    getValueInfoName;
inline constexpr Fallible<290, const ValueInfo *, const TypeInfo **>
    getValueInfoTypeInfo;
inline constexpr Function<298, void, const KeyValuePairs *,
                          const char *const **, const char *const **,
                          std::size_t *>
    getKeyValuePairs;
inline constexpr Function<300, void, KeyValuePairs *> releaseKeyValuePairs;
inline constexpr Function<307, int, const HardwareDevice *> hardwareDeviceType;
inline constexpr Function<317, const Table *> getEpApi;
/// Null for what is not an initializer.
inline constexpr Fallible<326, const ValueInfo *, const Value **>
    getInitializerValue;
inline constexpr Fallible<331, const ValueInfo *, bool *> isConstantInitializer;
inline constexpr Fallible<338, const Graph *, std::size_t *> graphGetNumInputs;
inline constexpr Fallible<339, const Graph *, const ValueInfo **, std::size_t>
    graphGetInputs;
inline constexpr Fallible<340, const Graph *, std::size_t *> graphGetNumOutputs;
inline constexpr Fallible<341, const Graph *, const ValueInfo **, std::size_t>
    graphGetOutputs;
inline constexpr Fallible<342, const Graph *, std::size_t *>
    graphGetNumInitializers;
inline constexpr Fallible<343, const Graph *, const ValueInfo **, std::size_t>
    graphGetInitializers;
inline constexpr Fallible<344, const Graph *, std::size_t *> graphGetNumNodes;
inline constexpr Fallible<345, const Graph *, const Node **, std::size_t>
    graphGetNodes;
inline constexpr Fallible<349, const Node *, const char **> nodeGetName;
inline constexpr Fallible<350, const Node *, const char **> nodeGetOperatorType;
inline constexpr Fallible<351, const Node *, const char **> nodeGetDomain;
inline constexpr Fallible<352, const Node *, int *> nodeGetSinceVersion;
inline constexpr Fallible<353, const Node *, std::size_t *> nodeGetNumInputs;
/// Null for those that are absent.
inline constexpr Fallible<354, const Node *, const ValueInfo **, std::size_t>
    nodeGetInputs;
inline constexpr Fallible<355, const Node *, std::size_t *> nodeGetNumOutputs;
inline constexpr Fallible<356, const Node *, const ValueInfo **, std::size_t>
    nodeGetOutputs;
/// What graphs within the node take from around it.
inline constexpr Fallible<357, const Node *, std::size_t *>
    nodeGetNumImplicitInputs;
inline constexpr Fallible<358, const Node *, const ValueInfo **, std::size_t>
    nodeGetImplicitInputs;
inline constexpr Fallible<359, const Node *, std::size_t *>
    nodeGetNumAttributes;
inline constexpr Fallible<360, const Node *, const Attribute **, std::size_t>
    nodeGetAttributes;
/// Null, or an error, if there is no such attribute.
inline constexpr Fallible<361, const Node *, const char *, const Attribute **>
    nodeGetAttributeByName;
inline constexpr Fallible<364, const Attribute *, const char **>
    getAttributeName;
inline constexpr Fallible<365, const Node *, std::size_t *> nodeGetNumSubgraphs;
inline constexpr Fallible<366, const Node *, const Graph **, std::size_t,
                          const char **>
    nodeGetSubgraphs;
inline constexpr Fallible<378, const Value *, const void **> getTensorData;
inline constexpr Fallible<379, const SessionOptions *, KeyValuePairs **>
    getSessionOptionsConfigEntries;

/// The sizes stay the tensor's.
inline constexpr Fallible<414, const Value *, int *, const std::int64_t **,
                          std::size_t *>
    getTensorShape;

struct NodeFusionOptions {
  std::uint32_t version;
  bool dropConstantInitializers;
};

// The table of execution providers.
inline constexpr Fallible<0, struct EpFactory *, const HardwareDevice *,
                          const KeyValuePairs *, const KeyValuePairs *,
                          EpDevice **>
    createEpDevice;
inline constexpr Fallible<2, SupportInfo *, const Node *const *, std::size_t,
                          const NodeFusionOptions *>
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
