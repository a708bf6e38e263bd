//===- PlanStore.cpp - Plans that were found before -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/PlanStore.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn;
using namespace attn::jit;

// A file has two parts for each processor and version: its identity, and the
// plans of the ops, each on a line.

static Plans splitPlans(llvm::StringRef text) {
  Plans plans;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    plans.push_back(line.str());
    text = rest;
  }
  return plans;
}

static std::string joinPlans(const Plans &plans) {
  std::string text;
  for (const std::string &plan : plans)
    text += plan + "\n";
  return text;
}

PlanStore::Found PlanStore::load(const std::string &key) const {
  if (!files)
    return {};
  auto parts = files->load(key);
  if (!parts || parts->size() % 2 != 0) {
    if (!files->contains(key))
      return {};
    return {{},
            "the file of its tuned plans, " + key +
                ".attnobj, is damaged or can be written by others, and is "
                "ignored"};
  }
  for (std::size_t i = 0; i < parts->size(); i += 2)
    if ((*parts)[i] == identity)
      return {splitPlans((*parts)[i + 1]), {}};
  return {{},
          "its tuned plans are of another processor or version of the "
          "compiler, and are ignored"};
}

PlanStore::Found PlanStore::find(const std::string &key) {
  std::scoped_lock lock(mutex);
  auto [entry, isNew] = known.try_emplace(key);
  if (isNew)
    entry->second = load(key);
  return entry->second;
}

void PlanStore::remember(const std::string &key, Found found) {
  std::scoped_lock lock(mutex);
  known[key] = std::move(found);
}

bool PlanStore::store(const std::string &key, const Plans &plans) {
  std::scoped_lock lock(mutex);
  known[key] = {plans, {}};
  if (!files)
    return true;
  auto parts = files->load(key).value_or(llvm::SmallVector<std::string>());
  llvm::SmallVector<std::string> kept;
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2)
    if (parts[i] != identity)
      llvm::append_values(kept, parts[i], parts[i + 1]);
  llvm::append_values(kept, identity, joinPlans(plans));
  return files->store(
      key, llvm::SmallVector<llvm::StringRef>(kept.begin(), kept.end()));
}
