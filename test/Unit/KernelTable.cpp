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

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <fstream>
#include <set>
#include <sstream>

using namespace attn;
using namespace attn::test;

namespace {

/// A kernel of any number of queries, of which only the launch for many is in
/// the table, or of one query.
struct Variant {
  const char *name;
  const char *attributes;
  bool hasOneQuery = false;
  const char *parameters = ""; ///< What attributes refer to.
};
constexpr Variant variants[] = {
    {"full", ""},
    {"causal", "mask causal"},
    {"window", "mask causal, sliding_window(256, 0)"},
    {"softcap", "score softcap(20.0) mask causal"},
    {"decode", "offset(bottom_right) mask causal", /*hasOneQuery=*/true},
    {"packed", "sequences(%cq, %ck : tensor<?xi32>, tensor<?xi32>) mask causal",
     /*hasOneQuery=*/false, ", %cq: tensor<?xi32>, %ck: tensor<?xi32>"},
};

constexpr const char *numberNames[] = {
    "shared_bytes", "mma",      "ldmatrix",  "ex2",        "shfl",
    "cp_async",     "barriers", "registers", "spill_bytes"};
static_assert(std::size(numberNames) == numKernelNumbers);

/// What instructions begin with, from `mma` to `barriers`.
const std::vector<std::string> instructions[] = {{"mma.sync"},
                                                 {"ldmatrix.sync"},
                                                 {"ex2.approx"},
                                                 {"shfl.sync"},
                                                 {"cp.async.cg", "cp.async.ca"},
                                                 {"bar.", "barrier."}};
static_assert(mma + std::size(instructions) == registers);

std::string replace(std::string text, const std::string &from,
                    const std::string &to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string writeKernel(const std::string &element, int headSize,
                        const Variant &variant) {
  std::string text = R"(
!queries = tensor<?x8xLENGTHxHEADxTYPE>
!keys = tensor<?x2x?xHEADxTYPE>
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
})";
  text = replace(text, "HEAD", std::to_string(headSize));
  text = replace(text, "LENGTH", variant.hasOneQuery ? "1" : "?");
  text = replace(text, "SIZES",
                 variant.hasOneQuery ? "%batch" : "%batch, %length");
  text = replace(text, "PARAMETERS", variant.parameters);
  text = replace(text, "ATTRIBUTES", variant.attributes);
  return replace(text, "TYPE", element);
}

long countInstructions(const std::string &ptx,
                       const std::vector<std::string> &prefixes) {
  long count = 0;
  std::istringstream words(ptx);
  for (std::string word; words >> word;)
    for (const std::string &prefix : prefixes)
      count += word.starts_with(prefix);
  return count;
}

/// The launches that count: of a kernel of any number of queries that for many,
/// which is the last one.
llvm::SmallVector<mlir::gpu::LaunchFuncOp>
findLaunches(mlir::ModuleOp module, const Variant &variant) {
  llvm::SmallVector<mlir::gpu::LaunchFuncOp> launches;
  module.walk(
      [&](mlir::gpu::LaunchFuncOp launch) { launches.push_back(launch); });
  if (!variant.hasOneQuery)
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

/// The text of some kernels in PTX.
std::string findKernels(const std::string &ptx,
                        const std::set<std::string> &names) {
  const std::string start = ".entry ";
  std::string result;
  for (std::size_t at = ptx.find(start); at != std::string::npos;) {
    std::size_t name = at + start.size(), next = ptx.find(start, name);
    if (names.contains(ptx.substr(name, ptx.find('(', name) - name)))
      result += ptx.substr(at, next - at);
    at = next;
  }
  return result;
}

/// Compiles a module of kernels, and adds what some of them take to `result`,
/// and how long all took.
Status measureModule(mlir::gpu::GPUModuleOp kernels,
                     const std::set<std::string> &names,
                     const cuda::DeviceCompiler &compiler,
                     const std::string &architecture,
                     const std::optional<cuda::Ptxas> &ptxas,
                     MeasuredKernel &result) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  Expected<cuda::DeviceCode> code = compiler.compile(kernels);
  if (!code)
    return std::move(code).error();
  result.toPTX += Clock::now() - start;
  std::string measured = findKernels(code->ptx, names);
  for (std::size_t i = 0; i < std::size(instructions); ++i)
    result.numbers[mma + i] += countInstructions(measured, instructions[i]);
  if (!ptxas)
    return {};
  start = Clock::now();
  Expected<cuda::Assembly> assembly = ptxas->assemble(code->ptx, architecture);
  if (!assembly)
    return std::move(assembly).error();
  result.toMachineCode += Clock::now() - start;
  long &most = result.numbers[registers];
  for (const cuda::KernelResources &kernel :
       cuda::readResources(assembly->log)) {
    if (!names.contains(kernel.name))
      continue;
    most = std::max<long>(most, kernel.registers);
    result.numbers[spillBytes] +=
        kernel.spillStoreBytes + kernel.spillLoadBytes;
  }
  return {};
}

} // namespace

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
                     const std::optional<cuda::Ptxas> &ptxas) {
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
  Clock::time_point start = Clock::now();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  {
    DiagnosticCollector diagnostics(&context);
    module = mlir::parseSourceString<mlir::ModuleOp>(
        writeKernel(element, headSize, known), &context);
    mlir::PassManager passes(&context);
    passes.enableVerifier(false); // As in the engine.
    mlir::attn::buildPreparationPipeline(passes);
    mlir::attn::buildGPUPipeline(passes);
    if (!module || failed(passes.run(*module)) || failed(mlir::verify(*module)))
      return diagnostics.takeError("cannot lower");
  }
  auto lowering = Clock::now() - start;
  llvm::SmallVector<mlir::gpu::LaunchFuncOp> launches =
      findLaunches(*module, known);
  std::set<std::string> names;
  for (mlir::gpu::LaunchFuncOp launch : launches)
    names.insert(launch.getKernelName().str());
  std::vector<MeasuredKernel> results;
  for (const std::string &architecture : architectures) {
    Expected<cuda::DeviceCompiler> compiler =
        cuda::DeviceCompiler::create({.architecture = architecture});
    if (!compiler)
      return compiler.error();
    MeasuredKernel result;
    result.toPTX = lowering;
    result.numbers[sharedBytes] = findSharedBytes(launches);
    for (auto kernels : module->getOps<mlir::gpu::GPUModuleOp>())
      if (Status measured = measureModule(kernels, names, *compiler,
                                          architecture, ptxas, result);
          !measured)
        return std::move(measured).error();
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
    std::istringstream fields(replace(line, ",", " "));
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
