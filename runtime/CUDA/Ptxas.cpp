//===- Ptxas.cpp - NVIDIA's assembler -------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/CUDA/Ptxas.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::cuda;
using llvm::StringRef;

static Error makeError(const llvm::Twine &message) {
  return {message.str(), {}};
}

//===----------------------------------------------------------------------===//
// Running it
//===----------------------------------------------------------------------===//

namespace {
/// A file that is gone with its object.
class TemporaryFile {
public:
  static Expected<TemporaryFile> create(StringRef suffix) {
    llvm::SmallString<128> path;
    if (std::error_code error =
            llvm::sys::fs::createTemporaryFile("attn", suffix, path))
      return makeError("cannot create a temporary file: " + error.message());
    return TemporaryFile(path.str().str());
  }

  const std::string &path() const { return name; }

  Expected<std::string> read() const {
    auto file = llvm::MemoryBuffer::getFile(name, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false,
                                            /*IsVolatile=*/true);
    if (!file)
      return makeError(name + ": " + file.getError().message());
    return (*file)->getBuffer().str();
  }

private:
  explicit TemporaryFile(std::string path)
      : name(std::move(path)),
        remover(std::make_unique<llvm::FileRemover>(name)) {}

  std::string name;
  std::unique_ptr<llvm::FileRemover> remover;
};
} // namespace

/// Runs a program without input. Gives what it printed, also to standard error.
static Expected<std::string> run(const std::string &program,
                                 llvm::ArrayRef<StringRef> arguments) {
  Expected<TemporaryFile> output = TemporaryFile::create("log");
  if (!output)
    return std::move(output).error();
  llvm::SmallVector<StringRef> command = {program};
  command.append(arguments.begin(), arguments.end());
  // Standard error goes to the same file.
  std::optional<StringRef> redirects[] = {StringRef(), output->path(),
                                          output->path()};
  std::string failure;
  int code = llvm::sys::ExecuteAndWait(program, command, /*Env=*/std::nullopt,
                                       redirects, /*SecondsToWait=*/0,
                                       /*MemoryLimit=*/0, &failure);
  Expected<std::string> log = output->read();
  if (!log || code == 0)
    return log;
  if (failure.empty())
    failure = "exit status " + std::to_string(code);
  return makeError(program + ": " + failure + (log->empty() ? "" : "\n") +
                   StringRef(*log).rtrim());
}

/// Compiles kernels in parallel, with as many threads as there are CPUs for 0.
static constexpr llvm::StringLiteral splitOption = "--split-compile";

Expected<Ptxas> Ptxas::open(const std::string &path) {
  Expected<std::string> version = run(path, {"--version"});
  if (!version)
    return std::move(version).error();
  if (!StringRef(*version).contains("Ptx optimizing assembler"))
    return makeError(path +
                     ": expected NVIDIA's ptxas, got a program that "
                     "calls itself '" +
                     StringRef(*version).split('\n').first + "'");
  Expected<std::string> help = run(path, {"--help"});
  if (!help)
    return std::move(help).error();
  return Ptxas(path, std::move(*version),
               StringRef(*help).contains(splitOption));
}

std::string Ptxas::release() const {
  StringRef after = StringRef(versionText).split("release ").second;
  StringRef number =
      after.take_while([](char c) { return llvm::isDigit(c) || c == '.'; });
  return number.empty() ? versionText : number.str();
}

Expected<Assembly> Ptxas::assemble(StringRef ptx,
                                   const std::string &architecture) const {
  Expected<TemporaryFile> input = TemporaryFile::create("ptx");
  if (!input)
    return std::move(input).error();
  Expected<TemporaryFile> output = TemporaryFile::create("cubin");
  if (!output)
    return std::move(output).error();
  std::error_code error;
  llvm::raw_fd_ostream file(input->path(), error);
  file << ptx;
  file.close();
  if (!error)
    error = file.error();
  file.clear_error(); // Or the destructor ends the process.
  if (error)
    return makeError(input->path() + ": " + error.message());

  std::string target = "-arch=" + architecture;
  llvm::SmallVector<StringRef> arguments = {target, "-v", "-o", output->path(),
                                            input->path()};
  if (isParallel)
    arguments.append({splitOption, "0"});
  Expected<std::string> log = run(programPath, arguments);
  if (!log)
    return std::move(log).error();
  llvm::SmallVector<StringRef> lines;
  StringRef(*log).split(lines, '\n');
  llvm::Regex pattern("\\(C75[0-9][0-9]\\)");
  const auto *slow =
      llvm::find_if(lines, [&](StringRef line) { return pattern.match(line); });
  Expected<std::string> cubin = output->read();
  if (!cubin)
    return std::move(cubin).error();
  std::string slowness = slow == lines.end() ? "" : slow->trim().str();
  return Assembly{std::move(*cubin), std::move(*log), std::move(slowness)};
}

//===----------------------------------------------------------------------===//
// What it says
//===----------------------------------------------------------------------===//

/// The number before `what` in a line of ptxas's; 0 if it is not there.
static unsigned readNumber(StringRef line, StringRef what) {
  StringRef before = line.split(what).first;
  unsigned number = 0;
  if (before.size() < line.size())
    before.rsplit(' ').second.getAsInteger(10, number);
  return number;
}

std::vector<KernelResources> cuda::readResources(StringRef log) {
  std::vector<KernelResources> kernels;
  // The stack of functions that are not inlined comes between the lines of
  // kernels.
  bool isKernel = false;
  llvm::SmallVector<StringRef> lines;
  log.split(lines, '\n');
  for (StringRef line : lines) {
    auto [start, rest] = line.split("Compiling entry function '");
    if (!rest.empty()) {
      kernels.push_back({.name = rest.split('\'').first.str()});
      continue;
    }
    if (kernels.empty())
      continue;
    KernelResources &kernel = kernels.back();
    if (StringRef name = line.split("Function properties for ").second;
        !name.empty()) {
      isKernel = name.trim() == kernel.name;
    } else if (isKernel && line.contains(" bytes stack frame")) {
      kernel.stackBytes = readNumber(line, " bytes stack frame");
      kernel.spillStoreBytes = readNumber(line, " bytes spill stores");
      kernel.spillLoadBytes = readNumber(line, " bytes spill loads");
    } else if (line.contains(": Used ")) {
      kernel.registers = readNumber(line, " registers");
      kernel.staticSharedBytes = readNumber(line, " bytes smem");
    }
  }
  return kernels;
}

//===----------------------------------------------------------------------===//
// Finding it
//===----------------------------------------------------------------------===//

/// Joins a path to the program and keeps it if there is such a file.
static void addProgram(std::vector<std::string> &found, StringRef folder,
                       StringRef below) {
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, below, "ptxas");
  if (llvm::sys::fs::can_execute(path))
    found.push_back(path.str().str());
}

/// nvidia-cuda-nvcc-cu12 puts it into nvidia/cuda_nvcc/bin, nvidia-cuda-nvcc of
/// CUDA 13 into nvidia/cu13/bin.
static void addPythonPackages(std::vector<std::string> &found,
                              StringRef prefix) {
  llvm::SmallString<256> libraries(prefix);
  llvm::sys::path::append(libraries, "lib");
  std::error_code error;
  for (llvm::sys::fs::directory_iterator python(libraries, error), end;
       !error && python != end; python.increment(error)) {
    if (!llvm::sys::path::filename(python->path()).starts_with("python3"))
      continue;
    for (StringRef packages : {"site-packages", "dist-packages"}) {
      llvm::SmallString<256> nvidia(python->path());
      llvm::sys::path::append(nvidia, packages, "nvidia");
      std::error_code none;
      for (llvm::sys::fs::directory_iterator package(nvidia, none);
           !none && package != end; package.increment(none))
        addProgram(found, package->path(), "bin");
    }
  }
}

static std::vector<std::string> listPrograms() {
  std::vector<std::string> found;
  if (auto path = llvm::sys::findProgramByName("ptxas"))
    found.push_back(*path);
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (auto folder = llvm::sys::Process::GetEnv(variable))
      addProgram(found, *folder, "bin");
  if (auto environment = llvm::sys::Process::GetEnv("VIRTUAL_ENV"))
    addPythonPackages(found, *environment);
  if (auto python = llvm::sys::findProgramByName("python3"))
    addPythonPackages(found, llvm::sys::path::parent_path(
                                 llvm::sys::path::parent_path(*python)));
  addProgram(found, "/usr/local/cuda", "bin");
  return found;
}

std::optional<Ptxas> Ptxas::find() {
  for (const std::string &path : listPrograms())
    if (Expected<Ptxas> ptxas = open(path))
      return std::move(*ptxas);
  return std::nullopt;
}
