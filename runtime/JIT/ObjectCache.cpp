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

std::optional<CompiledObject> ObjectCache::load(const std::string &key) const {
  auto parts = files.load(key, 2);
  if (!parts)
    return std::nullopt;
  std::optional<Signature> signature = support::readSignature((*parts)[0]);
  if (!signature)
    return std::nullopt;
  const std::string &object = (*parts)[1];
  return CompiledObject{std::move(*signature), {object.begin(), object.end()}};
}

void ObjectCache::store(const std::string &key,
                        const CompiledObject &object) const {
  files.store(key,
              {support::writeSignature(object.signature),
               llvm::StringRef(object.object.data(), object.object.size())});
}
