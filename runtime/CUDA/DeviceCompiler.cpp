//===- DeviceCompiler.cpp - gpu.module to PTX and machine code ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/CUDA/DeviceCompiler.h"

#include "lib/Pipelines/Pipelines.h"
#include "runtime/Bridge/BuildId.h"
#include "runtime/Bridge/DiagnosticCollector.h"
#include "runtime/CUDA/PTXWriter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVM/NVVM/Utils.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/Triple.h"

using namespace attn;
using namespace attn::cuda;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Architectures
//===----------------------------------------------------------------------===//

/// The number in "sm_90a"; 0 if there is none.
static unsigned getNumber(StringRef architecture) {
  unsigned number = 0;
  if (!architecture.consume_front("sm_") ||
      architecture.consumeInteger(10, number))
    return 0;
  return number;
}

/// 8.0 is in every driver since CUDA 12.0. Later architectures need more, for
/// which LLVM takes the least that has them.
static StringRef getFeatures(StringRef architecture) {
  return getNumber(architecture) < 100 ? "+ptx80" : "";
}

static Status checkArchitecture(const std::string &architecture) {
  mlir::NVVM::SerializeGPUModuleBase::init();
  llvm::Triple parsed(gpuTriple);
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(parsed, message);
  if (!target)
    return Error{"LLVM has no code generator for GPUs: " + message, {}};
  std::unique_ptr<llvm::MCSubtargetInfo> known(
      target->createMCSubtargetInfo(parsed, "", ""));
  // Asynchronous copies and products of bf16 begin there.
  if (getNumber(architecture) < 80 || !known->isCPUStringValid(architecture))
    return Error{"architecture: expected sm_80 or a later one that LLVM knows, "
                 "got '" +
                     architecture + "'",
                 {}};
  return {};
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

/// Whether all operations are of the LLVM and NVVM dialects already, or of
/// attn's, which has what they lack of Hopper's.
static bool isLowered(mlir::gpu::GPUModuleOp kernels) {
  return !kernels.getBodyRegion()
              .walk([](mlir::Operation *op) {
                mlir::Dialect *dialect = op->getDialect();
                return llvm::isa_and_present<mlir::LLVM::LLVMDialect,
                                             mlir::NVVM::NVVMDialect>(
                           dialect) ||
                               (dialect && dialect->getNamespace() == "attn")
                           ? mlir::WalkResult::advance()
                           : mlir::WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// Lets a kernel whose blocks have a known size take all registers: ptxas
/// spills some, at its own judgement, to have room for more blocks at once, if
/// it does not know that one is enough.
static void allowAllRegisters(mlir::gpu::GPUModuleOp kernels) {
  mlir::Builder builder(kernels.getContext());
  kernels.walk([&](mlir::LLVM::LLVMFuncOp function) {
    StringRef name = mlir::NVVM::NVVMDialect::getMinctasmAttrName();
    if (function->hasAttr(mlir::NVVM::NVVMDialect::getMaxntidAttrName()) &&
        !function->hasAttr(name))
      function->setAttr(name, builder.getI32IntegerAttr(1));
  });
}

static Expected<std::string> writePTX(mlir::gpu::GPUModuleOp kernels,
                                      const std::string &architecture) {
  DiagnosticCollector diagnostics(kernels.getContext());
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(kernels.getLoc());
  mlir::gpu::GPUModuleOp copy = kernels.clone();
  module->push_back(copy);
  mlir::PassManager pm(kernels.getContext());
  // As for kernels of the CPU: once, at the end.
  pm.enableVerifier(false);
  // Attention comes lowered.
  if (!isLowered(copy))
    mlir::attn::buildGPUToNVVMPipeline(pm);
  mlir::attn::buildNVVMToPTXPipeline(pm, architecture,
                                     getFeatures(architecture));
  if (mlir::failed(pm.run(*module)) || mlir::failed(mlir::verify(copy)))
    return diagnostics.takeError("cannot lower for " + architecture);
  allowAllRegisters(copy);

  std::string failure;
  std::optional<std::string> ptx =
      translateToPTX(copy, architecture, getFeatures(architecture), failure);
  if (!ptx) {
    Error error = diagnostics.takeError("cannot generate PTX");
    if (!failure.empty())
      error.message += ": " + failure;
    return error;
  }
  return std::move(*ptx);
}

//===----------------------------------------------------------------------===//
// The compiler
//===----------------------------------------------------------------------===//

Expected<DeviceCompiler> DeviceCompiler::create(DeviceCompilerOptions options) {
  if (Status status = checkArchitecture(options.architecture); !status)
    return std::move(status).error();
  std::optional<FileCache> cache;
  if (!options.cacheDirectory.empty()) {
    Expected<FileCache> opened = FileCache::open(options.cacheDirectory);
    if (!opened)
      return std::move(opened).error();
    cache = std::move(*opened);
  }
  std::string identity = llvm::join_items(
      '\0', identifyBuild(), options.architecture,
      options.ptxas ? options.ptxas->version() : std::string("no ptxas"));
  return DeviceCompiler(std::move(options), std::move(cache),
                        std::move(identity));
}

Expected<DeviceCode>
DeviceCompiler::compile(mlir::gpu::GPUModuleOp kernels) const {
  std::string key;
  if (cache) {
    std::string text;
    llvm::raw_string_ostream os(text);
    kernels->print(os, mlir::OpPrintingFlags().printGenericOpForm());
    key = computeKey({identity, text});
    if (auto parts = cache->load(key); parts && parts->size() == 3)
      return DeviceCode{.architecture = options.architecture,
                        .ptx = std::move((*parts)[0]),
                        .cubin = std::move((*parts)[2]),
                        .resources = readResources((*parts)[1])};
  }

  Expected<std::string> ptx = writePTX(kernels, options.architecture);
  if (!ptx)
    return std::move(ptx).error();
  Assembly assembly;
  if (options.ptxas) {
    Expected<Assembly> result =
        options.ptxas->assemble(*ptx, options.architecture);
    // Such as one that is older than the architecture. The driver's may not be.
    if (!result)
      return DeviceCode{.architecture = options.architecture,
                        .ptx = std::move(*ptx),
                        .remark = "is compiled by the driver, because ptxas "
                                  "failed: " +
                                  result.error().message};
    if (!result->slowness.empty())
      return Error{options.ptxas->path() + ": " + result->slowness, {}};
    assembly = std::move(*result);
  }
  if (cache)
    cache->store(key, {*ptx, assembly.log, assembly.cubin});
  return DeviceCode{.architecture = options.architecture,
                    .ptx = std::move(*ptx),
                    .cubin = std::move(assembly.cubin),
                    .resources = readResources(assembly.log)};
}
