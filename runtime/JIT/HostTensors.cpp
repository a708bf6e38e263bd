//===- HostTensors.cpp - A call on a GPU with tensors of the host ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/HostTensors.h"

#include "runtime/Support/ByteRange.h"
#include "runtime/Support/CallChecks.h"

#include <cstring>
#include <memory>
#include <new>

using namespace attn;
using namespace attn::jit;
using support::ByteRange;

namespace {
/// A tensor of the host and its copy, which has the same strides.
class DeviceTensor {
public:
  static Expected<DeviceTensor> create(const cuda::Device &device,
                                       const TensorView &host) {
    ByteRange range;
    support::computeByteRange(host, range); // The call's checks did it too.
    Expected<cuda::Buffer> buffer = device.allocate(range.size());
    if (!buffer)
      return std::move(buffer).error();
    return DeviceTensor(host, range, std::move(*buffer));
  }

  TensorView getView() const {
    std::uintptr_t offset =
        range.size()
            ? reinterpret_cast<std::uintptr_t>(host.data()) - range.begin
            : 0;
    return TensorView(reinterpret_cast<void *>(buffer.address() + offset),
                      host.type(), host.sizes(), host.strides(),
                      /*readOnly=*/false);
  }

  Status upload(const cuda::Stream &stream) const {
    if (range.size() == 0)
      return {};
    return buffer.upload(getHostBytes(), range.size(), stream);
  }

  /// Starts to copy back what the kernel wrote. `finish` ends it, once the
  /// stream has been waited for.
  Status download(const cuda::Stream &stream) {
    if (range.size() == 0)
      return {};
    if (isDense())
      return buffer.download(getHostBytes(), range.size(), stream);
    // What lies between the elements is not ours to write.
    staging.reset(new (std::nothrow) std::byte[range.size()]);
    if (!staging)
      return Error{"out of memory: a result takes " +
                       std::to_string(range.size()) + " bytes",
                   {}};
    return buffer.download(staging.get(), range.size(), stream);
  }

  void finish() const {
    if (staging)
      copyRows(0, reinterpret_cast<std::uintptr_t>(host.data()) - range.begin);
  }

private:
  DeviceTensor(const TensorView &host, ByteRange range, cuda::Buffer buffer)
      : host(host), range(range), buffer(std::move(buffer)) {}

  std::byte *getHostBytes() const {
    return reinterpret_cast<std::byte *>(range.begin);
  }

  /// Whether every byte in the range is an element's.
  bool isDense() const {
    std::size_t bytes = sizeOf(host.type());
    for (std::int64_t size : host.sizes())
      bytes *= std::size_t(size);
    return bytes == range.size();
  }

  /// Copies the elements of `dim` and later ones, from `offset` bytes into the
  /// range. The last dimension is contiguous.
  void copyRows(int dim, std::size_t offset) const {
    std::size_t bytes = sizeOf(host.type());
    if (dim + 1 >= host.rank()) {
      std::memcpy(getHostBytes() + offset, staging.get() + offset,
                  host.rank() ? bytes * std::size_t(host.size(dim)) : bytes);
      return;
    }
    for (std::int64_t i = 0; i < host.size(dim); ++i)
      copyRows(dim + 1, offset + std::size_t(i * host.stride(dim)) * bytes);
  }

  TensorView host;
  ByteRange range;
  cuda::Buffer buffer;
  std::unique_ptr<std::byte[]> staging;
};

/// The tensors of one call. They outlive the work on them.
class Call {
public:
  Call(const detail::KernelCode &code, const cuda::Stream &stream)
      : code(code), stream(stream) {}

  /// Starts everything. Whatever it gives, the stream must be waited for.
  Status start(std::span<const Argument> arguments,
               std::span<const TensorView> results) {
    const Signature &signature = code.signature;
    std::vector<Argument> passed(arguments.begin(), arguments.end());
    std::vector<std::size_t> indices(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const TensorView *view = arguments[i].view();
      if (!view)
        continue;
      indices[i] = tensors.size();
      Expected<TensorView> added = add(*view);
      if (!added)
        return std::move(added).error();
      if (Status status = tensors.back().upload(stream); !status)
        return status;
      passed[i] = *added;
    }
    std::vector<TensorView> views;
    std::vector<std::size_t> written;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (int updated = signature.results[i].updates; updated >= 0) {
        written.push_back(indices[std::size_t(updated)]);
        views.push_back(*passed[std::size_t(updated)].view());
        continue;
      }
      written.push_back(tensors.size());
      Expected<TensorView> added = add(results[i]);
      if (!added)
        return std::move(added).error();
      views.push_back(*added);
    }
    if (Status status = code.launch(passed, views, stream.raw()); !status)
      return status;
    for (std::size_t index : written)
      if (Status status = tensors[index].download(stream); !status)
        return status;
    return {};
  }

  void finish() const {
    for (const DeviceTensor &tensor : tensors)
      tensor.finish();
  }

private:
  Expected<TensorView> add(const TensorView &view) {
    Expected<DeviceTensor> tensor =
        DeviceTensor::create(code.device->getDevice(), view);
    if (!tensor)
      return std::move(tensor).error();
    tensors.push_back(std::move(*tensor));
    return tensors.back().getView();
  }

  const detail::KernelCode &code;
  const cuda::Stream &stream;
  std::vector<DeviceTensor> tensors;
};
} // namespace

Status jit::runOnHostTensors(const detail::KernelCode &code,
                             std::span<const Argument> arguments,
                             std::span<const TensorView> results) {
  if (auto error = support::checkArguments(code.signature, arguments))
    return std::move(*error);
  if (auto error = support::checkResults(code.signature, arguments, results))
    return std::move(*error);
  Expected<cuda::Stream> stream = code.device->getDevice().createStream();
  if (!stream)
    return std::move(stream).error();
  Call call(code, *stream);
  Status started = call.start(arguments, results);
  Status done = stream->synchronize();
  if (!started || !done)
    return started ? done : started;
  call.finish();
  return {};
}
