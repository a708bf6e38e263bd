/*===- tensor_c.h - Views of tensors in C -------------------------*- C -*-===*\
|*                                                                            *|
|* Part of the Attn project, under the Apache License v2.0 with LLVM          *|
|* Exceptions.                                                                *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef ATTN_TENSOR_C_H
#define ATTN_TENSOR_C_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Element types. `i1` is one byte per element, 0 or 1. MLIR's `index` is
 * `i64` here. The floats of 8 bits are elements of caches alone. */
enum {
  ATTN_F64,
  ATTN_F32,
  ATTN_F16,
  ATTN_BF16,
  ATTN_I64,
  ATTN_I32,
  ATTN_I16,
  ATTN_I8,
  ATTN_I1,
  ATTN_F8E4M3FN,
  ATTN_F8E5M2
};
/** One of these; any other number is an error of whoever is given it. */
typedef int attn_element_type;

/** A strided view of elements that the caller owns. Sizes and strides are in
 * elements; the last dimension must be contiguous. */
typedef struct attn_tensor {
  /** The element at index 0. Only results are written. */
  void *data;
  attn_element_type type;
  /** Number of dimensions, up to 8. */
  int rank;
  /** `rank` numbers. */
  const int64_t *sizes;
  /** `rank` numbers; null for dense rows. */
  const int64_t *strides;
} attn_tensor;

#ifdef __cplusplus
}
#endif

#endif /* ATTN_TENSOR_C_H */
