//===- Convert.cpp - Conversions of floats --------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Support/Convert.h"

#include "attn/element_type.h"

#include <bit>
#include <cmath>
#include <cstdint>

float attn_rt_truncate_f32_to_bf16(float value) {
  return std::bit_cast<float>(std::uint32_t(attn::bf16(value).bits));
}

float attn_rt_truncate_f64_to_bf16(double value) {
  float single = float(value);
  if (double(single) != value && !std::isnan(value)) {
    // Rounded to odd instead: toward zero, with the last bit set. Rounding that
    // again gives what rounding once would have given (Boldo and Melquiond,
    // "When double rounding is odd", 2005).
    auto bits = std::bit_cast<std::uint32_t>(single);
    if (std::abs(double(single)) > std::abs(value))
      --bits;
    single = std::bit_cast<float>(bits | 1);
  }
  return attn_rt_truncate_f32_to_bf16(single);
}
