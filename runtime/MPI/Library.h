//===- Library.h - What is used of MPI --------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library is opened when ranks are asked for: neither a build nor a program
// on one machine needs it, or its headers. Functions are those of the MPI
// standard (mpi-forum.org, version 3.1). What it leaves open is how handles
// look: pointers in Open MPI, numbers of 32 bits in MPICH and what has its ABI.
// A word holds both, as both are passed in one register.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_MPI_LIBRARY_H
#define ATTN_RUNTIME_MPI_LIBRARY_H

#include "attn/error.h"

#include <cstdint>
#include <memory>
#include <string>

namespace attn::mpi {

/// A communicator, datatype, error handler or request.
using Handle = std::uintptr_t;

// MPI_THREAD_SERIALIZED is 2 in both.
inline constexpr int threadSerialized = 2;

/// X(name, symbol, types of the parameters): every function that is used.
#define ATTN_MPI_FUNCTIONS(X)                                                  \
  X(initialized, "MPI_Initialized", (int *))                                   \
  X(finalized, "MPI_Finalized", (int *))                                       \
  X(initThread, "MPI_Init_thread", (int *, char ***, int, int *))              \
  X(queryThread, "MPI_Query_thread", (int *))                                  \
  X(finalize, "MPI_Finalize", ())                                              \
  X(abort, "MPI_Abort", (Handle, int))                                         \
  X(errorString, "MPI_Error_string", (int, char *, int *))                     \
  X(libraryVersion, "MPI_Get_library_version", (char *, int *))                \
  X(commRank, "MPI_Comm_rank", (Handle, int *))                                \
  X(commSize, "MPI_Comm_size", (Handle, int *))                                \
  X(commDup, "MPI_Comm_dup", (Handle, Handle *))                               \
  X(commSetErrhandler, "MPI_Comm_set_errhandler", (Handle, Handle))            \
  X(isend, "MPI_Isend",                                                        \
    (const void *, int, Handle, int, int, Handle, Handle *))                   \
  X(irecv, "MPI_Irecv", (void *, int, Handle, int, int, Handle, Handle *))     \
  X(test, "MPI_Test", (Handle *, int *, void *))                               \
  X(getCount, "MPI_Get_count", (const void *, Handle, int *))

/// The library's functions and constants.
struct Library {
  /// Opens the library at `path`; if that is empty, the one that the process
  /// has already, or that of the launcher that started it.
  static Expected<std::shared_ptr<const Library>> open(const std::string &path);

  /// An error that says `what` failed, unless `code` is that of success.
  Status check(int code, const std::string &what) const;

// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration has none.
#define ATTN_MPI_DECLARE(member, symbol, parameters) int(*member) parameters;
  ATTN_MPI_FUNCTIONS(ATTN_MPI_DECLARE)
#undef ATTN_MPI_DECLARE

  Handle world, byte, errorsReturn;
  std::string version; ///< As the library says it, one line.

private:
  Library() = default;
};

} // namespace attn::mpi

#endif // ATTN_RUNTIME_MPI_LIBRARY_H
