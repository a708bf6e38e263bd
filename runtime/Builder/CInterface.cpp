//===- CInterface.cpp - The host API for C --------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Builder/CInterface.h"

#include "runtime/Support/HostPool.h"
#include "runtime/Support/MessageForC.h"
#include "runtime/Support/TensorConversion.h"

#include <deque>
#include <vector>

using namespace attn;
using namespace attn::builder;
using std::string;
using support::copyForC;
using support::failNull;

struct attn_kernel {
  explicit attn_kernel(const Kernel &kernel) : kernel(kernel) { readRemarks(); }
  /// Those that are not there yet, so that the others stay where they are.
  void readRemarks() {
    for (std::size_t i = remarks.size(); i < kernel.remarks().size(); ++i)
      remarks.push_back(formatDiagnostic(kernel.remarks()[i]));
  }

  Kernel kernel;
  std::deque<string> remarks;
};

char *builder::failForC(const Error &error) {
  return copyForC(formatError(error));
}

char *builder::storeForC(const Expected<string> &text, char **result) {
  if (!text)
    return failForC(text.error());
  *result = copyForC(*text);
  return nullptr;
}

static Expected<Argument> convert(const attn_argument &argument,
                                  const string &what) {
  switch (argument.kind) {
  case ATTN_INTEGER:
    return Argument(argument.value.integer);
  case ATTN_REAL:
    return Argument(argument.value.real);
  case ATTN_TENSOR: {
    Expected<TensorView> view = support::convertTensor(
        &argument.value.tensor, /*readOnly=*/true, [&] { return what; });
    if (!view)
      return std::move(view).error();
    return Argument(*view);
  }
  }
  return Error{what + ": expected a tensor, an integer or a real, got kind " +
                   std::to_string(int(argument.kind)),
               {}};
}

//===----------------------------------------------------------------------===//
// Engines
//===----------------------------------------------------------------------===//

static EngineOptions convert(const attn_engine_options &options) {
  EngineOptions result;
  result.cacheDirectory = getText(options.cache_directory);
  result.threads = options.threads;
  result.cpu = getText(options.cpu);
  result.gpu = options.gpu;
  result.parallelFor = support::convertParallelFor(
      options.parallel_for, options.parallel_for_context);
  return result;
}

char *attn_engine_create(const attn_engine_options *options,
                         attn_engine **engine) {
  if (!engine)
    return failNull("engine");
  *engine = nullptr;
  Expected<Engine> created =
      Engine::create(options ? convert(*options) : EngineOptions());
  if (!created)
    return failForC(created.error());
  CompileOptions compileOptions;
  if (options && options->pipeline)
    compileOptions.pipeline = options->pipeline;
  compileOptions.fallBackToCPU = options && options->fall_back_to_cpu;
  *engine = new attn_engine{*created, compileOptions};
  return nullptr;
}

void attn_engine_destroy(attn_engine *engine) { delete engine; }

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Expected<ElementType> builder::convertType(const char *member,
                                           attn_element_type type) {
  if (type < ATTN_F64 || type > int(lastElementType))
    return Error{string(member) + ": there is no element type " +
                     std::to_string(int(type)),
                 {}};
  return ElementType(type);
}

Expected<Attention> builder::convert(const attn_attention &attention) {
  Expected<ElementType> type = convertType("type", attention.type);
  if (!type)
    return std::move(type).error();
  Attention result;
  result.type = *type;
  result.queryHeads = attention.query_heads;
  result.keyValueHeads = attention.key_value_heads;
  result.headSize = attention.head_size;
  result.valueHeadSize = attention.value_head_size;
  result.batch = attention.batch;
  result.queryLength = attention.query_length;
  result.keyLength = attention.key_length;
  result.logSumExp = attention.log_sum_exp;
  return result;
}

Verbatim builder::getVerbatim(const attn_attention &attention) {
  return {.arguments = getText(attention.arguments),
          .operations = getText(attention.operations),
          .clauses = getText(attention.clauses)};
}

static Expected<string> write(const attn_attention &attention) {
  Expected<Attention> converted = builder::convert(attention);
  if (!converted)
    return std::move(converted).error();
  return writeAttention(*converted, {.verbatim = getVerbatim(attention)});
}

char *attn_attention_text(const attn_attention *attention, char **text) {
  if (!text)
    return failNull("text");
  *text = nullptr;
  if (!attention)
    return failNull("attention");
  return storeForC(write(*attention), text);
}

char *attn_engine_compile(const attn_engine *engine, const char *text,
                          attn_kernel **kernel) {
  if (!kernel)
    return failNull("kernel");
  *kernel = nullptr;
  if (!engine)
    return failNull("engine");
  if (!text)
    return failNull("text");
  Expected<Kernel> compiled = engine->engine.compile(text, engine->options);
  if (!compiled)
    return failForC(compiled.error());
  *kernel = new attn_kernel(*compiled);
  return nullptr;
}

char *attn_engine_compile_attention(const attn_engine *engine,
                                    const attn_attention *attention,
                                    attn_kernel **kernel) {
  if (!kernel)
    return failNull("kernel");
  *kernel = nullptr;
  if (!attention)
    return failNull("attention");
  Expected<string> written = write(*attention);
  if (!written)
    return failForC(written.error());
  return attn_engine_compile(engine, written->c_str(), kernel);
}

void attn_kernel_destroy(attn_kernel *kernel) { delete kernel; }

char *attn_kernel_prepare(attn_kernel *kernel) {
  if (!kernel)
    return failNull("kernel");
  if (Status status = kernel->kernel.prepare(); !status)
    return failForC(status.error());
  kernel->readRemarks();
  return nullptr;
}

std::size_t attn_kernel_num_arguments(const attn_kernel *kernel) {
  return kernel ? kernel->kernel.signature().arguments.size() : 0;
}

std::size_t attn_kernel_num_results(const attn_kernel *kernel) {
  return kernel ? kernel->kernel.signature().results.size() : 0;
}

const char *attn_kernel_argument_name(const attn_kernel *kernel,
                                      std::size_t index) {
  if (index >= attn_kernel_num_arguments(kernel))
    return nullptr;
  return kernel->kernel.signature().arguments[index].name.c_str();
}

std::size_t attn_kernel_num_remarks(const attn_kernel *kernel) {
  return kernel ? kernel->remarks.size() : 0;
}

const char *attn_kernel_remark(const attn_kernel *kernel, std::size_t index) {
  return index < attn_kernel_num_remarks(kernel)
             ? kernel->remarks[index].c_str()
             : nullptr;
}

/// Calls `kernel` with the arguments and results of a call from C.
template <typename Function>
static char *call(const attn_kernel *kernel, const attn_argument *arguments,
                  std::size_t numArguments, const attn_tensor *results,
                  std::size_t numResults, const Function &function) {
  if (!kernel)
    return failNull("kernel");
  if (numArguments && !arguments)
    return failNull("arguments");
  if (numResults && !results)
    return failNull("results");
  std::vector<Argument> inputs;
  for (std::size_t i = 0; i < numArguments; ++i) {
    Expected<Argument> input =
        convert(arguments[i], "argument " + std::to_string(i));
    if (!input)
      return failForC(input.error());
    inputs.push_back(*input);
  }
  std::vector<TensorView> outputs;
  for (std::size_t i = 0; i < numResults; ++i) {
    Expected<TensorView> output =
        support::convertTensor(&results[i], /*readOnly=*/false,
                               [i] { return "result " + std::to_string(i); });
    if (!output)
      return failForC(output.error());
    outputs.push_back(*output);
  }
  Status status = function(kernel->kernel, inputs, outputs);
  return status ? nullptr : failForC(status.error());
}

char *attn_kernel_run(const attn_kernel *kernel, const attn_argument *arguments,
                      std::size_t numArguments, const attn_tensor *results,
                      std::size_t numResults) {
  return call(kernel, arguments, numArguments, results, numResults,
              [](const Kernel &kernel, std::span<const Argument> inputs,
                 std::span<const TensorView> outputs) {
                return kernel.run(inputs, outputs);
              });
}

char *attn_kernel_launch(const attn_kernel *kernel,
                         const attn_argument *arguments,
                         std::size_t numArguments, const attn_tensor *results,
                         std::size_t numResults, void *stream) {
  return call(kernel, arguments, numArguments, results, numResults,
              [stream](const Kernel &kernel, std::span<const Argument> inputs,
                       std::span<const TensorView> outputs) {
                return kernel.launch(inputs, outputs, stream);
              });
}
