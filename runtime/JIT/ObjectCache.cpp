//===- ObjectCache.cpp - Compiled kernels on disk -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/ObjectCache.h"
#include "runtime/Support/SignatureText.h"

#include "llvm/ADT/STLExtras.h"

#include <concepts>

using namespace attn;
using namespace attn::jit;

Expected<ObjectCache> ObjectCache::open(const std::string &directory) {
  Expected<FileCache> files = FileCache::open(directory);
  if (!files)
    return std::move(files).error();
  return ObjectCache(std::move(*files));
}

// A file's parts are the signature; the number of forms for few queries and, if
// there are any, the sum that is the number of queries, or the number of the
// argument that has those of sequences and how, and up to how many each is for;
// the number of objects and these; the number of remarks, for each of these its
// severity, file, line, column and message; and for each gpu.module its name,
// architecture, PTX and machine code.
static constexpr llvm::StringLiteral kCumulative = "cumulative";
static constexpr llvm::StringLiteral kCounts = "counts";

namespace {

/// Takes one part after another. Each function is false if there is no such
/// thing.
class Parts {
public:
  explicit Parts(llvm::ArrayRef<std::string> parts) : parts(parts) {}

  bool atEnd() const { return parts.empty(); }
  bool read(std::string &text) {
    if (parts.empty())
      return false;
    text = parts.consume_front();
    return true;
  }
  bool read(unsigned &number) {
    return !parts.empty() &&
           !llvm::StringRef(parts.consume_front()).getAsInteger(10, number);
  }
  bool read(std::int64_t &number) {
    return !parts.empty() &&
           !llvm::StringRef(parts.consume_front()).getAsInteger(10, number);
  }
  bool read(std::optional<KernelForms> &forms) {
    unsigned numForms;
    if (!read(numForms))
      return false;
    if (numForms == 0)
      return true;
    std::string length;
    if (!read(length))
      return false;
    forms.emplace();
    if (length == kCumulative || length == kCounts) {
      SequenceLengths lengths = {0, length == kCumulative};
      if (!read(lengths.argument))
        return false;
      forms->length = lengths;
    } else {
      std::optional<SizeExpr> parsed = support::readSize(length);
      if (!parsed)
        return false;
      forms->length = std::move(*parsed);
    }
    for (unsigned i = 0; i < numForms; ++i)
      if (!read(forms->most.emplace_back()))
        return false;
    return llvm::is_sorted(forms->most);
  }
  bool read(Diagnostic &remark) {
    unsigned severity;
    if (!read(severity) || severity > unsigned(Diagnostic::Severity::note))
      return false;
    remark.severity = Diagnostic::Severity(severity);
    return read(remark.file) && read(remark.line) && read(remark.column) &&
           read(remark.message);
  }
  bool read(DeviceModule &module) {
    return read(module.name) && read(module.code.architecture) &&
           read(module.code.ptx) && read(module.code.cubin);
  }
  bool read(CompiledObject &object) {
    std::string signature, code;
    unsigned numObjects, numRemarks;
    if (!read(signature) || !read(object.forms) || !read(numObjects))
      return false;
    for (unsigned i = 0; i < numObjects; ++i) {
      if (!read(code))
        return false;
      object.objects.emplace_back(code.begin(), code.end());
    }
    if (!read(numRemarks))
      return false;
    std::optional<Signature> parsed = support::readSignature(signature);
    if (!parsed)
      return false;
    object.signature = std::move(*parsed);
    if (!areLengthsThere(object))
      return false;
    for (unsigned i = 0; i < numRemarks; ++i)
      if (!read(object.remarks.emplace_back()))
        return false;
    while (!atEnd())
      if (!read(object.devices.emplace_back()))
        return false;
    return true;
  }

private:
  /// Whether the lengths of sequences, if forms are of these, can be read.
  static bool areLengthsThere(const CompiledObject &object) {
    const SequenceLengths *lengths =
        object.forms ? std::get_if<SequenceLengths>(&object.forms->length)
                     : nullptr;
    if (!lengths)
      return true;
    if (lengths->argument >= object.signature.arguments.size())
      return false;
    const Parameter &parameter = object.signature.arguments[lengths->argument];
    return parameter.isTensor && parameter.shape.size() == 1 &&
           (parameter.type == ElementType::i32 ||
            parameter.type == ElementType::i64);
  }

  llvm::ArrayRef<std::string> parts;
};

} // namespace

std::optional<CompiledObject> ObjectCache::load(const std::string &key) const {
  auto parts = files.load(key);
  CompiledObject object;
  if (!parts || !Parts(*parts).read(object))
    return std::nullopt;
  return object;
}

void ObjectCache::store(const std::string &key,
                        const CompiledObject &object) const {
  std::vector<std::string> parts = {support::writeSignature(object.signature)};
  auto add = [&](std::integral auto number) {
    parts.push_back(std::to_string(number));
  };
  if (object.forms) {
    add(object.forms->most.size());
    if (auto *lengths = std::get_if<SequenceLengths>(&object.forms->length)) {
      parts.push_back((lengths->isCumulative ? kCumulative : kCounts).str());
      add(lengths->argument);
    } else {
      parts.push_back(
          support::writeSize(std::get<SizeExpr>(object.forms->length)));
    }
    for (std::int64_t most : object.forms->most)
      add(most);
  } else {
    add(0);
  }
  add(object.objects.size());
  for (const Object &code : object.objects)
    parts.emplace_back(code.data(), code.size());
  add(object.remarks.size());
  for (const Diagnostic &remark : object.remarks)
    llvm::append_values(parts, std::to_string(int(remark.severity)),
                        remark.file, std::to_string(remark.line),
                        std::to_string(remark.column), remark.message);
  for (const DeviceModule &module : object.devices)
    llvm::append_values(parts, module.name, module.code.architecture,
                        module.code.ptx, module.code.cubin);
  files.store(key,
              llvm::SmallVector<llvm::StringRef>(parts.begin(), parts.end()));
}
