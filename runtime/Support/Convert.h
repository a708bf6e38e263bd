//===- Convert.h - Conversions of floats ------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SUPPORT_CONVERT_H
#define ATTN_RUNTIME_SUPPORT_CONVERT_H

extern "C" {
/// Round to bf16, once. LLVM calls these `__truncsfbf2` and `__truncdfbf2`,
/// which not every compiler's library has. The result is in the low half of the
/// register that returns a float, as the calling conventions of x86-64 and
/// AArch64 say.
float attn_rt_truncate_f32_to_bf16(float value);
float attn_rt_truncate_f64_to_bf16(double value);
}

#endif // ATTN_RUNTIME_SUPPORT_CONVERT_H
