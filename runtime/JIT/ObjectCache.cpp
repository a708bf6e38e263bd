//===- ObjectCache.cpp - Compiled kernels on disk -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/ObjectCache.h"
#include "runtime/Support/SignatureText.h"

using namespace attn;
using namespace attn::jit;

Expected<ObjectCache> ObjectCache::open(const std::string &directory) {
  Expected<FileCache> files = FileCache::open(directory);
  if (!files)
    return std::move(files).error();
  return ObjectCache(std::move(*files));
}

// A file's parts are the signature, the object, and for each gpu.module its
// name, architecture, PTX and machine code.
std::optional<CompiledObject> ObjectCache::load(const std::string &key) const {
  auto parts = files.load(key);
  if (!parts || parts->size() < 2 || parts->size() % 4 != 2)
    return std::nullopt;
  std::optional<Signature> signature = support::readSignature((*parts)[0]);
  if (!signature)
    return std::nullopt;
  const std::string &object = (*parts)[1];
  CompiledObject result = {
      std::move(*signature), {object.begin(), object.end()}, {}};
  for (std::size_t i = 2; i < parts->size(); i += 4)
    result.devices.push_back({(*parts)[i],
                              {.architecture = (*parts)[i + 1],
                               .ptx = (*parts)[i + 2],
                               .cubin = (*parts)[i + 3],
                               .resources = {}}});
  return result;
}

void ObjectCache::store(const std::string &key,
                        const CompiledObject &object) const {
  std::string signature = support::writeSignature(object.signature);
  llvm::SmallVector<llvm::StringRef> parts = {
      signature, {object.object.data(), object.object.size()}};
  for (const DeviceModule &module : object.devices)
    parts.append({module.name, module.code.architecture, module.code.ptx,
                  module.code.cubin});
  files.store(key, parts);
}
