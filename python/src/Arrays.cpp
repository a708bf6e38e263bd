//===- Arrays.cpp - Arrays of Python as views -----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/src/Arrays.h"

#include "python/src/Errors.h"
#include "python/src/Types.h"
#include "python/src/Values.h"

#include <optional>
#include <vector>

namespace nb = nanobind;
using namespace attn;
using namespace attn::python;
using std::string;

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

namespace {

/// A type, and what it is to DLPack and to NumPy and PyTorch.
struct TypeEntry {
  ElementType type;
  nb::dlpack::dtype_code code;
  const char *name;
};

} // namespace

static constexpr TypeEntry types[] = {
    {ElementType::f64, nb::dlpack::dtype_code::Float, "float64"},
    {ElementType::f32, nb::dlpack::dtype_code::Float, "float32"},
    {ElementType::f16, nb::dlpack::dtype_code::Float, "float16"},
    {ElementType::bf16, nb::dlpack::dtype_code::Bfloat, "bfloat16"},
    {ElementType::i64, nb::dlpack::dtype_code::Int, "int64"},
    {ElementType::i32, nb::dlpack::dtype_code::Int, "int32"},
    {ElementType::i16, nb::dlpack::dtype_code::Int, "int16"},
    {ElementType::i8, nb::dlpack::dtype_code::Int, "int8"},
    {ElementType::i1, nb::dlpack::dtype_code::Bool, "bool"},
    // Codes of DLPack 1.1, which nanobind has no names for.
    {ElementType::f8e4m3fn, nb::dlpack::dtype_code(10), "float8_e4m3fn"},
    {ElementType::f8e5m2, nb::dlpack::dtype_code(12), "float8_e5m2"}};

ElementType python::parseType(const char *what, const string &name) {
  for (const TypeEntry &entry : types)
    if (name == nameOf(entry.type))
      return entry.type;
  throw nb::value_error((string(what) +
                         ": expected f64, f32, f16, bf16, i64, i32, i16, i8, "
                         "i1, f8E4M3FN or f8E5M2 as type, got '" +
                         name + "'")
                            .c_str());
}

static std::optional<ElementType> findType(nb::dlpack::dtype type) {
  for (const TypeEntry &entry : types)
    if (type.code == std::uint8_t(entry.code) && type.lanes == 1 &&
        type.bits == 8 * sizeOf(entry.type))
      return entry.type;
  return std::nullopt;
}

static const char *nameInPython(ElementType type) {
  for (const TypeEntry &entry : types)
    if (entry.type == type)
      return entry.name;
  return "?";
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// "torch.uint8", for messages, or whatever an attribute says.
static string readAttribute(nb::handle array, const char *attribute) {
  return nb::str(nb::getattr(array, attribute, nb::str("unknown"))).c_str();
}

static bool isTorchTensor(nb::handle object) {
  nb::object torch = nb::steal(PyImport_GetModule(nb::str("torch").ptr()));
  PyErr_Clear();
  return torch.is_valid() && nb::isinstance(object, torch.attr("Tensor"));
}

/// Calls `array.__dlpack__()`. An array that is read-only is not exported
/// unless its user knows a version of DLPack that says so, and old libraries do
/// not know the argument that says that.
static nb::object exportArray(nb::handle array) {
  nb::object method = array.attr("__dlpack__");
  try {
    return method(nb::arg("max_version") = nb::make_tuple(
                      nb::dlpack::major_version, nb::dlpack::minor_version));
  } catch (nb::python_error &error) {
    if (!error.matches(PyExc_TypeError))
      throw;
  }
  return method();
}

/// Whether NumPy has the type from ml_dtypes, and does not export it.
static bool isOfMlDtypes(ElementType type) {
  return type == ElementType::bf16 || isFloat8(type);
}

/// The type of an array that is not exported with it; PyTorch's of 8 bits are
/// not either.
static std::optional<ElementType> findHiddenType(nb::handle array,
                                                 bool isTorch) {
  // Names take long, so that they are asked of few: of PyTorch's floats of 8
  // bits, and of types that are not NumPy's own.
  constexpr int firstOfUsers = 256;
  if (isTorch) {
    if (nb::cast<std::size_t>(array.attr("element_size")()) != 1 ||
        !nb::cast<bool>(array.attr("is_floating_point")()))
      return std::nullopt;
  } else {
    int number;
    if (!nb::try_cast(nb::getattr(nb::getattr(array, "dtype", nb::none()),
                                  "num", nb::none()),
                      number) ||
        number < firstOfUsers)
      return std::nullopt;
  }
  string name = readAttribute(array, "dtype");
  for (const TypeEntry &entry : types)
    if (isTorch ? isFloat8(entry.type) && name == string("torch.") + entry.name
                : isOfMlDtypes(entry.type) && name == entry.name)
      return entry.type;
  return std::nullopt;
}

/// The elements of an array as integers of as many bytes.
static nb::object viewBits(nb::handle array, bool isTorch, std::size_t bytes) {
  string name = "uint" + std::to_string(8 * bytes);
  if (isTorch)
    return array.attr("view")(nb::module_::import_("torch").attr(name.c_str()));
  return array.attr("view")(name);
}

Borrowed python::borrow(nb::handle array, bool isWritten, const string &what) {
  if (!nb::hasattr(array, "__dlpack__"))
    throwError(what +
               ": expected an array that has __dlpack__, as those of "
               "NumPy and PyTorch have, got " +
               typeName(array));
  bool isTorch = isTorchTensor(array);
  std::optional<ElementType> hidden = findHiddenType(array, isTorch);
  // What PyTorch shares is the memory, without the signs.
  if (isTorch && nb::cast<bool>(array.attr("is_neg")()))
    throwError(what + ": is a view that negates its memory; pass a copy, as "
                      "resolve_neg makes it");
  nb::object capsule;
  try {
    capsule = exportArray(hidden ? viewBits(array, isTorch, sizeOf(*hidden))
                                 : nb::borrow(array));
  } catch (nb::python_error &error) {
    throwFrom(error, what + ": its memory cannot be shared");
  }
  Borrowed result;
  if (isWritten) {
    nb::ndarray<> memory;
    if (!nb::try_cast(capsule, memory, /*convert=*/false))
      throwError(what + ": is read-only, expected memory to write to");
    result.memory = nb::ndarray<nb::ro>(memory);
  } else if (!nb::try_cast(capsule, result.memory, /*convert=*/false)) {
    throwError(what + ": __dlpack__ gives " + typeName(capsule) +
               ", expected a capsule of DLPack");
  }

  const nb::ndarray<nb::ro> &memory = result.memory;
  if (memory.device_type() != nb::device::cpu::value)
    throwError(what + ": is memory of the device " +
               readAttribute(array, "device") + ", expected the CPU's");
  std::optional<ElementType> type = hidden ? hidden : findType(memory.dtype());
  if (!type)
    throwError(what + ": element type is " + readAttribute(array, "dtype") +
               ", which no kernel takes");
  std::vector<std::int64_t> sizes, strides;
  for (std::size_t dim = 0; dim < memory.ndim(); ++dim) {
    sizes.push_back(std::int64_t(memory.shape(dim)));
    strides.push_back(memory.stride(dim));
    if (strides.back() < 0 && sizes.back() > 1)
      throwError(what + ": stride of dimension " + std::to_string(dim) +
                 " is negative; pass a copy, as numpy.ascontiguousarray makes "
                 "it");
  }
  result.view =
      TensorView(memory.data(), *type, sizes, strides, /*readOnly=*/!isWritten);
  return result;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

nb::object python::viewArray(const TensorView &view, nb::handle owner) {
  bool isHidden = isOfMlDtypes(view.type());
  nb::dlpack::dtype type;
  for (const TypeEntry &entry : types)
    if (entry.type == view.type())
      type = {
          std::uint8_t(isHidden ? nb::dlpack::dtype_code::UInt : entry.code),
          std::uint8_t(8 * sizeOf(entry.type)), 1};
  std::vector<std::size_t> sizes(view.sizes().begin(), view.sizes().end());
  auto wrap = [&]<typename Memory>() {
    return nb::cast(Memory(view.data(), sizes.size(), sizes.data(), owner,
                           view.strides().data(), type),
                    nb::rv_policy::reference);
  };
  nb::object array =
      view.readOnly()
          ? wrap.template operator()<nb::ndarray<nb::numpy, nb::ro>>()
          : wrap.template operator()<nb::ndarray<nb::numpy>>();
  if (!isHidden)
    return array;
  return array.attr("view")(
      nb::module_::import_("ml_dtypes").attr(nameInPython(view.type())));
}

nb::object python::allocate(nb::handle like, ElementType type,
                            std::span<const std::int64_t> sizes) {
  nb::list shape;
  for (std::int64_t size : sizes)
    shape.append(size);
  const char *name = nameInPython(type);
  if (isTorchTensor(like)) {
    nb::module_ torch = nb::module_::import_("torch");
    return torch.attr("empty")(shape, nb::arg("dtype") = torch.attr(name),
                               nb::arg("device") = "cpu");
  }
  if (isOfMlDtypes(type)) // Makes the type known to NumPy.
    nb::module_::import_("ml_dtypes");
  return nb::module_::import_("numpy").attr("empty")(shape, name);
}
