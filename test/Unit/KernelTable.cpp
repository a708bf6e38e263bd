//===- KernelTable.cpp - What kernels for GPUs may take -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/KernelTable.h"

#include "lib/Pipelines/Pipelines.h"
#include "lib/Registration/Registration.h"
#include "runtime/Bridge/DiagnosticCollector.h"
#include "runtime/CUDA/DeviceCompiler.h"
#include "test/Execution/TextReplacement.h"
#include "test/Unit/DeviceCode.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

using namespace attn;
using namespace attn::test;

namespace {

/// How many queries a kernel has: any number, of which only the launch for many
/// is in the table; so few that tiles of 32 rows a warp would leave
/// multiprocessors without one; or one.
enum class Queries { any, few, one };

struct Variant {
  const char *name;
  const char *attributes;
  Queries queries = Queries::any;
  const char *parameters = ""; ///< What attributes refer to.
};
constexpr Variant variants[] = {
    {"full", ""},
    {"causal", "mask causal"},
    {"window", "mask causal, sliding_window(256, 0)"},
    {"softcap", "score softcap(20.0) mask causal"},
    {"few", "", Queries::few},
    {"decode", "offset(bottom_right) mask causal", Queries::one},
    {"packed", "sequences(%cq, %ck : tensor<?xi32>, tensor<?xi32>) mask causal",
     Queries::any, ", %cq: tensor<?xi32>, %ck: tensor<?xi32>"},
};

constexpr const char *numberNames[] = {
    "shared_bytes", "warps",       "ptx_instructions",
    "ptx_products", "ptx_narrow",  "registers",
    "spill_bytes",  "workgroups",  "instructions",
    "integer",      "products",    "ldmatrix",
    "cp_async",     "barriers",    "shfl",
    "spills",       "exposed_ex2", "narrow",
    "lds",          "waits"};
static_assert(std::size(numberNames) == numKernelNumbers);

/// With the workgroup memory of sm_80, which sm_90 has more of, unless it is
/// compiled for that alone.
std::string describeTarget(const std::string &architecture) {
  return architecture == "sm_90a"
             ? "gpu_shared_bytes = 233472, gpu_warpgroups = true"
             : "gpu_shared_bytes = 167936";
}

std::string writeKernel(const std::string &element, int headSize,
                        const Variant &variant, const std::string &target) {
  std::string text = R"(
!queries = tensor<BATCHx8xLENGTHxHEADxTYPE>
!keys = tensor<BATCHx2x?xHEADxTYPE>
module attributes {attn.target = #attn.target<TARGET>} {
func.func @attend(%query: !queries, %key: !keys, %value: !keys
                  PARAMETERS) -> !queries {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %query, %c0 : !queries
  %length = tensor.dim %query, %c2 : !queries
  %init = tensor.empty(SIZES) : !queries
  %output = attn.attention ins(%query, %key, %value : !queries, !keys, !keys)
      outs(%init : !queries) ATTRIBUTES
  return %output : !queries
}
})";
  text = replaceAll(text, "TARGET", target);
  text = replaceAll(text, "HEAD", std::to_string(headSize));
  struct Sizes {
    const char *batch, *length, *dynamic;
  };
  Sizes sizes = variant.queries == Queries::any
                    ? Sizes{"?", "?", "%batch, %length"}
                : variant.queries == Queries::few ? Sizes{"1", "133", ""}
                                                  : Sizes{"?", "1", "%batch"};
  text = replaceAll(text, "BATCH", sizes.batch);
  text = replaceAll(text, "LENGTH", sizes.length);
  text = replaceAll(text, "SIZES", sizes.dynamic);
  text = replaceAll(text, "PARAMETERS", variant.parameters);
  text = replaceAll(text, "ATTRIBUTES", variant.attributes);
  return replaceAll(text, "TYPE", element);
}

/// The launches that count: of a kernel of any number of queries that for many,
/// which is the last one.
llvm::SmallVector<mlir::gpu::LaunchFuncOp>
findLaunches(mlir::ModuleOp module, const Variant &variant) {
  llvm::SmallVector<mlir::gpu::LaunchFuncOp> launches;
  module.walk(
      [&](mlir::gpu::LaunchFuncOp launch) { launches.push_back(launch); });
  if (variant.queries == Queries::any)
    launches = {launches.back()};
  return launches;
}

/// The most that a launch asks for.
long findSharedBytes(llvm::ArrayRef<mlir::gpu::LaunchFuncOp> launches) {
  long most = 0;
  for (mlir::gpu::LaunchFuncOp launch : launches) {
    llvm::APInt bytes;
    if (mlir::Value size = launch.getDynamicSharedMemorySize();
        size && mlir::matchPattern(size, mlir::m_ConstantInt(&bytes)))
      most = std::max<long>(most, bytes.getSExtValue());
  }
  return most;
}

constexpr long kWarp = 32;

/// Those of a workgroup of the launch with the most workgroup memory.
long findWarps(llvm::ArrayRef<mlir::gpu::LaunchFuncOp> launches) {
  long bytes = -1, warps = 0;
  for (mlir::gpu::LaunchFuncOp launch : launches) {
    llvm::APInt x, y;
    mlir::gpu::KernelDim3 size = launch.getBlockSizeOperandValues();
    long own = findSharedBytes(launch);
    if (own > bytes && mlir::matchPattern(size.x, mlir::m_ConstantInt(&x)) &&
        mlir::matchPattern(size.y, mlir::m_ConstantInt(&y))) {
      bytes = own;
      warps = x.getSExtValue() * y.getSExtValue() / kWarp;
    }
  }
  return warps;
}

/// How many workgroups of `warps` have room on a multiprocessor at once.
long countWorkgroups(const std::string &architecture, long warps,
                     long sharedBytes, long registers) {
  // Registers of warps are handed out in units of 256, and each workgroup takes
  // 1 KB more than it asks for.
  constexpr long kRegisters = 1 << 16, kUnit = 256;
  long kBytes = (architecture == "sm_80" ? 164 : 228) << 10;
  long ofWarp = (registers * kWarp + kUnit - 1) / kUnit * kUnit;
  return std::min(kRegisters / (ofWarp * warps),
                  kBytes / (sharedBytes + (1 << 10)));
}

/// Compiles a module of kernels, and adds what some of them take to `result`,
/// and how long all took.
Status measureModule(mlir::gpu::GPUModuleOp kernels,
                     const std::set<std::string> &names,
                     const cuda::DeviceCompiler &compiler,
                     const std::string &architecture, const DeviceTools *tools,
                     MeasuredKernel &result) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  Expected<cuda::DeviceCode> code = compiler.compile(kernels);
  if (!code)
    return std::move(code).error();
  result.toPTX += Clock::now() - start;
  KernelNumbers &numbers = result.numbers;
  for (const std::string &name : names) {
    std::optional<PTXCounts> counts = countPTX(code->ptx, name);
    if (!counts)
      return Error{"no PTX of '" + name + "'", {}};
    numbers[ptxInstructions] += counts->instructions;
    numbers[ptxProducts] += counts->products;
    numbers[ptxNarrow] += counts->narrowAccesses;
  }
  if (!tools)
    return {};
  start = Clock::now();
  Expected<cuda::Assembly> assembly =
      tools->ptxas.assemble(code->ptx, architecture);
  if (!assembly)
    return std::move(assembly).error();
  if (!assembly->slowness.empty())
    return Error{assembly->slowness, {}};
  result.toMachineCode += Clock::now() - start;
  for (const cuda::KernelResources &kernel :
       cuda::readResources(assembly->log)) {
    if (!names.contains(kernel.name))
      continue;
    numbers[registers] = std::max<long>(numbers[registers], kernel.registers);
    numbers[spillBytes] += kernel.spillStoreBytes + kernel.spillLoadBytes;
  }
  Expected<std::string> text = disassemble(tools->nvdisasm, assembly->cubin);
  if (!text)
    return std::move(text).error();
  for (const std::string &name : names) {
    std::vector<DeviceInstruction> kernel = readKernel(*text, name);
    if (kernel.empty())
      return Error{"no machine code of '" + name + "'", {}};
    std::optional<HotPath> hot = findHotPath(kernel);
    if (!hot)
      continue;
    numbers[instructions] += hot->instructions;
    numbers[integer] += hot->integer;
    numbers[products] += hot->products;
    numbers[ldmatrix] += hot->matrixLoads;
    numbers[cpAsync] += hot->asyncCopies;
    numbers[barriers] += hot->barriers;
    numbers[shfl] += hot->shuffles;
    numbers[spills] += hot->spills;
    numbers[exposedEx2] += hot->exposedExponentials;
    numbers[narrow] += hot->narrowAccesses;
    numbers[lds] += hot->sharedLoads;
    numbers[waits] += hot->waits;
  }
  return {};
}

class Mutator : public mlir::PassInstrumentation {
public:
  explicit Mutator(const Mutation &mutation) : mutation(mutation) {}

  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    if (pass->getArgument() == mutation.pass)
      mutation.apply(op);
  }

private:
  const Mutation &mutation;
};

} // namespace

Expected<DeviceTools> DeviceTools::find() {
  namespace fs = std::filesystem;
  const std::string hint =
      ": the test 'device-tools' installs " ATTN_DEVICE_REQUIREMENTS;
  std::error_code error;
  std::string ptxas, nvdisasm;
  for (const auto &entry :
       fs::recursive_directory_iterator(ATTN_DEVICE_TOOLS, error)) {
    if (entry.path().filename() == "ptxas")
      ptxas = entry.path();
    if (entry.path().filename() == "nvdisasm")
      nvdisasm = entry.path();
  }
  if (ptxas.empty() || nvdisasm.empty())
    return Error{"no ptxas and nvdisasm in " ATTN_DEVICE_TOOLS + hint, {}};
  Expected<cuda::Ptxas> opened = cuda::Ptxas::open(ptxas);
  if (!opened)
    return std::move(opened).error();
  return DeviceTools{*opened, nvdisasm};
}

const char *test::getNumberName(int number) { return numberNames[number]; }

std::vector<std::string> test::getVariants() {
  std::vector<std::string> names;
  for (const Variant &variant : variants)
    names.push_back(variant.name);
  return names;
}

Expected<std::vector<MeasuredKernel>>
test::measureKernels(const std::string &element, int headSize,
                     const std::string &variant,
                     const std::vector<std::string> &architectures,
                     const DeviceTools *tools, const Mutation *mutation) {
  using Clock = std::chrono::steady_clock;
  const Variant &known = *std::find_if(
      std::begin(variants), std::end(variants),
      [&](const Variant &candidate) { return candidate.name == variant; });
  static const mlir::DialectRegistry registry = [] {
    mlir::DialectRegistry result;
    mlir::attn::registerKernelDialects(result);
    mlir::attn::registerDeviceDialects(result);
    return result;
  }();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  std::vector<MeasuredKernel> results;
  std::string target;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Clock::duration lowering = {};
  for (const std::string &architecture : architectures) {
    if (target != describeTarget(architecture)) {
      target = describeTarget(architecture);
      Clock::time_point start = Clock::now();
      DiagnosticCollector diagnostics(&context);
      module = mlir::parseSourceString<mlir::ModuleOp>(
          writeKernel(element, headSize, known, target), &context);
      mlir::PassManager passes(&context);
      passes.enableVerifier(false); // As in the engine.
      if (mutation)
        passes.addInstrumentation(std::make_unique<Mutator>(*mutation));
      mlir::attn::buildPreparationPipeline(passes);
      mlir::attn::buildGPUPipeline(passes);
      if (!module || failed(passes.run(*module)) ||
          failed(mlir::verify(*module)))
        return diagnostics.takeError("cannot lower");
      lowering = Clock::now() - start;
    }
    llvm::SmallVector<mlir::gpu::LaunchFuncOp> launches =
        findLaunches(*module, known);
    std::set<std::string> names;
    for (mlir::gpu::LaunchFuncOp launch : launches)
      names.insert(launch.getKernelName().str());
    Expected<cuda::DeviceCompiler> compiler =
        cuda::DeviceCompiler::create({.architecture = architecture});
    if (!compiler)
      return compiler.error();
    MeasuredKernel result;
    result.toPTX = lowering;
    result.numbers[sharedBytes] = findSharedBytes(launches);
    result.numbers[warps] = findWarps(launches);
    for (auto kernels : module->getOps<mlir::gpu::GPUModuleOp>())
      if (Status measured = measureModule(kernels, names, *compiler,
                                          architecture, tools, result);
          !measured)
        return std::move(measured).error();
    if (tools) {
      result.numbers[workgroups] = countWorkgroups(
          architecture, result.numbers[warps], result.numbers[sharedBytes],
          result.numbers[registers]);
    }
    results.push_back(result);
  }
  return results;
}

std::string test::printKernelTable(const KernelTable &table) {
  std::ostringstream text;
  text << "element,head_size,variant,architecture";
  for (const char *name : numberNames)
    text << "," << name;
  text << "\n";
  for (const auto &[key, numbers] : table) {
    text << key.element << "," << key.headSize << "," << key.variant << ","
         << key.architecture;
    for (long number : numbers)
      text << "," << number;
    text << "\n";
  }
  return text.str();
}

Expected<KernelTable> test::readKernelTable(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line))
    return Error{path + ": cannot be read", {}};
  KernelTable table;
  for (int number = 2; std::getline(file, line); ++number) {
    std::ranges::replace(line, ',', ' ');
    std::istringstream fields(line);
    KernelConfiguration key;
    KernelNumbers numbers;
    fields >> key.element >> key.headSize >> key.variant >> key.architecture;
    for (long &value : numbers)
      fields >> value;
    if (!fields || !table.emplace(key, numbers).second)
      return Error{path + ":" + std::to_string(number) +
                       ": not a row of the table, or one that is there twice",
                   {}};
  }
  return table;
}
