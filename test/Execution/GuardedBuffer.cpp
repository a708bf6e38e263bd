//===- GuardedBuffer.cpp - Memory that ends where it ends -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/GuardedBuffer.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace attn::test;

[[noreturn]] static void failWithoutMemory() {
  std::perror("GuardedBuffer");
  std::abort();
}

GuardedBuffer::GuardedBuffer(std::size_t size, Edge edge) : size(size) {
  std::size_t page = std::size_t(sysconf(_SC_PAGESIZE));
  std::size_t inner = (size + page - 1) / page * page;
  mappingSize = inner + 2 * page;
  void *address =
      mmap(nullptr, mappingSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    failWithoutMemory();
  mapping = static_cast<std::byte *>(address);
  std::byte *usable = mapping + page;
  if (inner && mprotect(usable, inner, PROT_READ | PROT_WRITE) != 0)
    failWithoutMemory();
  std::memset(usable, int(canary), inner);
  begin = edge == Edge::begin ? usable : usable + (inner - size);
  unused = {edge == Edge::begin ? usable + size : usable, inner - size};
}

GuardedBuffer::~GuardedBuffer() { munmap(mapping, mappingSize); }
