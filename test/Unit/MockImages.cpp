//===- MockImages.cpp - What is in images of modules ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/MockImages.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <optional>
#include <set>
#include <sstream>

using attn::test::MockKernel;
using attn::test::MockKernels;

/// The number behind `what` in a line, if that is there.
static std::optional<unsigned long> readNumber(const std::string &line,
                                               const std::string &what) {
  std::size_t at = line.find(what);
  if (at == std::string::npos)
    return std::nullopt;
  return std::strtoul(line.c_str() + at + what.size(), nullptr, 10);
}

/// Whether a line of PTX has `name`, and not as part of a longer one.
static bool hasName(const std::string &line, const std::string &name) {
  auto isOfName = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' ||
           c == '$' || c == '%';
  };
  for (std::size_t at = line.find(name); at != std::string::npos;
       at = line.find(name, at + 1)) {
    std::size_t end = at + name.size();
    if ((at == 0 || !isOfName(line[at - 1])) &&
        (end == line.size() || !isOfName(line[end])))
      return true;
  }
  return false;
}

MockKernels attn::test::readPTX(const std::string &text) {
  MockKernels kernels;
  std::map<std::string, std::size_t> buffers;
  MockKernel *kernel = nullptr;
  bool isInParameters = false;
  std::set<std::string> used;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    constexpr const char *entry = ".entry ";
    if (std::size_t at = line.find(entry); at != std::string::npos) {
      at += std::strlen(entry);
      kernel = &kernels[line.substr(at, line.find('(') - at)];
      isInParameters = line.find(')') == std::string::npos;
      used.clear();
      continue;
    }
    if (line.find(".shared ") != std::string::npos &&
        line.find(".extern") == std::string::npos &&
        line.find('[') != std::string::npos &&
        line.find(".b8 ") != std::string::npos) {
      std::size_t name = line.find(".b8 ") + 4, size = line.find('[', name);
      buffers[line.substr(name, size - name)] =
          std::strtoul(line.c_str() + size + 1, nullptr, 10);
      continue;
    }
    if (!kernel)
      continue;
    std::istringstream words(line);
    std::string word, type;
    if (isInParameters && words >> word >> type && word == ".param")
      kernel->parameters.push_back(std::stoul(type.substr(2)) / 8);
    else if (line.find(')') != std::string::npos)
      isInParameters = false;
    // ".maxntid 32, 4, 1"
    constexpr const char *most = ".maxntid ";
    if (std::size_t at = line.find(most); at != std::string::npos) {
      kernel->threads = 1;
      std::istringstream sizes(line.substr(at + std::strlen(most)));
      for (unsigned size = 1; sizes >> size; sizes.ignore(1))
        kernel->threads *= size;
    }
    for (const auto &[name, size] : buffers)
      if (hasName(line, name) && used.insert(name).second)
        kernel->sharedBytes += size;
  }
  return kernels;
}

int attn::test::findVersionOfPTX(const std::string &text) {
  std::optional<unsigned long> major = readNumber(text, ".version ");
  if (!major || *major < 8)
    return 0;
  unsigned long minor =
      readNumber(text, ".version " + std::to_string(*major) + ".").value_or(0);
  return int((*major + 4) * 1000 + (minor + (*major == 8 && minor > 5)) * 10);
}

/// Reads a T at an offset of the image, which ends behind it.
template <typename T> static T readAt(const char *image, std::size_t offset) {
  T value;
  std::memcpy(&value, image + offset, sizeof(T));
  return value;
}

MockKernels attn::test::readMachineCode(const char *image) {
  constexpr std::uint8_t maxThreads = 0x05, parameter = 0x17, registers = 0x2f,
                         sized = 4;
  auto header = readAt<Elf64_Ehdr>(image, 0);
  std::vector<Elf64_Shdr> sections;
  for (std::size_t i = 0; i < header.e_shnum; ++i)
    sections.push_back(
        readAt<Elf64_Shdr>(image, header.e_shoff + i * sizeof(Elf64_Shdr)));
  auto nameOf = [&](const Elf64_Shdr &section) {
    return std::string(image + sections[header.e_shstrndx].sh_offset +
                       section.sh_name);
  };
  auto nameOfSymbol = [&](std::uint32_t index) -> std::string {
    for (const Elf64_Shdr &section : sections)
      if (section.sh_type == SHT_SYMTAB)
        return image + sections[section.sh_link].sh_offset +
               readAt<Elf64_Sym>(image,
                                 section.sh_offset + index * sizeof(Elf64_Sym))
                   .st_name;
    return "";
  };
  MockKernels kernels;
  constexpr const char *code = ".text.", *info = ".nv.info",
                       *shared = ".nv.shared.";
  for (const Elf64_Shdr &section : sections)
    if (nameOf(section).starts_with(code))
      kernels[nameOf(section).substr(std::strlen(code))];
  for (const Elf64_Shdr &section : sections) {
    std::string name = nameOf(section);
    if (name.starts_with(shared))
      if (auto found = kernels.find(name.substr(std::strlen(shared)));
          found != kernels.end())
        found->second.sharedBytes = section.sh_size;
    if (!name.starts_with(info))
      continue;
    auto found =
        kernels.find(name.substr(std::min(name.size(), std::strlen(info) + 1)));
    std::size_t at = section.sh_offset, end = at + section.sh_size;
    while (at + 4 <= end) {
      auto format = readAt<std::uint8_t>(image, at),
           kind = readAt<std::uint8_t>(image, at + 1);
      std::size_t size =
          format == sized ? readAt<std::uint16_t>(image, at + 2) : 0;
      at += 4;
      if (kind == registers && found == kernels.end()) {
        auto of = kernels.find(nameOfSymbol(readAt<std::uint32_t>(image, at)));
        if (of != kernels.end())
          of->second.registers = readAt<std::uint32_t>(image, at + 4);
      } else if (kind == parameter && found != kernels.end()) {
        auto &parameters = found->second.parameters;
        std::size_t number = readAt<std::uint16_t>(image, at + 4);
        parameters.resize(std::max(parameters.size(), number + 1));
        parameters[number] = readAt<std::uint32_t>(image, at + 8) >> 18;
      } else if (kind == maxThreads && found != kernels.end()) {
        found->second.threads = readAt<std::uint32_t>(image, at) *
                                readAt<std::uint32_t>(image, at + 4) *
                                readAt<std::uint32_t>(image, at + 8);
      }
      at += size;
    }
  }
  return kernels;
}

bool attn::test::isMachineCode(const std::string &image) {
  return image.starts_with(ELFMAG);
}

bool attn::test::readTextLine(const std::string &line, MockKernels &kernels) {
  std::istringstream words(line);
  std::string word, name;
  std::size_t arguments;
  if (!(words >> word >> name >> arguments) || word != "kernel")
    return false;
  MockKernel &kernel = kernels[name];
  kernel.parameters.assign(arguments, sizeof(std::uint64_t));
  kernel.registers = unsigned(readNumber(line, "registers ").value_or(0));
  kernel.sharedBytes = readNumber(line, "shared ").value_or(0);
  return true;
}
