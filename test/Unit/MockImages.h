//===- MockImages.h - What is in images of modules --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_MOCKIMAGES_H
#define ATTN_TEST_UNIT_MOCKIMAGES_H

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace attn::test {

struct MockKernel {
  std::vector<std::size_t> parameters; ///< Bytes of each.
  /// Of a thread, where it is known, as it is in machine code alone.
  unsigned registers = 0;
  std::size_t sharedBytes = 0; ///< Of a block, without dynamic ones.
  unsigned threads = 1024;     ///< The most of a block.
};

/// The kernels of a module.
using MockKernels = std::map<std::string, MockKernel>;

/// The kernels of PTX: ".visible .entry NAME(", and a line for each parameter,
/// such as ".param .u64 .ptr .align 1 NAME_param_0,". Buffers in workgroup
/// memory are before them, such as ".shared .align 16 .b8 NAME[36864];", and
/// count for the kernels that name them.
MockKernels readPTX(const std::string &text);

/// The driver that PTX takes, of which a line is ".version 8.0"; 0 if it says
/// nothing.
int findVersionOfPTX(const std::string &text);

/// Whether an image is machine code.
bool isMachineCode(const std::string &image);

/// The kernels of machine code, an ELF file: ".nv.info" has the registers of
/// each, ".nv.info.NAME" its parameters and most threads, and ".nv.shared.NAME"
/// is as large as its workgroup memory (as cuobjdump -elf prints them).
MockKernels readMachineCode(const char *image);

/// Reads "kernel NAME ARGUMENTS ...", a line of text in place of an image, as
/// the driver's header says. False if it is none.
bool readTextLine(const std::string &line, MockKernels &kernels);

} // namespace attn::test

#endif // ATTN_TEST_UNIT_MOCKIMAGES_H
