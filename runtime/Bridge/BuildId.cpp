//===- BuildId.cpp - Identity of this build -------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Bridge/BuildId.h"

#include "llvm-c/Core.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <link.h>

using namespace attn;

/// Contents of the build id among the notes of a segment; empty if not there.
static std::string findBuildId(const char *notes, std::size_t size) {
  const char *end = notes + size;
  while (std::size_t(end - notes) >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes, sizeof(header));
    const char *name = notes + sizeof(header);
    const char *contents = name + llvm::alignTo(header.n_namesz, 4);
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        std::memcmp(name, "GNU", 4) == 0)
      return std::string(contents, header.n_descsz);
    notes = contents + llvm::alignTo(header.n_descsz, 4);
  }
  return {};
}

/// Looks at one loaded file: is it the one that holds this function?
static int visitFile(dl_phdr_info *info, std::size_t, void *result) {
  auto self = reinterpret_cast<std::uintptr_t>(&visitFile);
  bool found = false;
  std::string buildId;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[i];
    std::uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && self - start < segment.p_memsz)
      found = true;
    if (segment.p_type == PT_NOTE && buildId.empty())
      buildId =
          findBuildId(reinterpret_cast<const char *>(start), segment.p_memsz);
  }
  if (found)
    *static_cast<std::string *>(result) = buildId;
  return found;
}

/// A hash of the library's own contents, which the static linker put into it.
static std::string getBuildId() {
  std::string result;
  dl_iterate_phdr(visitFile, &result);
  return result;
}

std::string attn::identifyBuild() {
  unsigned major, minor, patch;
  LLVMGetVersion(&major, &minor, &patch);
  return llvm::join_items('\0', ATTN_VERSION, llvm::toHex(getBuildId()),
                          std::to_string(major), std::to_string(minor),
                          std::to_string(patch));
}
