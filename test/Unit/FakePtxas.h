//===- FakePtxas.h - A program that says it is ptxas ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_FAKEPTXAS_H
#define ATTN_TEST_UNIT_FAKEPTXAS_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace attn::test {

/// A folder that is gone with its object.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "attn-XXXXXX").string();
    folder = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(folder); }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  const std::string &path() const { return folder; }

private:
  std::string folder;
};

/// Writes a program for the shell.
inline void writeProgram(const std::filesystem::path &path,
                         const std::string &script) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

/// A shell script that has a version and a help, counts its calls, and does
/// `script`.
class FakePtxas {
public:
  /// Ends with the output's name in $4, as the real one is called, and with one
  /// kernel.
  static constexpr const char *assembles =
      "printf 'machine code' > \"$4\"\n"
      "echo \"ptxas info    : Compiling entry function 'f' for 'sm_80'\"\n"
      "echo 'ptxas info    : Used 12 registers, 440 bytes cmem[0]'";

  FakePtxas(const std::string &version, const std::string &script,
            const std::string &help = "") {
    writeProgram(path(), "if [ \"$1\" = --version ]; then\n"
                         "  echo 'ptxas: NVIDIA (R) Ptx optimizing assembler'\n"
                         "  echo 'release " +
                             version +
                             "'\n"
                             "  exit 0\n"
                             "fi\n"
                             "if [ \"$1\" = --help ]; then\n"
                             "  echo '" +
                             help +
                             "'\n"
                             "  exit 0\n"
                             "fi\n"
                             "echo call >> " +
                             folder.path() + "/calls\n" + script);
  }

  std::string path() const { return folder.path() + "/ptxas"; }

  /// How often it was asked for code.
  std::size_t calls() const {
    std::ifstream file(folder.path() + "/calls");
    std::size_t count = 0;
    for (std::string line; std::getline(file, line);)
      ++count;
    return count;
  }

private:
  TemporaryFolder folder;
};

} // namespace attn::test

#endif // ATTN_TEST_UNIT_FAKEPTXAS_H
