//===- StaticEntry.cpp - A kernel as a function of C ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/StaticEntry.h"
#include "runtime/JIT/Codegen.h"
#include "runtime/JIT/Target.h"

#include "runtime/Support/SignatureText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"

using namespace attn;
using namespace attn::jit;

/// The attn_rt_static_kernel of a kernel.
static llvm::GlobalVariable *addDescription(llvm::Module &module,
                                            const llvm::TargetMachine &target,
                                            llvm::Function *entry,
                                            const Signature &signature) {
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> builder(context);
  auto addText = [&](llvm::StringRef text) -> llvm::Constant * {
    return builder.CreateGlobalString(text, "", /*AddressSpace=*/0, &module);
  };
  std::string text = support::writeSignature(signature);
  llvm::Type *pointer = builder.getPtrTy();
  llvm::Type *size = module.getDataLayout().getIntPtrType(context);
  auto *type = llvm::StructType::get(
      context, {pointer, pointer, size, pointer, pointer});
  llvm::Constant *fields[] = {
      entry, addText(text), llvm::ConstantInt::get(size, text.size()),
      addText(llvm::join(listNeededFeatures(target), ",")),
      llvm::Constant::getNullValue(pointer)};
  return new llvm::GlobalVariable(
      module, type, /*isConstant=*/false, llvm::GlobalValue::InternalLinkage,
      llvm::ConstantStruct::get(type, fields), "attn_static_kernel");
}

Status jit::addStaticEntry(llvm::Module &module,
                           const llvm::TargetMachine &target,
                           const std::string &name,
                           const Signature &signature) {
  llvm::LibFunc function;
  if (llvm::TargetLibraryInfoImpl(module.getTargetTriple())
          .getLibFunc(name, function))
    return Error{"name: expected one that is not taken, got '" + name +
                     "', which is a function of the C library",
                 {}};
  for (const char *ofRanks :
       {"attn_rt_rank_index", "attn_rt_rank_block", "attn_rt_rank_sums",
        "attn_rt_reshard", "attn_rt_all_gather", "attn_rt_all_reduce",
        "attn_rt_all_merge"})
    if (module.getFunction(ofRanks))
      return Error{
          "expected a kernel of one process, got one of several ranks, "
          "which attn::Ranks compiles",
          {}};
  llvm::Function *entry = module.getFunction(entryName);
  if (llvm::GlobalValue *other = module.getNamedValue(name)) {
    if (other->isDeclaration())
      return Error{"name: expected one that is not taken, got '" + name +
                       "', which the kernel calls",
                   {}};
    other->setName(name + ".kernel");
  }
  entry->setLinkage(llvm::GlobalValue::InternalLinkage);
  module.setPICLevel(llvm::PICLevel::BigPIC);

  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> builder(context);
  llvm::Type *pointer = builder.getPtrTy(), *status = builder.getInt32Ty();
  llvm::Type *size = module.getDataLayout().getIntPtrType(context);
  std::vector<llvm::Type *> types;
  for (const Parameter &parameter : signature.arguments) {
    if (parameter.isTensor)
      types.push_back(pointer);
    else
      types.push_back(isFloat(parameter.type) ? builder.getDoubleTy()
                                              : builder.getInt64Ty());
  }
  types.resize(types.size() + signature.results.size(), pointer);
  std::size_t numPointers = types.size();
  types.insert(types.end(), {pointer, size}); // The error.
  auto *caller = llvm::Function::Create(
      llvm::FunctionType::get(status, types, /*isVarArg=*/false),
      llvm::GlobalValue::ExternalLinkage, name, module);

  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", caller));
  llvm::Value *pointers = builder.CreateAlloca(
      llvm::ArrayType::get(pointer, std::max<std::size_t>(1, numPointers)));
  for (std::size_t i = 0; i < numPointers; ++i) {
    llvm::Value *value = caller->getArg(unsigned(i));
    if (!value->getType()->isPointerTy()) {
      llvm::Value *place = builder.CreateAlloca(value->getType());
      builder.CreateStore(value, place);
      value = place;
    }
    builder.CreateStore(
        value, builder.CreateConstInBoundsGEP1_64(pointer, pointers, i));
  }
  llvm::FunctionCallee callee = module.getOrInsertFunction(
      "attn_rt_call_static_kernel", status, pointer, pointer, pointer, size);
  builder.CreateRet(builder.CreateCall(
      callee, {addDescription(module, target, entry, signature), pointers,
               caller->getArg(unsigned(numPointers)),
               caller->getArg(unsigned(numPointers + 1))}));
  return {};
}
