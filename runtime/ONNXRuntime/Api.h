//===- Api.h - ONNX Runtime's functions, with errors as exceptions -*- C++ -*-//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNXRUNTIME_API_H
#define ATTN_RUNTIME_ONNXRUNTIME_API_H

#include "attn/element_type.h"
#include "attn/error.h"
#include "runtime/ONNXRuntime/Abi.h"

#include <concepts>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attn::ort {

/// What is thrown within this library, and turned into a Status where ONNX
/// Runtime called it.
class Failure : public std::exception {
public:
  explicit Failure(std::string message, abi::ErrorCode code = abi::fail)
      : message(std::move(message)), errorCode(code) {}
  /// With what the compiler says.
  explicit Failure(const Error &error) : Failure(formatError(error)) {}
  const char *what() const noexcept override { return message.c_str(); }
  abi::ErrorCode code() const { return errorCode; }

private:
  std::string message;
  abi::ErrorCode errorCode;
};

/// What is wrong with what a user passed.
[[noreturn]] inline void refuse(const std::string &message) {
  throw Failure(message, abi::invalidArgument);
}

/// Leaves a node to others, for a reason.
[[noreturn]] inline void decline(const std::string &reason) {
  throw Failure(reason);
}

/// A table of functions, which are called as `api(function, arguments...)`:
/// where one gives a Status, an error is thrown.
class Api {
public:
  explicit Api(const abi::Table *table) : table(table) {}

  template <int Slot, typename Result, typename... Arguments>
  auto operator()(abi::Function<Slot, Result, Arguments...> function,
                  std::type_identity_t<Arguments>... arguments) const {
    if constexpr (std::same_as<Result, abi::Status *>)
      check(call(table, function, arguments...));
    else
      return call(table, function, arguments...);
  }

  /// False where that ends in an error.
  template <int Slot, typename... Arguments>
  bool succeeds(abi::Function<Slot, abi::Status *, Arguments...> function,
                std::type_identity_t<Arguments>... arguments) const {
    abi::Status *status = call(table, function, arguments...);
    if (status)
      call(table, abi::releaseStatus, status);
    return !status;
  }

  /// The one for execution providers.
  Api ofProviders() const { return Api((*this)(abi::getEpApi)); }

  /// Runs a function that ONNX Runtime calls: nothing is thrown through it.
  template <typename Body> abi::Status *guard(Body &&body) const noexcept {
    try {
      body();
      return nullptr;
    } catch (const Failure &failure) {
      return create(failure.code(), failure.what());
    } catch (const std::exception &exception) {
      return create(abi::fail, exception.what());
    } catch (...) {
      return create(abi::fail, "an exception of an unknown type");
    }
  }

private:
  void check(abi::Status *status) const;
  abi::Status *create(abi::ErrorCode code, const char *message) const {
    return call(table, abi::createStatus, code, message);
  }

  const abi::Table *table;
};

/// Nothing for those that kernels do not take.
std::optional<ElementType> convertElementType(int type);

/// Sizes; `dynamic` where one is not known.
using Shape = std::vector<std::int64_t>;
Shape readShape(const Api &api, const abi::TensorInfo *info);
/// As "(2, 3, ?)".
std::string describe(const Shape &shape);

/// A tensor of a call. Without data if it is an optional one that is absent.
struct TensorValue {
  const void *data = nullptr;
  bool exists = false;
  std::optional<ElementType> type;
  Shape shape;
  explicit operator bool() const { return exists; }
};
TensorValue readTensor(const Api &api, const abi::Value *value);

} // namespace attn::ort

#endif // ATTN_RUNTIME_ONNXRUNTIME_API_H
