//===- Differentiable.td - What has derivatives ---------------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GRADIENT_DIFFERENTIABLE_TD
#define ATTN_GRADIENT_DIFFERENTIABLE_TD

include "mlir/IR/OpBase.td"

def Attn_Differentiable : OpInterface<"Differentiable"> {
  let cppNamespace = "::mlir::attn";
  let description = [{
    An operation that `attn-gradient` differentiates in reverse mode, and
    `attn-tangent` in forward mode. What it does not say how is refused by its
    name. An operation of another dialect may implement it, or have it attached as
    an external model, as operations of this one and of linalg and tensor have.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits the gradients of the operands that are wanted, from those of the
      results. The builder stands behind all of the function's operations. An
      error, with the name of the operation, where one has none.
    }], "::llvm::LogicalResult", "emitGradients",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::attn::OpGradients &":$gradients),
    [{}], [{
      return ::mlir::attn::refuseGradient($_op);
    }]>,
    InterfaceMethod<[{
      Emits the tangents of the results, from those of the operands: how fast they
      move. The builder stands behind the operation, which may be replaced. An
      error, with the name of the operation, where one has none.
    }], "::llvm::LogicalResult", "emitTangents",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::attn::OpTangents &":$tangents),
    [{}], [{
      return ::mlir::attn::refuseTangent($_op);
    }]>
  ];
}

#endif // ATTN_GRADIENT_DIFFERENTIABLE_TD
