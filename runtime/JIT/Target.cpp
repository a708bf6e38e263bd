//===- Target.cpp - The machine to compile for ----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/Target.h"
#include "runtime/JIT/Machine.h"

#include "runtime/Support/TileState.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace attn;
using llvm::orc::JITTargetMachineBuilder;

/// Whether kernels are made of the instructions of `feature`. Of others, such
/// as those for operating systems, the code generator takes what there is.
static bool isNeeded(llvm::StringRef feature) {
  static constexpr llvm::StringLiteral prefixes[] = {
      "ssse3", "sse4.", "avx", "f16c", "fma",                  // x86
      "neon",  "sve",   "sme", "bf16", "dotprod", "fullfp16"}; // AArch64
  return llvm::any_of(prefixes, [&](llvm::StringRef prefix) {
    return feature.starts_with(prefix);
  });
}

/// Features of `target` that this machine does not have. What LLVM cannot find
/// out about it is taken to be there.
static std::vector<llvm::StringRef>
findMissingFeatures(const llvm::MCSubtargetInfo &target) {
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  std::vector<llvm::StringRef> missing;
  for (const llvm::SubtargetFeatureKV &feature :
       target.getEnabledProcessorFeatures())
    if (auto found = host.find(feature.Key);
        found != host.end() && !found->second)
      missing.push_back(feature.Key);
  return missing;
}

static void disableTiles(JITTargetMachineBuilder &target) {
  if (target.getTargetTriple().isX86())
    for (const char *feature : {"amx-bf16", "amx-int8", "amx-tile"})
      target.getFeatures().AddFeature(feature, /*Enable=*/false);
}

/// Leaves out what this process may not use.
static JITTargetMachineBuilder restrictTarget(JITTargetMachineBuilder target) {
  if (!requestTileState())
    disableTiles(target);
  return target;
}

/// This machine, or the processor of that name.
static Expected<JITTargetMachineBuilder> lookUpTarget(const std::string &cpu) {
  static const bool ready = !llvm::InitializeNativeTarget() &&
                            !llvm::InitializeNativeTargetAsmPrinter();
  if (!ready)
    return Error{"LLVM has no code generator for this machine", {}};
  llvm::Expected<JITTargetMachineBuilder> host =
      JITTargetMachineBuilder::detectHost();
  if (!host)
    return Error{"cannot find out what machine this is: " +
                     llvm::toString(host.takeError()),
                 {}};
  if (cpu.empty())
    return std::move(*host);

  // LLVM prints a warning for a name that it does not know, so it is asked for
  // the names first.
  auto machine = host->createTargetMachine();
  if (!machine)
    return Error{llvm::toString(machine.takeError()), {}};
  if (!(*machine)->getMCSubtargetInfo()->isCPUStringValid(cpu))
    return Error{"cpu: expected a processor that LLVM knows for " +
                     host->getTargetTriple().getArchName().str() + ", got '" +
                     cpu + "'",
                 {}};
  JITTargetMachineBuilder target(host->getTargetTriple());
  target.setCPU(cpu);
  return target;
}

Expected<JITTargetMachineBuilder> jit::selectTarget(const std::string &cpu) {
  Expected<JITTargetMachineBuilder> found = lookUpTarget(cpu);
  if (!found || cpu.empty())
    return found ? restrictTarget(std::move(*found)) : std::move(found);
  JITTargetMachineBuilder target = std::move(*found);
  auto machine = target.createTargetMachine();
  if (!machine)
    return Error{llvm::toString(machine.takeError()), {}};
  for (llvm::StringRef feature :
       findMissingFeatures(*(*machine)->getMCSubtargetInfo())) {
    if (isNeeded(feature))
      return Error{"cpu: expected a processor whose vector code this machine "
                   "can execute, got '" +
                       cpu + "', which has '" + feature.str() + "'",
                   {}};
    target.getFeatures().AddFeature(feature, /*Enable=*/false);
  }
  return restrictTarget(std::move(target));
}

Expected<JITTargetMachineBuilder>
jit::selectStaticTarget(const std::string &cpu) {
  Expected<JITTargetMachineBuilder> target = lookUpTarget(cpu);
  if (!target)
    return target;
  disableTiles(*target);
  // What the run-time library can find out about a processor ends here.
  if (target->getTargetTriple().isX86())
    for (const char *feature :
         {"avx10.1", "avx10.2", "avxneconvert", "ccmp", "cf", "egpr", "ndd",
          "nf", "ppx", "push2pop2", "zu"})
      target->getFeatures().AddFeature(feature, /*Enable=*/false);
  // What is the JIT's by default is not what linkers take.
  target->setRelocationModel(llvm::Reloc::PIC_);
  target->setCodeModel(llvm::CodeModel::Small);
  return target;
}

// The fast selector and register allocator; the IR is simplified all the same.
void jit::generateFast(JITTargetMachineBuilder &target) {
  target.setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
}

std::vector<std::string>
jit::listNeededFeatures(const llvm::TargetMachine &target) {
  std::vector<std::string> names;
  for (const llvm::SubtargetFeatureKV &feature :
       target.getMCSubtargetInfo()->getEnabledProcessorFeatures())
    if (isNeeded(feature.Key))
      names.push_back(feature.Key);
  return names;
}

/// Whether it is one of Intel's processors for servers, with AVX512. Where a
/// hypervisor does not say which, those with tiles are.
static bool isXeon(const llvm::TargetMachine &target) {
  llvm::StringRef name = target.getTargetCPU();
  return target.getMCSubtargetInfo()->checkFeatures("+amx-tile") ||
         llvm::is_contained({"skylake-avx512", "cascadelake", "cooperlake",
                             "icelake-server", "sapphirerapids",
                             "emeraldrapids", "graniterapids",
                             "graniterapids-d", "diamondrapids"},
                            name);
}

std::string jit::describeTarget(const llvm::TargetMachine &target,
                                const Machine &machine) {
  const llvm::Triple &triple = target.getTargetTriple();
  // What is not known is taken to have SSE's.
  int bits = 128, registers = 16;
  std::string features;
  auto add = [&](llvm::StringRef name, bool isThere) {
    if (isThere)
      features += ", " + name.str() + " = true";
  };
  if (triple.isAArch64()) {
    registers = 32;
  } else if (triple.isX86()) {
    const llvm::MCSubtargetInfo &info = *target.getMCSubtargetInfo();
    // Not what LLVM prefers, which is 256 bits on many that have 512: its
    // cost model is for loops that are in vector code for a short time.
    if (info.checkFeatures("+avx512f")) {
      bits = 512;
      registers = 32;
      add("scalef", true);
      // Elsewhere, dot products of pairs take at least twice as long as FMAs.
      add("bf16_dot", target.getTargetCPU().starts_with("znver") &&
                          info.checkFeatures("+avx512bf16"));
      add("bf16_tiles", info.checkFeatures("+avx512bf16,+amx-bf16"));
      add("i8_dot", info.checkFeatures("+avx512vnni"));
      // Their own prefetchers follow a stream within a page, and what is asked
      // for farther ahead than 2 to 4 KB disturbs them. A core reads 16 GB/s.
      // The third level is in slices all over the processor.
      if (isXeon(target))
        features += ", memory_ns = 128, memory_gbs = 16, l3_ns = 80";
      // Half as far ahead as on a Zen 4, and to the first level, which has
      // lines enough under way: of 16 keys of f32, a third faster.
      if (target.getTargetCPU() == "znver5")
        features += ", memory_ns = 250, fetch_level = 1";
    } else if (info.checkFeatures("+avx2")) {
      bits = 256;
      add("i8_dot", info.checkFeatures("+avxvnni"));
    }
  }
  return "vector_bits = " + std::to_string(bits) +
         ", vector_registers = " + std::to_string(registers) + features +
         machine.text();
}

Expected<std::string> jit::describeProcessor(const std::string &name) {
  bool isHost = name == "host";
  Expected<JITTargetMachineBuilder> builder =
      isHost ? selectTarget("") : lookUpTarget(name);
  if (!builder)
    return std::move(builder).error();
  auto target = builder->createTargetMachine();
  if (!target)
    return Error{llvm::toString(target.takeError()), {}};
  return describeTarget(**target, isHost ? readMachine() : Machine());
}
