//===- RuntimeSymbols.cpp - What calls of the runtime need ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/RuntimeSymbols.h"

#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"

using namespace mlir;
using namespace mlir::attn;

std::string attn::withLocation(StringRef message, Location loc) {
  std::string result;
  llvm::raw_string_ostream os(result);
  if (auto place = loc->findInstanceOf<FileLineColLoc>())
    os << place.getFilename().getValue() << ':' << place.getLine() << ':'
       << place.getColumn() << ": ";
  os << message;
  return result;
}

FailureOr<LLVM::LLVMFuncOp>
RuntimeSymbols::getFunction(OpBuilder &builder, StringRef name,
                            ArrayRef<Type> arguments, Type result) {
  return LLVM::lookupOrCreateFn(builder, module, name, arguments, result,
                                /*isVarArg=*/false, /*isReserved=*/false,
                                &symbols);
}

LLVM::GlobalOp RuntimeSymbols::getMessage(StringRef text) {
  LLVM::GlobalOp &message = messages[text];
  if (message)
    return message;
  OpBuilder builder(module.getContext());
  std::string bytes = text.str();
  bytes.push_back('\0');
  message = LLVM::GlobalOp::create(
      builder, module.getLoc(),
      LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size()),
      /*isConstant=*/true, LLVM::Linkage::Private, "attn_message",
      builder.getStringAttr(bytes));
  // Makes the name unique.
  symbols.getSymbolTable(module).insert(message, module.getBody()->begin());
  return message;
}
