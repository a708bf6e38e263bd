//===- Ranks.cpp - Kernels of several processes ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/ranks.h"

#include "runtime/Bridge/BuildId.h"
#include "runtime/Bridge/CompileThread.h"
#include "runtime/Bridge/CompileTrace.h"
#include "runtime/Bridge/FileCache.h"
#include "runtime/JIT/Frontend.h"
#include "runtime/JIT/PassTrace.h"
#include "runtime/JIT/Target.h"
#include "runtime/MPI/Communicator.h"
#include "runtime/Support/CallChecks.h"
#include "runtime/Support/StridedCopy.h"

#include "lib/Pipelines/Pipelines.h"
#include "lib/Sharding/Sharding.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/TargetParser/Host.h"

#include <cmath>
#include <cstring>

using namespace attn;
using namespace attn::jit;
using mlir::failed;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// `count` of a dimension of a tensor, from `first` on.
static TensorView viewRange(const TensorView &tensor, std::size_t dim,
                            std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> sizes(tensor.sizes().begin(), tensor.sizes().end());
  sizes[dim] = count;
  auto *data = static_cast<std::byte *>(tensor.data());
  if (data)
    data +=
        first * tensor.stride(int(dim)) * std::int64_t(sizeOf(tensor.type()));
  return TensorView(data, tensor.type(), sizes, tensor.strides(),
                    tensor.readOnly());
}

/// The pieces that lie one after the other in the part of a rank, of which
/// there are so many.
static std::vector<TensorView> piecesOfPart(const RankKernel &kernel,
                                            const Shard &shard,
                                            const TensorView &part) {
  std::size_t dim = shard.inPieces;
  if (!shard.segments.empty()) {
    std::vector<TensorView> result;
    std::int64_t ranks = kernel.grid[std::size_t(shard.axes[dim])], first = 0;
    for (std::int64_t segment : shard.segments) {
      result.push_back(viewRange(part, dim, first, segment / ranks));
      first += segment / ranks;
    }
    return result;
  }
  if (!shard.zigzag)
    return {part};
  std::int64_t rows = part.size(int(dim)), first = (rows + 1) / 2;
  return {viewRange(part, dim, 0, first),
          viewRange(part, dim, first, rows - first)};
}

static void copyPieces(std::span<const TensorView> from,
                       std::span<const TensorView> to) {
  for (std::size_t i = 0; i < from.size(); ++i)
    support::copyElements(from[i], to[i]);
}

std::vector<TensorView> RankKernel::pieces(const Shard &shard,
                                           const TensorView &whole,
                                           int rank) const {
  // The product of a size and a number of pieces may be too large.
  auto take = [](const TensorView &view, std::size_t dim, std::int64_t piece,
                 std::int64_t count) {
    std::int64_t size = view.size(int(dim)), share = size / count,
                 rest = size % count;
    return viewRange(view, dim, share * piece + std::min(piece, rest),
                     share + (piece < rest ? 1 : 0));
  };
  std::vector<TensorView> views = {whole};
  for (std::size_t dim = 0; dim < shard.axes.size(); ++dim) {
    std::int64_t axis = shard.axes[dim];
    if (axis == Shard::whole)
      continue;
    std::int64_t stride = 1;
    for (std::size_t other = std::size_t(axis) + 1; other < grid.size();
         ++other)
      stride *= grid[other];
    std::int64_t ranks = grid[std::size_t(axis)],
                 number = rank / stride % ranks;
    std::vector<TensorView> taken;
    for (const TensorView &view : views) {
      if (shard.zigzag && dim == shard.inPieces) {
        taken.push_back(take(view, dim, number, 2 * ranks));
        taken.push_back(take(view, dim, 2 * ranks - 1 - number, 2 * ranks));
        continue;
      }
      if (shard.segments.empty() || dim != shard.inPieces) {
        taken.push_back(take(view, dim, number, ranks));
        continue;
      }
      std::int64_t first = 0;
      for (std::int64_t segment : shard.segments) {
        taken.push_back(
            take(viewRange(view, dim, first, segment), dim, number, ranks));
        first += segment;
      }
    }
    views = std::move(taken);
  }
  return views;
}

std::vector<std::int64_t> RankKernel::partSizes(const Shard &shard,
                                                const TensorView &whole,
                                                int rank) const {
  std::vector<TensorView> views = pieces(shard, whole, rank);
  std::vector<std::int64_t> sizes(views[0].sizes().begin(),
                                  views[0].sizes().end());
  for (std::size_t i = 1; i < views.size(); ++i)
    sizes[shard.inPieces] += views[i].size(int(shard.inPieces));
  return sizes;
}

void RankKernel::copyPart(const Shard &shard, const TensorView &whole, int rank,
                          const TensorView &part) const {
  copyPieces(pieces(shard, whole, rank), piecesOfPart(*this, shard, part));
}

Expected<std::vector<std::vector<std::int64_t>>>
RankKernel::resultShapes(std::span<const Argument> arguments) const {
  return support::computeResultShapes(signature, arguments);
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

namespace {
/// The function of a rank, and what it has of the whole.
struct LocalText {
  std::string text;
  Signature signature;
  mlir::attn::FunctionShards shards;
  std::vector<Diagnostic> remarks;
};
} // namespace

static Expected<LocalText> makeLocal(std::string_view text,
                                     const CompileOptions &options,
                                     std::string_view split, int ranks,
                                     const mpi::Link &link,
                                     CompileTrace &trace) {
  const std::string what = "cannot shard";
  mlir::OwningOpRef<mlir::ModuleOp> module = trace.parse(text);
  if (!module)
    return trace.takeError(what);
  mlir::FailureOr<mlir::func::FuncOp> entry = findEntry(*module, options.entry);
  if (failed(entry))
    return trace.takeError(what);
  setArgumentNames(*entry, readArgumentNames(*entry, trace.getParserState()));
  mlir::PassManager pm(trace.getContext());
  tracePasses(pm, trace);
  mlir::attn::buildShardingPipeline(pm);
  if (failed(pm.run(*module)))
    return trace.takeError(what);
  mlir::FailureOr<mlir::attn::Annotations> annotations =
      mlir::attn::readAnnotations(*entry, ranks);
  if (failed(annotations))
    return trace.takeError(what);
  trace.enter("while sharding this", entry->getLoc());
  if (annotations->empty()) {
    if (split.empty())
      return Error{"@" + entry->getName().str() +
                       " has no shard.shard, and no split was asked for: all "
                       "ranks would compute the same",
                   {}};
    if (failed(mlir::attn::annotate(
            *entry, ranks, llvm::StringRef(split.data(), split.size()))))
      return trace.takeError(what);
  } else if (!split.empty()) {
    return Error{"split: expected a function without shard.shard, got '" +
                     std::string(split) + "' for @" + entry->getName().str(),
                 {}};
  }
  // What exchanges depend on. The text of the kernel says neither, as links
  // are measured each time.
  Expected<std::string> processor = describeProcessor("host");
  if (!processor)
    return processor.error();
  setTarget(*module, *processor, /*quantizeQueries=*/false);
  std::optional<mlir::attn::MeasuredLink> measured;
  if (ranks > 1)
    measured = {link.latency, link.bandwidth, link.isShared};
  if (failed(mlir::attn::planExchanges(*entry, ranks, measured)))
    return trace.takeError(what);
  (*module)->removeAttr(mlir::attn::TargetAttr::kModuleAttr);
  mlir::FailureOr<mlir::attn::FunctionShards> shards =
      mlir::attn::makeLocal(*entry, ranks);
  if (failed(shards) || failed(mlir::verify(*module)))
    return trace.takeError(what);
  LocalText result{{}, {}, std::move(*shards), trace.takeRemarks()};
  llvm::raw_string_ostream os(result.text);
  // Messages are of the text that was written.
  module->print(os, mlir::OpPrintingFlags()
                        .enableDebugInfo(true, /*prettyForm=*/false)
                        .printNameLocAsPrefix(true));
  return result;
}

/// The signature of the whole.
static Expected<Signature> readSignature(std::string_view text,
                                         const CompileOptions &options,
                                         CompileTrace &trace) {
  mlir::FailureOr<KernelModule> kernel =
      parseKernel(text, options, Plans(), trace);
  if (failed(kernel))
    return trace.takeError("cannot compile");
  return std::move(kernel->signature);
}

template <typename T, typename Function>
static Expected<T> compileOnThread(const CompileOptions &options,
                                   Function function) {
  return callOnThread<T>([&] {
    return compileGuarded<T>("cannot compile", options.fileName,
                             getKernelRegistry(), function);
  });
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

Ranks::Ranks(std::shared_ptr<mpi::Communicator> communicator, bool sharesCache)
    : communicator(std::move(communicator)), sharesCache(sharesCache) {}

Expected<Ranks> Ranks::create(const RanksOptions &options) {
  if (!(options.timeLimit > 0) || !std::isfinite(options.timeLimit))
    return Error{"timeLimit: expected a positive number of seconds, got " +
                     std::to_string(options.timeLimit),
                 {}};
  Expected<std::shared_ptr<mpi::Communicator>> communicator =
      mpi::Communicator::create(options.library, options.timeLimit);
  if (!communicator)
    return communicator.error();
  return Ranks(std::move(*communicator), options.sharesCache);
}

int Ranks::rank() const { return communicator->getRank(); }
int Ranks::size() const { return communicator->getSize(); }
RankLink Ranks::link() const {
  const mpi::Link &link = communicator->getLink();
  return {link.latency, link.bandwidth};
}
const std::string &Ranks::library() const { return communicator->getVersion(); }
std::uint64_t Ranks::bytesSent() const { return communicator->getBytesSent(); }
void Ranks::abort(int code) const { communicator->abort(code); }

Status Ranks::collect(const RankKernel &kernel, std::size_t result,
                      const TensorView &part, const TensorView &whole) const {
  std::size_t bytes = sizeOf(part.type());
  for (std::int64_t size : part.sizes())
    bytes *= std::size_t(size);
  std::vector<std::byte> dense(bytes);
  support::copyElements(part, TensorView(dense.data(), part.type(),
                                         part.sizes(), /*readOnly=*/false));
  Expected<std::vector<std::vector<std::byte>>> parts =
      communicator->gather(dense, "its results");
  if (!parts)
    return parts.error();
  for (std::size_t i = 0; i < parts->size(); ++i) {
    std::vector<std::byte> &data = (*parts)[i];
    const Shard &shard = kernel.results[result];
    std::vector<std::int64_t> sizes = kernel.partSizes(shard, whole, int(i));
    std::size_t expected = sizeOf(whole.type());
    for (std::int64_t size : sizes)
      expected *= std::size_t(size);
    if (expected != data.size())
      return Error{"result " + std::to_string(result) + ": expected " +
                       std::to_string(expected) + " bytes of rank " +
                       std::to_string(i) + ", got " +
                       std::to_string(data.size()),
                   {}};
    TensorView part(data.data(), whole.type(), sizes, /*readOnly=*/true);
    copyPieces(piecesOfPart(kernel, shard, part),
               kernel.pieces(shard, whole, int(i)));
  }
  return {};
}

Status Ranks::meet() const {
  std::byte own{};
  std::vector<std::byte> all(static_cast<std::size_t>(size()), own);
  return communicator->allGather({&own, 1}, all, {1, size()},
                                 "that it is there");
}

/// The beginning of what a rank says of its failure, on all ranks: which of
/// them is heard before the others are stopped is not known.
static Expected<std::string> shareReason(mpi::Communicator &communicator,
                                         const Status &status, int rank) {
  constexpr std::size_t kMost = 1024;
  std::string own = status ? std::string() : status.error().message;
  own.resize(kMost);
  std::string all(kMost * std::size_t(communicator.getSize()), '\0');
  if (Status gathered = communicator.allGather(
          std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)),
          {1, communicator.getSize()}, "why one does not compile");
      !gathered)
    return gathered.error();
  std::string reason = all.substr(kMost * std::size_t(rank), kMost);
  return reason.substr(0, reason.find('\0'));
}

/// An error on all ranks if they do not have the same of something, or if one
/// of them has failed.
static Status checkSame(mpi::Communicator &communicator,
                        std::span<const std::string> own,
                        std::span<const char *const> names,
                        const Status &status) {
  // The failure first, then keys.
  std::string record(1, status ? '\0' : '\1');
  for (const std::string &value : own)
    record += computeKey({value});
  std::string all(record.size() * std::size_t(communicator.getSize()), '\0');
  if (Status gathered = communicator.allGather(
          std::as_bytes(std::span(record)),
          std::as_writable_bytes(std::span(all)), {1, communicator.getSize()},
          "what it compiles");
      !gathered)
    return gathered;
  for (int rank = 0; rank < communicator.getSize(); ++rank)
    if (all[record.size() * std::size_t(rank)] != '\0') {
      Expected<std::string> reason = shareReason(communicator, status, rank);
      if (!reason || rank == communicator.getRank())
        return reason ? status : reason.error();
      return Error{"rank " + std::to_string(rank) +
                       " could not compile its kernel: " + *reason,
                   {}};
    }
  std::size_t keySize = (record.size() - 1) / own.size();
  for (int rank = 1; rank < communicator.getSize(); ++rank)
    for (std::size_t i = 0; i < own.size(); ++i) {
      auto keyOf = [&](int of) {
        return std::string_view(all).substr(
            record.size() * std::size_t(of) + 1 + i * keySize, keySize);
      };
      if (keyOf(rank) != keyOf(0))
        return Error{"rank " + std::to_string(rank) + " has another " +
                         names[i] + " than rank 0",
                     {}};
    }
  return {};
}

Expected<RankKernel> Ranks::compile(const Engine &engine, std::string_view text,
                                    const CompileOptions &options,
                                    std::string_view split) const {
  if (options.pipeline != "cpu" && options.pipeline != "reference")
    return Error{"pipeline: expected 'cpu' or 'reference' for ranks, got '" +
                     options.pipeline + "'",
                 {}};
  // All ranks come as far as the exchange, whatever happens on them.
  Expected<LocalText> local =
      compileOnThread<LocalText>(options, [&](CompileTrace &trace) {
        return makeLocal(text, options, split, size(), communicator->getLink(),
                         trace);
      });
  if (local) {
    Expected<Signature> signature =
        compileOnThread<Signature>(options, [&](CompileTrace &trace) {
          return readSignature(text, options, trace);
        });
    if (signature)
      local->signature = std::move(*signature);
    else
      local = signature.error();
  }
  if (sharesCache && rank() != 0)
    if (Status status = meet(); !status)
      return status.error();
  Expected<Kernel> kernel = local ? engine.compile(local->text, options)
                                  : Expected<Kernel>(local.error());
  if (sharesCache && rank() == 0)
    if (Status status = meet(); !status)
      return status.error();
  std::string own[] = {kernel ? local->text + '\0' + options.entry + '\0' +
                                    kernel->pipeline()
                              : "",
                       identifyBuild(), llvm::sys::getHostCPUName().str()};
  constexpr const char *names[] = {"kernel", "version of Attn", "processor"};
  if (Status status = checkSame(*communicator, own, names,
                                kernel ? Status() : Status(kernel.error()));
      !status)
    return status.error();
  RankKernel result{*kernel,
                    std::move(local->signature),
                    {},
                    {},
                    {},
                    std::move(local->text),
                    std::move(local->remarks)};
  const mlir::attn::FunctionShards &shards = local->shards;
  result.grid.assign(shards.grid.shape.begin(), shards.grid.shape.end());
  for (auto [from, to] : {std::pair(&shards.arguments, &result.arguments),
                          std::pair(&shards.results, &result.results)})
    for (const mlir::attn::TensorSplit &split : *from)
      to->push_back({{split.axes.begin(), split.axes.end()},
                     split.isZigzag,
                     {split.segments.begin(), split.segments.end()},
                     split.inPieces});
  return result;
}
