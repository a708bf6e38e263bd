//===- Library.cpp - What is used of MPI ----------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/MPI/Library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <vector>

using namespace attn;
using namespace attn::mpi;

static Error makeNoMPI(const std::string &why) {
  return {"no MPI: " + why, {}};
}

/// Where to look, in order: what started this process says which of them.
static std::vector<const char *> getNames() {
  std::vector<const char *> openMPI = {"libmpi.so.40"},
                            mpich = {"libmpich.so.12", "libmpi.so.12"};
  bool isOfMPICH = std::getenv("PMI_RANK") || std::getenv("PMI_SIZE");
  std::vector<const char *> &first = isOfMPICH ? mpich : openMPI,
                            &second = isOfMPICH ? openMPI : mpich;
  // Of another library, every process would be alone.
  if (!isOfMPICH && !std::getenv("OMPI_COMM_WORLD_SIZE"))
    first.insert(first.end(), second.begin(), second.end());
  return first;
}

static Expected<void *> openLibrary(const std::string &path) {
  // Libraries load plugins that look for its symbols.
  constexpr int flags = RTLD_NOW | RTLD_GLOBAL;
  if (!path.empty()) {
    if (void *library = dlopen(path.c_str(), flags))
      return library;
    return makeNoMPI(std::string("cannot load the library: ") + dlerror());
  }
  if (dlsym(RTLD_DEFAULT, "MPI_Init_thread"))
    return RTLD_DEFAULT;
  std::string tried;
  for (const char *name : getNames()) {
    // A host may have loaded it for itself alone, as Python does.
    if (void *library = dlopen(name, flags | RTLD_NOLOAD))
      return library;
  }
  for (const char *name : getNames()) {
    if (void *library = dlopen(name, flags))
      return library;
    tried += (tried.empty() ? "" : "; ") + std::string(dlerror());
  }
  return makeNoMPI("cannot load the library: " + tried);
}

Expected<std::shared_ptr<const Library>>
Library::open(const std::string &path) {
  Expected<void *> opened = openLibrary(path);
  if (!opened)
    return opened.error();
  std::shared_ptr<Library> library(new Library());
#define ATTN_MPI_FIND(member, symbol, parameters)                              \
  library->member =                                                            \
      reinterpret_cast<decltype(library->member)>(dlsym(*opened, symbol));     \
  if (!library->member)                                                        \
    return makeNoMPI("the library has no function " symbol);
  ATTN_MPI_FUNCTIONS(ATTN_MPI_FIND)
#undef ATTN_MPI_FIND

  char text[8192]; // MPI_MAX_LIBRARY_VERSION_STRING of MPICH, the longest.
  int length = 0;
  library->libraryVersion(text, &length);
  library->version.assign(text, std::size_t(length));
  library->version.resize(std::min(library->version.find_first_of("\n\r"),
                                   library->version.size()));
  for (char &character : library->version)
    if (character == '\t')
      character = ' ';

  if (void *world = dlsym(*opened, "ompi_mpi_comm_world")) {
    library->world = Handle(world);
    library->byte = Handle(dlsym(*opened, "ompi_mpi_byte"));
    library->errorsReturn = Handle(dlsym(*opened, "ompi_mpi_errors_return"));
    if (!library->byte || !library->errorsReturn)
      return makeNoMPI("the library has not the symbols of Open MPI");
    return std::shared_ptr<const Library>(std::move(library));
  }
  if (!library->version.starts_with("MPICH") &&
      !library->version.starts_with("Intel(R) MPI"))
    return makeNoMPI("expected Open MPI, MPICH or Intel MPI, got '" +
                     library->version + "'");
  // Constants of the ABI that they share (mpich.org/abi).
  library->world = 0x44000000;
  library->byte = 0x4c00010d;
  library->errorsReturn = 0x54000001;
  return std::shared_ptr<const Library>(std::move(library));
}

Status Library::check(int code, const std::string &what) const {
  if (code == 0)
    return {};
  char text[1024]; // MPI_MAX_ERROR_STRING is 256 or 512.
  int length = 0;
  std::string message = what + ": ";
  if (errorString(code, text, &length) == 0)
    message.append(text, std::size_t(length));
  else
    message += "error " + std::to_string(code);
  return Error{std::move(message), {}};
}
