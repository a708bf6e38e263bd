//===- OperationCases.cpp - What single operations give -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/OperationCases.h"

#include <cstdlib>
#include <sstream>

using namespace attn::test;

namespace {
struct Line {
  std::string_view family, body, arguments, result;
};
} // namespace

// 2^31 and 2^63 are written out, as are numbers that f32 rounds.
static const Line lines[] = {
    {"integer", "%r = arith.addi %a, %b : i8", "i8 127, i8 1", "i8 -128"},
    {"integer", "%r = arith.addi %a, %b overflow<nsw> : i8", "i8 127, i8 1",
     "i8 -128"},
    {"integer", "%r = arith.subi %a, %b : index", "index 3, index 5",
     "index -2"},
    {"integer", "%r = arith.muli %a, %b : i32", "i32 65536, i32 65536",
     "i32 0"},
    {"integer", "%r = arith.maxsi %a, %b : i8", "i8 -1, i8 1", "i8 1"},
    {"integer", "%r = arith.maxui %a, %b : i8", "i8 -1, i8 1", "i8 -1"},
    {"integer", "%r = arith.minsi %a, %b : i8", "i8 -1, i8 1", "i8 -1"},
    {"integer", "%r = arith.minui %a, %b : i8", "i8 -1, i8 1", "i8 1"},
    {"integer", "%r = arith.xori %a, %b : i8", "i8 12, i8 10", "i8 6"},
    {"integer", "%r = arith.andi %a, %b : i8", "i8 12, i8 10", "i8 8"},
    {"integer", "%r = arith.ori %a, %b : i8", "i8 12, i8 10", "i8 14"},
    {"integer", "%r, %o = arith.addui_extended %a, %b : i8, i1", "i8 -1, i8 3",
     "i8 2"},
    {"integer", "%s, %r = arith.addui_extended %a, %b : i8, i1", "i8 -1, i8 3",
     "i1 1"},
    {"integer", "%s, %r = arith.addui_extended %a, %b : i8, i1", "i8 1, i8 3",
     "i1 0"},
    {"integer", "%l, %r = arith.mulsi_extended %a, %b : i8", "i8 -1, i8 3",
     "i8 -1"},
    {"integer", "%l, %r = arith.mului_extended %a, %b : i8", "i8 -1, i8 3",
     "i8 2"},
    {"integer", "%r, %h = arith.mului_extended %a, %b : i8", "i8 -1, i8 3",
     "i8 -3"},
    {"integer", "%r = math.absi %a : i8", "i8 -5", "i8 5"},
    {"integer", "%r = math.absi %a : i8", "i8 -128", "i8 -128"},
    {"integer", "%r = math.ctlz %a : i8", "i8 1", "i8 7"},
    {"integer", "%r = math.ctlz %a : i8", "i8 0", "i8 8"},
    {"integer", "%r = math.cttz %a : i8", "i8 8", "i8 3"},
    {"integer", "%r = math.cttz %a : i8", "i8 0", "i8 8"},
    {"integer", "%r = math.ctpop %a : i8", "i8 -1", "i8 8"},
    {"integer", "%r = index.add %a, %b", "index 3, index -5", "index -2"},
    {"integer", "%r = index.sub %a, %b", "index 3, index 5", "index -2"},
    {"integer", "%r = index.mul %a, %b", "index 3, index -5", "index -15"},
    {"integer", "%r = index.and %a, %b", "index 12, index 10", "index 8"},
    {"integer", "%r = index.or %a, %b", "index 12, index 10", "index 14"},
    {"integer", "%r = index.xor %a, %b", "index 12, index 10", "index 6"},
    {"integer", "%r = index.maxs %a, %b", "index -1, index 1", "index 1"},
    {"integer", "%r = index.maxu %a, %b", "index -1, index 1", "index -1"},
    {"integer", "%r = index.mins %a, %b", "index -1, index 1", "index -1"},
    {"integer", "%r = index.minu %a, %b", "index -1, index 1", "index 1"},
    {"integer", "%r = index.sizeof", "", "index 64"},
    {"integer", "%r = index.constant 7", "", "index 7"},
    {"integer", "%r = index.bool.constant true", "", "i1 1"},
    {"integer", "%r = index.cmp slt(%a, %b)", "index -1, index 1", "i1 1"},
    {"integer", "%r = index.cmp ult(%a, %b)", "index -1, index 1", "i1 0"},
    {"integer", "%r = index.cmp sge(%a, %b)", "index 4, index 4", "i1 1"},
    {"integer", "%r = arith.cmpi eq, %a, %b : i8", "i8 3, i8 3", "i1 1"},
    {"integer", "%r = arith.cmpi ne, %a, %b : i8", "i8 3, i8 3", "i1 0"},
    {"integer", "%r = arith.cmpi slt, %a, %b : i8", "i8 -1, i8 1", "i1 1"},
    {"integer", "%r = arith.cmpi ult, %a, %b : i8", "i8 -1, i8 1", "i1 0"},
    {"integer", "%r = arith.cmpi uge, %a, %b : i8", "i8 -1, i8 1", "i1 1"},
    {"integer", "%r = arith.cmpi sgt, %a, %b : i1", "i1 0, i1 1", "i1 1"},

    {"division", "%r = arith.divsi %a, %b : i8", "i8 7, i8 -2", "i8 -3"},
    {"division", "%r = arith.divsi %a, %b : i8", "i8 7, i8 0", "i8 undefined"},
    {"division", "%r = arith.divsi %a, %b : i8", "i8 -128, i8 -1",
     "i8 undefined"},
    {"division", "%r = arith.divui %a, %b : i8", "i8 -2, i8 3", "i8 84"},
    {"division", "%r = arith.divui %a, %b : i8", "i8 -128, i8 -1", "i8 0"},
    {"division", "%r = arith.divui %a, %b : i8", "i8 7, i8 0", "i8 undefined"},
    {"division", "%r = arith.remsi %a, %b : i8", "i8 -7, i8 2", "i8 -1"},
    {"division", "%r = arith.remsi %a, %b : i8", "i8 7, i8 0", "i8 undefined"},
    {"division", "%r = arith.remsi %a, %b : i8", "i8 -128, i8 -1",
     "i8 undefined"},
    {"division", "%r = arith.remui %a, %b : i8", "i8 -2, i8 3", "i8 2"},
    {"division", "%r = arith.remui %a, %b : i8", "i8 7, i8 0", "i8 undefined"},
    {"division", "%r = arith.floordivsi %a, %b : i8", "i8 7, i8 -2", "i8 -4"},
    {"division", "%r = arith.floordivsi %a, %b : i8", "i8 -128, i8 -1",
     "i8 undefined"},
    {"division", "%r = arith.ceildivsi %a, %b : i8", "i8 7, i8 2", "i8 4"},
    {"division", "%r = arith.ceildivsi %a, %b : i8", "i8 7, i8 -2", "i8 -3"},
    {"division", "%r = arith.ceildivsi %a, %b : i8", "i8 -128, i8 -1",
     "i8 undefined"},
    {"division", "%r = arith.ceildivui %a, %b : i8", "i8 7, i8 2", "i8 4"},
    {"division", "%r = arith.ceildivui %a, %b : i8", "i8 7, i8 0",
     "i8 undefined"},
    {"division", "%r = arith.divsi %a, %b : i64",
     "i64 -9223372036854775808, i64 -1", "i64 undefined"},
    // In i1, 1 is -1, and -1 / -1 does not fit.
    {"division", "%r = arith.divsi %a, %b : i1", "i1 1, i1 1", "i1 undefined"},
    {"division", "%r = arith.divsi %a, %b : i1", "i1 0, i1 1", "i1 0"},
    {"division", "%r = arith.remsi %a, %b : i1", "i1 1, i1 0", "i1 undefined"},
    {"division", "%r = arith.divui %a, %b : i1", "i1 1, i1 1", "i1 1"},
    {"division", "%r = index.divs %a, %b", "index 7, index -2", "index -3"},
    {"division", "%r = index.divu %a, %b", "index 7, index 2", "index 3"},
    {"division", "%r = index.rems %a, %b", "index -7, index 2", "index -1"},
    {"division", "%r = index.remu %a, %b", "index 7, index 2", "index 1"},
    {"division", "%r = index.ceildivs %a, %b", "index -7, index 2", "index -3"},
    {"division", "%r = index.ceildivu %a, %b", "index 7, index 2", "index 4"},
    {"division", "%r = index.floordivs %a, %b", "index -7, index 2",
     "index -4"},
    {"division", "%r = index.floordivs %a, %b", "index -7, index 0",
     "index undefined"},
    {"division", "%r = index.remu %a, %b", "index -7, index 0",
     "index undefined"},
    {"division", "%r = math.ipowi %a, %b : i32", "i32 3, i32 4", "i32 81"},
    {"division", "%r = math.ipowi %a, %b : i32", "i32 -2, i32 31",
     "i32 -2147483648"},
    {"division", "%r = math.ipowi %a, %b : i32", "i32 0, i32 0", "i32 1"},
    {"division", "%r = math.ipowi %a, %b : i32", "i32 2, i32 -1", "i32 0"},
    {"division", "%r = math.ipowi %a, %b : i32", "i32 -1, i32 -3", "i32 -1"},
    {"division", "%r = math.ipowi %a, %b : i32", "i32 -1, i32 -4", "i32 1"},
    {"division", "%r = math.ipowi %a, %b : i32", "i32 1, i32 -4", "i32 1"},
    {"division", "%r = math.ipowi %a, %b : i32", "i32 0, i32 -1",
     "i32 undefined"},
    {"division", "%r = math.ipowi %a, %b : i64", "i64 -3, i64 31",
     "i64 -617673396283947"},
    {"division", "%r = math.ipowi %a, %b : i8", "i8 -128, i8 -1", "i8 0"},
    {"division", "%r = math.ipowi %a, %b : i1", "i1 1, i1 1", "i1 1"},

    {"shift", "%r = arith.shli %a, %b : i8", "i8 3, i8 6", "i8 -64"},
    {"shift", "%r = arith.shli %a, %b : i8", "i8 3, i8 8", "i8 undefined"},
    {"shift", "%r = arith.shli %a, %b : i8", "i8 3, i8 -1", "i8 undefined"},
    {"shift", "%r = arith.shli %a, %b : i1", "i1 1, i1 1", "i1 undefined"},
    {"shift", "%r = arith.shrsi %a, %b : i8", "i8 -64, i8 3", "i8 -8"},
    {"shift", "%r = arith.shrsi %a, %b : i8", "i8 -64, i8 8", "i8 undefined"},
    {"shift", "%r = arith.shrui %a, %b : i8", "i8 -64, i8 3", "i8 24"},
    {"shift", "%r = arith.shrui %a, %b : i8", "i8 1, i8 100", "i8 undefined"},
    {"shift", "%r = index.shl %a, %b", "index 1, index 40",
     "index 1099511627776"},
    {"shift", "%r = index.shrs %a, %b", "index -16, index 2", "index -4"},
    {"shift", "%r = index.shru %a, %b", "index -1, index 60", "index 15"},
    {"shift", "%r = index.shl %a, %b", "index 1, index 64", "index undefined"},

    {"conversion", "%r = arith.extsi %a : i8 to i32", "i8 -3", "i32 -3"},
    {"conversion", "%r = arith.extui %a : i8 to i32", "i8 -3", "i32 253"},
    {"conversion", "%r = arith.extui %a : i1 to i32", "i1 1", "i32 1"},
    {"conversion", "%r = arith.extsi %a : i1 to i32", "i1 1", "i32 -1"},
    {"conversion", "%r = arith.trunci %a : i32 to i8", "i32 300", "i8 44"},
    {"conversion", "%r = arith.index_cast %a : i8 to index", "i8 -3",
     "index -3"},
    {"conversion", "%r = arith.index_cast %a : index to i8", "index 300",
     "i8 44"},
    {"conversion", "%r = arith.index_castui %a : i8 to index", "i8 -3",
     "index 253"},
    {"conversion", "%r = index.casts %a : i32 to index", "i32 -3", "index -3"},
    {"conversion", "%r = index.castu %a : i32 to index", "i32 -3",
     "index 4294967293"},
    {"conversion", "%r = arith.sitofp %a : i8 to f64", "i8 -3", "f64 -3"},
    {"conversion", "%r = arith.uitofp %a : i8 to f64", "i8 -3", "f64 253"},
    {"conversion", "%r = arith.uitofp %a : i1 to f32", "i1 1", "f32 1"},
    {"conversion", "%r = arith.fptosi %a : f32 to i8", "f32 -3.9", "i8 -3"},
    {"conversion", "%r = arith.fptosi %a : f32 to i8", "f32 127.9", "i8 127"},
    {"conversion", "%r = arith.fptosi %a : f32 to i8", "f32 128",
     "i8 undefined"},
    {"conversion", "%r = arith.fptosi %a : f32 to i8", "f32 -128.9", "i8 -128"},
    {"conversion", "%r = arith.fptosi %a : f32 to i8", "f32 -129",
     "i8 undefined"},
    {"conversion", "%r = arith.fptosi %a : f64 to i64",
     "f64 9223372036854775808", "i64 undefined"},
    {"conversion", "%r = arith.fptosi %a : f64 to i64",
     "f64 -9223372036854775808", "i64 -9223372036854775808"},
    {"conversion", "%r = arith.fptosi %a : f32 to i32", "f32 nan",
     "i32 undefined"},
    {"conversion", "%r = arith.fptosi %a : f32 to i32", "f32 inf",
     "i32 undefined"},
    {"conversion", "%r = arith.fptoui %a : f32 to i8", "f32 255.5", "i8 -1"},
    {"conversion", "%r = arith.fptoui %a : f32 to i8", "f32 256",
     "i8 undefined"},
    {"conversion", "%r = arith.fptoui %a : f32 to i8", "f32 -0.9", "i8 0"},
    {"conversion", "%r = arith.fptoui %a : f32 to i8", "f32 -1",
     "i8 undefined"},
    {"conversion", "%r = arith.extf %a : f16 to f32", "f16 0.5", "f32 0.5"},
    {"conversion", "%r = arith.truncf %a : f64 to f32", "f64 0.1",
     "f32 0.100000001490116"},
    {"conversion", "%r = arith.truncf %a : f32 to bf16", "f32 1.00390625",
     "bf16 1"},
    {"conversion", "%r = arith.truncf %a : f32 to bf16", "f32 1.01171875",
     "bf16 1.015625"},
    {"conversion", "%r = arith.truncf %a : f32 to f16", "f32 65520", "f16 inf"},
    {"conversion", "%r = arith.bitcast %a : f32 to i32", "f32 1",
     "i32 1065353216"},
    {"conversion", "%r = arith.bitcast %a : i32 to f32", "i32 -1082130432",
     "f32 -1"},
    {"conversion", "%r = arith.bitcast %a : bf16 to f16", "bf16 1",
     "f16 1.875"},

    {"float", "%r = arith.constant 0.1 : f32", "", "f32 0.100000001490116"},
    {"float", "%r = arith.negf %a : f32", "f32 2", "f32 -2"},
    {"float", "%r = arith.addf %a, %b : f64", "f64 1, f64 2", "f64 3"},
    {"float", "%r = arith.subf %a, %b : f32", "f32 1, f32 2", "f32 -1"},
    {"float", "%r = arith.mulf %a, %b : bf16", "bf16 3, bf16 2", "bf16 6"},
    {"float", "%r = arith.divf %a, %b : f16", "f16 3, f16 2", "f16 1.5"},
    {"float", "%0 = arith.addf %a, %b : f16\n%r = arith.subf %0, %a : f16",
     "f16 2048, f16 1", "f16 0"},
    {"float", "%0 = math.exp %a : bf16\n%r = arith.subf %0, %b : bf16",
     "bf16 1, bf16 2.71875", "bf16 0"},
    {"float", "%r = arith.divf %a, %b : f32", "f32 -3, f32 0", "f32 -inf"},
    {"float", "%r = arith.remf %a, %b : f32", "f32 -7, f32 4", "f32 -3"},
    {"float", "%r = arith.maximumf %a, %b : f32", "f32 nan, f32 4", "f32 nan"},
    {"float", "%r = arith.maximumf %a, %b : f32", "f32 3, f32 4", "f32 4"},
    {"float", "%r = arith.minimumf %a, %b : f32", "f32 3, f32 nan", "f32 nan"},
    {"float", "%r = arith.minimumf %a, %b : f32", "f32 3, f32 4", "f32 3"},
    {"float", "%r = arith.maxnumf %a, %b : f32", "f32 nan, f32 4", "f32 4"},
    {"float", "%r = arith.maxnumf %a, %b : f32", "f32 5, f32 4", "f32 5"},
    {"float", "%r = arith.minnumf %a, %b : f32", "f32 3, f32 nan", "f32 3"},
    {"float", "%r = arith.minnumf %a, %b : f32", "f32 3, f32 4", "f32 3"},
    {"float", "%r = arith.cmpf olt, %a, %b : f32", "f32 3, f32 4", "i1 1"},
    {"float", "%r = arith.cmpf olt, %a, %b : f32", "f32 nan, f32 4", "i1 0"},
    {"float", "%r = arith.cmpf ult, %a, %b : f32", "f32 nan, f32 4", "i1 1"},
    {"float", "%r = arith.cmpf ord, %a, %b : f32", "f32 nan, f32 4", "i1 0"},
    {"float", "%r = arith.cmpf uno, %a, %b : f32", "f32 nan, f32 4", "i1 1"},
    {"float", "%r = arith.cmpf une, %a, %b : f32", "f32 4, f32 4", "i1 0"},
    {"float", "%r = arith.cmpf oeq, %a, %b : f32", "f32 0, f32 -0", "i1 1"},
    {"float", "%r = math.isnan %a : f32", "f32 nan", "i1 1"},
    {"float", "%r = math.isinf %a : f32", "f32 -inf", "i1 1"},
    {"float", "%r = math.isfinite %a : f32", "f32 nan", "i1 0"},
    {"float", "%r = math.isnormal %a : f32", "f32 1e-40", "i1 0"},
    {"float", "%r = math.isnormal %a : f32", "f32 1e-30", "i1 1"},
    {"float", "%r = math.isnormal %a : f16", "f16 6.1e-05", "i1 0"},
    {"float", "%r = math.isnormal %a : f16", "f16 6.2e-05", "i1 1"},
    {"float", "%r = math.isnormal %a : bf16", "bf16 nan", "i1 0"},
    {"float", "%r = math.isinf %a : f64", "f64 1e308", "i1 0"},
    {"float", "%r = math.isinf %a : f64", "f64 nan", "i1 0"},

    {"math", "%r = math.absf %a : f32", "f32 -2.5", "f32 2.5"},
    {"math", "%r = math.acos %a : f64", "f64 0.5", "f64 1.0471975511965979"},
    {"math", "%r = math.acosh %a : f64", "f64 2", "f64 1.3169578969248166"},
    {"math", "%r = math.asin %a : f64", "f64 0.5", "f64 0.52359877559829887"},
    {"math", "%r = math.asinh %a : f64", "f64 1", "f64 0.88137358701954305"},
    {"math", "%r = math.atan %a : f64", "f64 1", "f64 0.78539816339744828"},
    {"math", "%r = math.atanh %a : f64", "f64 0.5", "f64 0.54930614433405489"},
    {"math", "%r = math.atan2 %a, %b : f64", "f64 1, f64 -1",
     "f64 2.3561944901923448"},
    {"math", "%r = math.cbrt %a : f64", "f64 -27", "f64 -3"},
    {"math", "%r = math.ceil %a : f32", "f32 -2.5", "f32 -2"},
    {"math", "%r = math.clampf %a to [%b, %c] : f32", "f32 5, f32 1, f32 3",
     "f32 3"},
    {"math", "%r = math.clampf %a to [%b, %c] : f32", "f32 2, f32 1, f32 3",
     "f32 2"},
    {"math", "%r = math.clampf %a to [%b, %c] : f32", "f32 0, f32 1, f32 3",
     "f32 1"},
    {"math", "%r = math.copysign %a, %b : f32", "f32 2, f32 -0", "f32 -2"},
    {"math", "%r = math.cos %a : f64", "f64 1", "f64 0.54030230586813977"},
    {"math", "%r = math.cosh %a : f64", "f64 1", "f64 1.5430806348152437"},
    {"math", "%r = math.erf %a : f64", "f64 1", "f64 0.84270079294971489"},
    {"math", "%r = math.erfc %a : f64", "f64 1", "f64 0.15729920705028513"},
    {"math", "%r = math.exp %a : f64", "f64 1", "f64 2.7182818284590451"},
    {"math", "%r = math.exp2 %a : f64", "f64 -1", "f64 0.5"},
    {"math", "%r = math.expm1 %a : f64", "f64 1e-10", "f64 1.00000000005e-10"},
    {"math", "%r = math.expm1 %a : f64", "f64 -40", "f64 -1"},
    {"math", "%r = math.expm1 %a : f64", "f64 -0.001",
     "f64 -0.00099950016662500845"},
    {"math", "%r = math.expm1 %a : f32", "f32 1", "f32 1.7182818284590452"},
    {"math", "%r = math.floor %a : f32", "f32 -2.5", "f32 -3"},
    {"math", "%r = math.fma %a, %b, %c : f64", "f64 2, f64 3, f64 4", "f64 10"},
    {"math", "%r = math.fpowi %a, %b : f64, i32", "f64 2, i32 -2", "f64 0.25"},
    {"math", "%r = math.log %a : f64", "f64 2", "f64 0.69314718055994529"},
    {"math", "%r = math.log10 %a : f64", "f64 1000", "f64 3"},
    {"math", "%r = math.log1p %a : f64", "f64 1e-10", "f64 9.9999999995e-11"},
    {"math", "%r = math.log2 %a : f64", "f64 8", "f64 3"},
    {"math", "%r = math.powf %a, %b : f64", "f64 2, f64 0.5",
     "f64 1.4142135623730951"},
    {"math", "%r = math.round %a : f32", "f32 -2.5", "f32 -3"},
    {"math", "%r = math.roundeven %a : f32", "f32 -2.5", "f32 -2"},
    {"math", "%r = math.rsqrt %a : f64", "f64 4", "f64 0.5"},
    {"math", "%r = math.sin %a : f64", "f64 1", "f64 0.8414709848078965"},
    {"math", "%r, %k = math.sincos %a : f64", "f64 1",
     "f64 0.8414709848078965"},
    {"math", "%s, %r = math.sincos %a : f64", "f64 1",
     "f64 0.54030230586813977"},
    {"math", "%r = math.sinh %a : f64", "f64 1", "f64 1.1752011936438014"},
    {"math", "%r = math.sqrt %a : f64", "f64 2", "f64 1.4142135623730951"},
    {"math", "%r = math.tan %a : f64", "f64 1", "f64 1.5574077246549023"},
    {"math", "%r = math.tanh %a : f64", "f64 1", "f64 0.76159415595576485"},
    {"math", "%r = math.tanh %a : f32", "f32 0.5", "f32 0.46211715726"},
    {"math", "%r = math.exp %a : bf16", "bf16 1", "bf16 2.71875"},
    {"math", "%r = math.sqrt %a : f16", "f16 2", "f16 1.4140625"},
    {"math", "%r = math.trunc %a : f32", "f32 -2.5", "f32 -2"},

    // %u and %v, i8 and i1, are undefined here. What does not look at them is
    // not.
    {"logic", "%r = arith.andi %a, %v : i1", "i1 0, i8 9, i8 0", "i1 0"},
    {"logic", "%r = arith.andi %v, %a : i1", "i1 0, i8 9, i8 0", "i1 0"},
    {"logic", "%r = arith.andi %v, %a : i1", "i1 1, i8 9, i8 0",
     "i1 undefined"},
    {"logic", "%r = arith.ori %a, %v : i1", "i1 1, i8 9, i8 0", "i1 1"},
    {"logic", "%r = arith.ori %v, %a : i1", "i1 1, i8 9, i8 0", "i1 1"},
    {"logic", "%r = arith.ori %a, %v : i1", "i1 0, i8 9, i8 0", "i1 undefined"},
    {"logic", "%r = arith.xori %a, %v : i1", "i1 0, i8 9, i8 0",
     "i1 undefined"},
    {"logic", "%r = arith.andi %c, %u : i8", "i8 0, i8 9, i8 0",
     "i8 undefined"},
    {"logic", "%r = arith.ori %a, %u : i8", "i8 -1, i8 9, i8 0",
     "i8 undefined"},
    {"logic", "%r = arith.muli %c, %u : i8", "i8 0, i8 9, i8 0",
     "i8 undefined"},
    {"logic", "%r = arith.select %a, %b, %u : i8", "i1 1, i8 9, i8 0", "i8 9"},
    {"logic", "%r = arith.select %a, %b, %u : i8", "i1 0, i8 9, i8 0",
     "i8 undefined"},
    {"logic", "%r = arith.select %a, %u, %b : i8", "i1 0, i8 9, i8 0", "i8 9"},
    {"logic", "%r = arith.select %v, %b, %c : i8", "i1 0, i8 9, i8 0",
     "i8 undefined"},
    {"logic",
     "%not = arith.cmpi ne, %c, %a : i8\n"
     "%r = arith.select %not, %u, %a : i8",
     "i8 0, i8 9, i8 0", "i8 0"},
    {"logic", "%r = arith.addi %u, %a : i8", "i8 1, i8 9, i8 0",
     "i8 undefined"},

    {"poison", "%p = ub.poison : f32\n %r = arith.mulf %a, %p : f32", "f32 0",
     "f32 undefined"},
    {"poison", "%p = ub.poison : i1\n %r = arith.andi %p, %p : i1", "",
     "i1 undefined"},
    {"poison", "%p = ub.poison : i1\n %r = arith.select %p, %a, %a : i8",
     "i8 5", "i8 undefined"},

    {"load",
     "%t = arith.constant dense<[10, 20, 30]> : tensor<3xi32>\n"
     "%r = tensor.extract %t[%a] : tensor<3xi32>",
     "index 2", "i32 30"},
    {"load",
     "%t = arith.constant dense<[10, 20, 30]> : tensor<3xi32>\n"
     "%r = tensor.extract %t[%a] : tensor<3xi32>",
     "index 3", "i32 undefined"},
    {"load",
     "%t = arith.constant dense<[10, 20, 30]> : tensor<3xi32>\n"
     "%r = tensor.extract %t[%a] : tensor<3xi32>",
     "index -1", "i32 undefined"},
    {"load",
     "%t = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf16>\n"
     "%r = tensor.extract %t[%a, %b] : tensor<2x2xf16>",
     "index 1, index 0", "f16 3"},
    {"load",
     "%t = arith.constant dense<5> : tensor<i64>\n"
     "%r = tensor.extract %t[] : tensor<i64>",
     "", "i64 5"},
    {"load",
     "%t = arith.constant dense<[true, false]> : tensor<2xi1>\n"
     "%r = tensor.extract %t[%a] : tensor<2xi1>",
     "index 0", "i1 1"},
};

static TypedNumber parse(const std::string &text) {
  std::size_t space = text.find(' ');
  TypedNumber result{text.substr(0, space), std::nullopt};
  std::string number = text.substr(space + 1);
  if (number != "undefined")
    result.number = std::strtod(number.c_str(), nullptr);
  return result;
}

/// What the cases of "logic" begin with: 9 / 0.
static constexpr std::string_view undefinedValues =
    "%u = arith.divui %b, %c : i8\n%v = arith.trunci %u : i8 to i1\n";

std::vector<OperationCase>
attn::test::getOperationCases(std::string_view family) {
  std::vector<OperationCase> result;
  for (const Line &line : lines) {
    if (line.family != family)
      continue;
    OperationCase operation{
        std::string(line.body), {}, parse(std::string(line.result))};
    if (family == "logic")
      operation.body.insert(0, undefinedValues);
    std::istringstream arguments{std::string(line.arguments)};
    for (std::string argument;
         std::getline(arguments >> std::ws, argument, ',');)
      operation.arguments.push_back(parse(argument));
    result.push_back(std::move(operation));
  }
  return result;
}

std::string attn::test::describe(const OperationCase &operation) {
  std::string result = operation.body + " with";
  for (const TypedNumber &argument : operation.arguments)
    result += " " + argument.type + " " + std::to_string(*argument.number);
  return result;
}
