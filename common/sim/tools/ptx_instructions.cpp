// The families of PTX instructions: their modifiers, and the function in sim/ptx.h that each calls.
#include "ptx_instruction.hpp"

#include <functional>
#include <map>
#include <optional>

namespace sim::inline_ptx {
namespace {

#define SIM_INTEGERS "u16", "s16", "u32", "s32", "u64", "s64"
#define SIM_HALVES "f16", "f16x2", "bf16", "bf16x2"
#define SIM_BITS "b16", "b32", "b64"

bool is_integer(string_view type) { return type[0] == 'u' || type[0] == 's'; }

/// add, sub, mul, mad, fma, div, rem, min, max, abs, neg
string arithmetic(instruction& i) {
  const string& name = i.name();
  const string type = i.take_type({SIM_INTEGERS, "f32", "f64", SIM_HALVES});
  const string rounding = i.take_one_of({"rn", "rz", "rm", "rp"}, "rn");
  if (rounding != "rn") i.refuse("rounding ." + rounding + " is not supported; use an intrinsic such as __fadd_rz");
  i.take("ftz");
  i.take("approx");
  i.take("full");
  if (i.take("cc")) i.refuse("carries between instructions are not supported; use a wider type");
  const bool saturates = i.take("sat");
  if (saturates && is_integer(type)) i.refuse("integer saturation is not supported");
  const bool nan = i.take("NaN");
  string part;
  if (is_integer(type) && is_one_of(name, {"mul", "mad"})) {
    part = i.take_one_of({"lo", "hi", "wide"});
    if (part.empty()) i.refuse("it has none of .lo, .hi and .wide");
    if (part == "wide" && type.ends_with("64")) i.refuse("type ." + type + " is not supported");
  }
  string function = name == "mad" && part.empty() ? "fma" : part.empty() ? name : name + "_" + part;
  if (nan) function += "_nan";
  const std::size_t operands = is_one_of(name, {"mad", "fma"}) ? 4 : is_one_of(name, {"abs", "neg"}) ? 2 : 3;
  if ((name == "rem" || name == "div") && !is_integer(type) &&
      (name == "rem" || type[0] != 'f' || type.size() != 3 || type == "f16"))
    i.refuse("type ." + type + " is not supported");
  if (name == "fma" && is_integer(type)) i.refuse("type ." + type + " is not supported");
  string code = i.simple(function, type, operands);
  if (saturates) code += " " + instruction::call("saturate", {in_ptx(type)}, {i.target(0)});
  return code;
}
string logic(instruction& i) {
  const string type = i.take_type({SIM_BITS, "pred"});
  return i.simple(i.name() + "_", type, i.name() == "not" ? 2 : 3);
}
string shift(instruction& i) { return i.simple(i.name(), i.take_type({SIM_BITS, SIM_INTEGERS}), 3); }
string funnel(instruction& i) {
  i.take_type({"b32"});
  const string side = i.take_one_of({"l", "r"}), mode = i.take_one_of({"wrap", "clamp"});
  if (side.empty() || mode.empty()) i.refuse("it has no direction and mode (.l or .r, .wrap or .clamp)");
  return i.simple("shf_" + side + "_" + mode, "", 4);
}
string permute(instruction& i) {
  i.take_type({"b32"});
  return i.simple("prmt", "", 4);
}
string lookup(instruction& i) {
  i.take_type({"b32"});
  return i.simple("lop3", "", 5);
}
string field(instruction& i) {
  return i.simple(i.name(), i.name() == "bfi" ? i.take_type({"b32", "b64"}) : i.take_type({"u32", "s32", "u64", "s64"}),
                  i.name() == "bfi" ? 5 : 4);
}
string bits(instruction& i) { return i.simple(i.name(), i.take_type({"b32", "b64", "u32", "s32", "u64", "s64"}), 2); }
string dot(instruction& i) {
  const string b = i.take_type({"u32", "s32"}), a = i.take_type({"u32", "s32"});
  if (a != b) i.refuse("its operands have two different types");
  return i.simple("dp4a_" + a + "_" + b, "", 4);
}
/// ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh
string function(instruction& i) {
  const string type = i.take_type({"f32", "f64", SIM_HALVES});
  i.take("approx");
  i.take("rn");
  i.take("ftz");
  return i.simple(i.name(), type, 2);
}

string move(instruction& i) {
  const string type = i.take_type({SIM_BITS, SIM_INTEGERS, "f32", "f64", "pred"});
  i.needs(2);
  i.done();
  if (i.at(0).is == operand::vector) {
    words arguments = {i.source(1)};
    for (const string& t : i.targets(0)) arguments.push_back(t);
    return instruction::call("unpack", {in_ptx(type)}, arguments);
  }
  words arguments = {i.target(0)};
  for (const string& s : i.sources(1)) arguments.push_back(s);
  return instruction::call(i.at(1).is == operand::vector ? "pack" : "mov", {in_ptx(type)}, arguments);
}
string select(instruction& i) {
  const string type = i.take_type({SIM_BITS, SIM_INTEGERS, "f32", "f64"});
  return i.simple("selp", type, 4);
}
/// setp.lt.f32 p, a, b; setp.lt.and.f32 p|q, a, b, c
string compare(instruction& i) {
  const string type = i.take_type({SIM_BITS, SIM_INTEGERS, "f32", "f64", "f16", "bf16"});
  i.take("ftz");
  string how = i.take_one_of({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu",
                              "gtu", "geu", "num", "nan"});
  if (how.empty()) i.refuse("it has no comparison");
  for (const auto& [unsigned_name, name] : {std::pair{"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}})
    if (how == unsigned_name) how = name;
  const string with = i.take_one_of({"and", "or", "xor"});
  i.done();
  i.needs(with.empty() ? 3 : 4);
  string result = in_ptx(how) + "<" + in_ptx(type) + ">(" + i.source(1) + ", " + i.source(2) + ")";
  const string op = with == "and" ? " && " : with == "or" ? " || " : " != ";
  const auto both = [&](const string& r) { return with.empty() ? r : r + op + i.source(3); };
  string code = i.target(0) + " = " + both(result) + ";";
  if (!i.at(0).second.empty())
    code = "{ const bool sim_compared = " + result + "; " + i.target(0) + " = " + both("sim_compared") + "; " +
           i.target(i.at(0).second[0]) + " = " + both("!sim_compared") + "; }";
  return code;
}

string convert(instruction& i) {
  const string from = i.take_last(), to = i.take_last();
  string rounding = i.take_one_of({"rni", "rzi", "rmi", "rpi", "rna", "rn", "rz", "rm", "rp"});
  if (rounding.empty()) rounding = "none";
  i.take("ftz");
  const bool finite = i.take("satfinite"), saturates = i.take("sat"), relu = i.take("relu");
  const bool pair = is_one_of(to, {"f16x2", "bf16x2", "e4m3x2", "e5m2x2"});
  const bool eight = is_one_of(to, {"e4m3x2", "e5m2x2"});
  const std::initializer_list<string_view> plain = {"u8", "s8", SIM_INTEGERS, "f16", "bf16", "f32", "f64"};
  const bool known =
      !pair ? (is_one_of(from, plain) && is_one_of(to, plain)) || (to == "tf32" && from == "f32")
            : from == "f32" || (eight && from == "f16x2") || (to == "f16x2" && is_one_of(from, {"e4m3x2", "e5m2x2"}));
  if (!known) i.refuse("from ." + from + " to ." + to);
  if (finite && !eight) i.refuse("its .satfinite");
  i.done();
  const string mode = in_ptx("round_to::") + (rounding.starts_with("rna")  ? "away"
                                              : rounding.starts_with("rn") ? "nearest"
                                              : rounding.starts_with("rz") ? "zero"
                                              : rounding.starts_with("rm") ? "down"
                                              : rounding.starts_with("rp") ? "up"
                                                                           : "nothing");
  i.needs(pair && from == "f32" ? 3 : 2);
  words arguments = {i.target(0), i.source(1)};
  if (i.count() == 3) arguments.push_back(i.source(2));
  return instruction::call(
      "cvt", {in_ptx(to), in_ptx(from), mode, saturates ? "true" : "false", relu ? "true" : "false"}, arguments);
}
/// Shared addresses are offsets, global addresses are pointers.
string convert_address(instruction& i) {
  const string type = i.take_type({"u32", "u64"});
  const bool to = i.take("to");
  const string space = i.take_one_of({"shared", "shared::cta", "shared::cluster", "global", "const", "local", "param"});
  if (space != "global" && !space.starts_with("shared")) i.refuse("this state space is not supported");
  i.needs(2);
  i.done();
  if (space == "shared::cluster")
    return instruction::call(to ? "cvta_to_cluster" : "cvta_cluster", {in_ptx(type)}, {i.target(0), i.source(1)});
  if (space == "global") return instruction::call("mov", {in_ptx(type)}, {i.target(0), i.source(1)});
  return instruction::call(to ? "cvta_to_shared" : "cvta_shared", {in_ptx(type)}, {i.target(0), i.source(1)});
}
string is_space(instruction& i) {
  const string space = i.take_one_of({"shared", "shared::cta", "shared::cluster", "global", "local"});
  if (space.empty()) i.refuse("this state space is not supported");
  i.needs(2);
  i.done();
  return instruction::call(space == "global"            ? "isspacep_global"
                           : space == "local"           ? "isspacep_local"
                           : space == "shared::cluster" ? "isspacep_cluster"
                                                        : "isspacep_shared",
                           {}, {i.target(0), i.source(1)});
}

// ---- memory

/// Generic, global or shared; others are refused.
string take_space(instruction& i) {
  for (const char* other : {"local", "const", "param", "param::func", "param::entry"})
    if (i.take(other)) i.refuse(string(".") + other + " memory is not supported");
  if (i.take("shared::cluster")) return "cluster";
  if (i.take("shared") || i.take("shared::cta")) return "shared";
  return i.take("global") ? "global" : "generic";
}
/// Hints have no effect; a cache policy is an additional operand.
void take_hints(instruction& i, std::size_t operands) {
  for (const char* hint : {"ca", "cg", "cs", "lu", "cv", "nc", "wb", "wt", "weak"}) i.take(hint);
  while (!i.take_beginning("L1::").empty()) {
  }
  while (i.take("L2::cache_hint"))
    if (i.count() > operands) i.drop_last();
  while (!i.take_beginning("L2::").empty()) {
  }
}
string take_order(instruction& i) {
  const bool is_volatile = i.take("volatile"), mmio = i.take("mmio");
  string order = i.take_one_of({"acquire", "release", "relaxed"}, is_volatile || mmio ? "relaxed" : "plain");
  i.take_one_of({"cta", "cluster", "gpu", "sys"});
  return order;
}
unsigned bytes_of(string_view type) {
  return type.ends_with("64")                                          ? 8
         : type.ends_with("32") || type == "f16x2" || type == "bf16x2" ? 4
         : type.ends_with("16")                                        ? 2
                                                                       : 1;
}
string load_or_store(instruction& i) {
  const bool loads = i.name() != "st";
  const string type = i.take_type({"b8", "u8", "s8", SIM_BITS, SIM_INTEGERS, "f32", "f64"});
  const string vector = i.take_one_of({"v2", "v4", "v8"});
  const std::size_t elements = vector.empty() ? 1 : static_cast<std::size_t>(vector[1] - '0');
  if (elements * bytes_of(type) > 16) i.refuse("an access moves at most 16 bytes on an H200");
  const string space = take_space(i), order = take_order(i);
  take_hints(i, 2);
  i.done();
  i.needs(2);
  const std::size_t memory = loads ? 1 : 0;
  const words registers = loads ? i.targets(0) : i.sources(1);
  if (registers.size() != elements) i.refuse("it needs " + std::to_string(elements) + " registers");
  words arguments = {i.address(memory, space)};
  for (const string& r : registers) arguments.push_back(r);
  return instruction::call(loads ? "ld" : "st", {in_ptx(type), in_ptx("order::" + order)}, arguments);
}
string atomic(instruction& i) {
  const bool returns = i.name() == "atom";
  const string type = i.take_last();
  const string space = take_space(i);
  take_order(i);
  i.take("acq_rel");
  i.take_one_of({"cta", "cluster", "gpu", "sys"});
  take_hints(i, returns ? 3 : 2);
  const bool noftz = i.take("noftz");
  const string vector = i.take_one_of({"v2", "v4"});
  const string op = i.take_one_of({"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"});
  i.done();
  if (op.empty()) i.refuse("it has no operation");
  if (!vector.empty()) i.refuse("vectors are not supported; use atomicAdd on a float2 or float4");
  string as = type;
  for (const auto& [bits, one] : {std::pair{"b32", "u32"}, {"b64", "u64"}, {"b16", "u16"}, {"s64", "s64"}})
    if (as == bits) as = one;
  if (as == "s64" && op == "add") as = "u64";
  const bool known = noftz                        ? op == "add" && is_one_of(as, {SIM_HALVES})
                     : op == "cas"                ? is_one_of(as, {"u16", "u32", "u64"})
                     : op == "exch"               ? is_one_of(as, {"u32", "u64"})
                     : op == "add"                ? is_one_of(as, {"u32", "s32", "u64", "f32", "f64"})
                     : op == "inc" || op == "dec" ? as == "u32"
                     : op == "min" || op == "max" ? is_one_of(as, {"u32", "s32", "u64", "s64"})
                                                  : is_one_of(as, {"u32", "u64"});
  if (!known) i.refuse("." + op + " of type ." + type);
  i.needs((op == "cas" ? 3 : 2) + (returns ? 1 : 0));
  const std::size_t memory = returns ? 1 : 0;
  words arguments = {returns ? i.target(0) : in_ptx("sink{}"), i.address(memory, space), i.source(memory + 1)};
  if (op == "cas") arguments.push_back(i.source(memory + 2));
  return instruction::call("atom_" + op + (noftz ? "_noftz" : ""), {in_ptx(as)}, arguments);
}
string prefetch(instruction& i) {
  take_space(i);
  take_hints(i, 1);
  i.take_one_of({"L1", "L2", "tensormap"});
  i.done();
  return "";
}
string policy(instruction& i) { return instruction::call("mov", {in_ptx("b64")}, {i.target(0), in_ptx("whole{0}")}); }

/// The coordinates of a box: {%0, %1}.
string coordinates(instruction& i, const operand& o, std::size_t dimensions) {
  words all;
  for (const operand& c : o.elements) all.push_back(i.source(c));
  if (all.size() != dimensions) i.refuse("it needs " + std::to_string(dimensions) + " coordinates");
  return in_ptx("box_at(") + joined(all, ", ") + ")";
}
/// cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [to], [map, {x, y}], [barrier];
/// cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [map, {x, y}], [from]; and the forms without tensors
string bulk_copy(instruction& i, bool reduces) {
  if (i.take("commit_group")) {
    i.done();
    i.needs(0);
    return instruction::call("bulk_commit", {}, {});
  }
  if (i.take("wait_group")) {
    i.take("read");  // here, a copy is written once it is read
    i.done();
    i.needs(1);
    return instruction::call("bulk_wait", {}, {i.source(0)});
  }
  if (i.take("prefetch")) return "";
  const bool tensor = i.take("tensor");
  const string dimensions = tensor ? i.take_one_of({"1d", "2d", "3d", "4d", "5d"}) : "";
  if (tensor && dimensions.empty()) i.refuse("its number of dimensions is missing (.1d to .5d)");
  i.take("tile");
  const bool in = !i.take("bulk_group");
  const bool multicast = i.take("multicast::cluster");
  if (in && !i.take("mbarrier::complete_tx::bytes"))
    i.refuse("it has neither .mbarrier::complete_tx::bytes nor .bulk_group");
  const bool hint = i.take("L2::cache_hint");
  i.take("noftz");
  string how = i.take_one_of({"add", "min", "max", "inc", "dec", "and", "or", "xor"});
  if (reduces == how.empty()) i.refuse("it has no operation, or one too many");
  if (how == "and" || how == "or" || how == "xor") how = "bit_" + how;
  how = "::sim::bulk_reduction::" + (reduces ? how : "none");
  const string type =
      reduces && !tensor
          ? i.take_type({"u8", "u16", "b32", "u32", "s32", "b64", "u64", "s64", "f16", "f32", "f64", "bf16"})
          : "u8";
  const string number = "::sim::number::" + (type == "b32" ? "u32" : type == "b64" ? "u64" : type);
  if (in) {
    if (reduces) i.refuse("into shared memory");
    const string to = i.take("shared::cluster") ? "cluster" : i.take("shared::cta") ? "shared" : "";
    const string from = i.take("global") ? "global" : i.take("shared::cta") ? "shared" : "";
    if (to.empty() || from.empty()) i.refuse("it copies from .global to .shared::cluster");
    i.done();
    if (hint) i.drop_last();
    const std::size_t barrier = tensor ? 2 : 3;
    i.needs(barrier + (multicast ? 2 : 1));
    const string ranks = multicast ? i.source(barrier + 1) : in_ptx("whole{0}");
    if (!tensor)
      return instruction::call("bulk_copy_in", {},
                               {i.address(0, to), i.address(1, from), i.source(2), i.address(3, to), ranks});
    return instruction::call(
        "tensor_copy_in", {},
        {i.address(0, to), i.address(1, "generic"),
         coordinates(i, i.at(1), static_cast<std::size_t>(dimensions[0] - '0')), i.address(2, to), ranks});
  }
  if (!i.take("global") || !i.take("shared::cta")) i.refuse("it copies from .shared::cta to .global");
  i.done();
  if (hint) i.drop_last();
  i.needs(tensor ? 2 : 3);
  if (!tensor)
    return instruction::call("bulk_copy_out", {how, number},
                             {i.address(0, "global"), i.address(1, "shared"), i.source(2)});
  return instruction::call(
      "tensor_copy_out", {how},
      {i.address(0, "generic"), coordinates(i, i.at(0), static_cast<std::size_t>(dimensions[0] - '0')),
       i.address(1, "shared")});
}
/// cp.async.cg.shared.global [to], [from], 16{, bytes to read}{, policy};
string copy(instruction& i) {
  const bool reduces = i.take("reduce");
  if (!i.take("async")) i.refuse("it is unknown");
  if (i.take("bulk")) return bulk_copy(i, reduces);
  if (i.take("commit_group")) {
    i.done();
    i.needs(0);
    return instruction::call("cp_async_commit_group", {}, {});
  }
  if (i.take("wait_all")) {
    i.done();
    i.needs(0);
    return instruction::call("cp_async_wait_all", {}, {});
  }
  if (i.take("wait_group")) {
    i.done();
    i.needs(1);
    return instruction::call("cp_async_wait_group", {}, {i.source(0)});
  }
  if (i.take("mbarrier")) {
    const bool counts = i.take("noinc");
    i.take_type({"b64"});
    if (!i.take("arrive")) i.refuse("it is unknown");
    const string space = take_space(i);
    i.done();
    i.needs(1);
    return instruction::call("cp_async_mbarrier_arrive", {}, {i.address(0, space), counts ? "true" : "false"});
  }
  const string cache = i.take_one_of({"ca", "cg"});
  if (cache.empty()) i.refuse("it has neither .ca nor .cg");
  if (i.take("shared::cluster") || (!i.take("shared") && !i.take("shared::cta")) || !i.take("global"))
    i.refuse("it must copy from .global to .shared");
  const bool hint = i.take("L2::cache_hint");
  if (hint && i.count() > 3) i.drop_last();
  while (!i.take_beginning("L2::").empty()) {
  }
  i.done();
  i.needs(3, 4);
  const string bytes = i.source(2);
  return instruction::call(
      "cp_async", {}, {i.address(0, "shared"), i.address(1, "global"), bytes, i.count() == 4 ? i.source(3) : bytes});
}

// ---- matrices

string matrices(instruction& i) {
  i.take("sync");
  i.take("aligned");
  i.take_type({"b16"});
  if (!i.take("m8n8")) i.refuse("only shape .m8n8 is supported");
  const string count = i.take_one_of({"x1", "x2", "x4"});
  const bool transposed = i.take("trans");
  const string space = take_space(i);
  i.done();
  i.needs(2);
  const bool loads = i.name() == "ldmatrix";
  const words registers = loads ? i.targets(0) : i.sources(1);
  if (count.empty() || registers.size() != static_cast<std::size_t>(count[1] - '0'))
    i.refuse("it needs " + (count.empty() ? ".x1, .x2 or .x4" : count.substr(1) + " registers"));
  words arguments = {i.address(loads ? 1 : 0, space)};
  for (const string& r : registers) arguments.push_back(r);
  return instruction::call(i.name(), {transposed ? "true" : "false"}, arguments);
}

struct mma_shape {
  unsigned m, n, k;
};
std::optional<mma_shape> take_shape(instruction& i) {
  const string shape = i.take_beginning("m");
  const std::size_t n = shape.find('n'), k = shape.find('k');
  if (n == string::npos || k == string::npos) return std::nullopt;
  const auto number = [&](std::size_t from, std::size_t to) {
    unsigned value = 0;
    for (; from < to; ++from) value = value * 10 + static_cast<unsigned>(shape[from] - '0');
    return value;
  };
  return mma_shape{number(1, n), number(n + 1, k), number(k + 1, shape.size())};
}
unsigned element_bits(string_view type) {
  return type == "f64"                                   ? 64
         : is_one_of(type, {"f16", "bf16"})              ? 16
         : is_one_of(type, {"s4", "u4"})                 ? 4
         : is_one_of(type, {"s8", "u8", "e4m3", "e5m2"}) ? 8
                                                         : 32;
}
/// mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c;
string multiply(instruction& i) {
  if (!i.take("sync")) i.refuse("it has no .sync");
  i.take("aligned");
  if (i.take("sp") || i.take("sp::ordered_metadata")) i.refuse("sparse matrices are not supported; use dense ones");
  i.take_beginning("kind::");
  const std::optional<mma_shape> shape = take_shape(i);
  if (!shape) i.refuse("it has no shape");
  const bool saturates = i.take("satfinite");
  const string c = i.take_last(), b = i.take_last(), a = i.take_last(), d = i.take_last();
  if (!i.take("row") || !i.take("col")) i.refuse("only .row.col is supported");
  i.done();
  i.needs(4);
  const bool integers = is_one_of(a, {"s8", "u8", "s4", "u4"}), eight = is_one_of(a, {"e4m3", "e5m2"});
  const bool sums = c == d && (a == "f64"                       ? d == "f64"
                               : integers                       ? d == "s32"
                               : is_one_of(a, {"f16"}) || eight ? is_one_of(d, {"f16", "f32"})
                                                                : is_one_of(a, {"bf16", "tf32"}) && d == "f32");
  const bool pair = a == b ||
                    (integers && is_one_of(b, {"s8", "u8", "s4", "u4"}) && element_bits(a) == element_bits(b)) ||
                    (eight && is_one_of(b, {"e4m3", "e5m2"}));
  if (!sums || !pair) i.refuse("the types ." + d + "." + a + "." + b + "." + c + " are not supported");
  const mma_shape& s = *shape;
  const bool of_16 = s.m == 16 && s.n == 8 && is_one_of(a, {"f16", "bf16"}) && (s.k == 8 || s.k == 16);
  const bool known = of_16 || (s.m == 16 && s.n == 8 && a == "tf32" && (s.k == 4 || s.k == 8)) ||
                     (s.m == 16 && s.n == 8 && element_bits(a) == 8 && (s.k == 16 || s.k == 32)) ||
                     (s.m == 16 && s.n == 8 && element_bits(a) == 4 && (s.k == 32 || s.k == 64)) ||
                     (s.m == 8 && s.n == 8 && integers && s.k == 128 / element_bits(a)) ||
                     (s.m == 8 && s.n == 8 && a == "f64" && s.k == 4);
  if (!known)
    i.refuse("the shape m" + std::to_string(s.m) + "n" + std::to_string(s.n) + "k" + std::to_string(s.k) +
             " is not supported for ." + a);
  const auto registers = [&](unsigned elements, string_view type) {
    return type == "f64" ? elements / 32 : elements * element_bits(type) / 1024;
  };
  const words rd = i.targets(0), ra = i.sources(1), rb = i.sources(2), rc = i.sources(3);
  const unsigned nd = registers(s.m * s.n, d == "s32" ? "f32" : d);
  if (rd.size() != nd || rc.size() != nd || ra.size() != registers(s.m * s.k, a) ||
      rb.size() != registers(s.k * s.n, b))
    i.refuse("it needs " + std::to_string(nd) + ", " + std::to_string(registers(s.m * s.k, a)) + ", " +
             std::to_string(registers(s.k * s.n, b)) + " and " + std::to_string(nd) + " registers");
  const auto element = [](const string& type) { return "::sim::element::" + type; };
  const auto fragment = [](const char* size, const words& all) {
    return in_ptx("fragment_of<") + size + ">(" + joined(all, ", ") + ")";
  };
  words arguments = {in_ptx("mma<") + element(a) + ", " + element(b) + ", " + element(d) + ", " + std::to_string(s.m) +
                     ", " + std::to_string(s.n) + ", " + std::to_string(s.k) + ", " + (saturates ? "true" : "false") +
                     ">(" + fragment("4", ra) + ", " + fragment("2", rb) + ", " + fragment("4", rc) + ")"};
  for (const string& r : rd) arguments.push_back(r);
  return instruction::call("put_fragment", {}, arguments);
}

/// wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {d}, a, b, add, 1, 1, 0, 1; fence, commit_group, wait_group
string warpgroup(instruction& i) {
  i.take("sync");
  i.take("aligned");
  if (i.take("fence")) {
    i.done();
    i.needs(0);
    return "";
  }
  if (i.take("commit_group")) {
    i.done();
    i.needs(0);
    return instruction::call("wgmma_commit", {}, {});
  }
  if (i.take("wait_group")) {
    i.done();
    i.needs(1);
    return instruction::call("wgmma_wait", {}, {i.source(0)});
  }
  if (!i.take("mma_async")) i.refuse("it is unknown");
  if (i.take("sp")) i.refuse("of sparse matrices; use dense ones");
  const std::optional<mma_shape> shape = take_shape(i);
  if (!shape) i.refuse("it has no shape");
  const bool saturates = i.take("satfinite");
  const string b = i.take_last(), a = i.take_last(), d = i.take_last();
  i.done();
  const bool integers = is_one_of(a, {"s8", "u8"}), eight = is_one_of(a, {"e4m3", "e5m2"}),
             halves = is_one_of(a, {"f16", "bf16"});
  const bool types =
      integers ? d == "s32" && is_one_of(b, {"s8", "u8"})
      : eight  ? is_one_of(d, {"f16", "f32"}) && is_one_of(b, {"e4m3", "e5m2"})
               : a == b && (a == "f16" ? is_one_of(d, {"f16", "f32"}) : is_one_of(a, {"bf16", "tf32"}) && d == "f32");
  if (!types) i.refuse("the types ." + d + "." + a + "." + b);
  const mma_shape& s = *shape;
  if (s.m != 64 || s.n % 8 != 0 || s.n == 0 || s.n > 256 || s.k != 256 / element_bits(a))
    i.refuse("the shape m" + std::to_string(s.m) + "n" + std::to_string(s.n) + "k" + std::to_string(s.k) + " of ." + a);
  const words rd = i.targets(0), ra = i.sources(1);
  const unsigned registers = d == "f16" ? s.n / 4 : s.n / 2;
  if (rd.size() != registers || (ra.size() != 1 && ra.size() != 4))
    i.refuse("it needs " + std::to_string(registers) + " registers for sums, and four for A or its descriptor");
  // Rows of f16 and bf16 factors may run along m and n, A's only in shared memory.
  const std::size_t scales = integers ? 0 : 2, turns = !halves ? 0 : ra.size() == 4 ? 1 : 2;
  i.needs(4, 4 + scales + turns);
  if (i.count() != 4 && i.count() != 4 + scales && i.count() != 4 + scales + turns)
    i.refuse("it has too few or too many operands");
  const auto option = [&](std::size_t at, const char* otherwise) {
    return at < i.count() ? i.source(at) : in_ptx(string("whole{") + otherwise + "}");
  };
  const string zero = in_ptx("whole{0}"), one = in_ptx("whole{1}");
  const auto element = [](const string& type) { return "::sim::element::" + type; };
  words arguments = {in_ptx("factor_of(") + joined(ra, ", ") + ")", i.source(2),
                     in_ptx("options(") + in_ptx("is_true(") + i.source(3) + "), " +
                         (scales ? option(4, "1") + ", " + option(5, "1") : one + ", " + one) + ", " +
                         (turns == 2 ? option(6, "0") : zero) + ", " +
                         (turns == 2   ? option(7, "0")
                          : turns == 1 ? option(6, "0")
                                       : zero) +
                         ")"};
  for (const string& r : rd) arguments.push_back(r);
  return instruction::call(
      "wgmma", {element(a), element(b), element(d), std::to_string(s.n), saturates ? "true" : "false"}, arguments);
}

// ---- barriers, warps, control

string barrier(instruction& i) {
  if (i.take("cluster")) {
    const string what = i.take_one_of({"arrive", "wait"});
    i.take_one_of({"release", "relaxed", "acquire"});
    i.take("aligned");
    i.done();
    i.needs(0);
    if (what.empty()) i.refuse("use .arrive or .wait");
    return instruction::call("cluster_" + what, {}, {});
  }
  i.take("cta");
  i.take("aligned");
  if (i.take("warp")) {
    if (!i.take("sync")) i.refuse("it has no .sync");
    i.done();
    i.needs(1);
    return "::__syncwarp(" + in_ptx("as<unsigned>(") + i.source(0) + "));";
  }
  const string what = i.take_one_of({"sync", "arrive"});
  if (what.empty()) i.refuse("use .sync, .arrive, or __syncthreads_or and similar functions");
  i.done();
  i.needs(what == "sync" ? 1 : 2, 2);
  if (i.count() == 1 && i.source(0) == in_ptx("whole{0}")) return "::__syncthreads();";
  words arguments = {i.source(0)};
  if (i.count() == 2) arguments.push_back(i.source(1));
  return instruction::call(what == "sync" ? "bar_sync" : "bar_arrive", {}, arguments);
}
/// mbarrier.arrive.shared.b64 state, [address], count; and so on
string memory_barrier(instruction& i) {
  i.take_type({"b64"});
  if (i.take("pending_count")) return i.simple("mbarrier_pending_count", "", 2);
  const string space = take_space(i);
  i.take_one_of({"relaxed", "acquire", "release"});
  i.take_one_of({"cta", "cluster"});
  const string what =
      i.take_one_of({"init", "inval", "arrive", "arrive_drop", "complete_tx", "test_wait", "try_wait", "expect_tx"});
  const string zero = in_ptx("whole{0}"), one = in_ptx("whole{1}");
  if (what == "init") {
    i.done();
    i.needs(2);
    return instruction::call("mbarrier_init", {}, {i.address(0, space), i.source(1)});
  }
  if (what == "inval") {
    i.done();
    i.needs(1);
    return instruction::call("mbarrier_inval", {}, {i.address(0, space)});
  }
  if (what == "complete_tx") {
    i.done();
    i.needs(2);
    return instruction::call("mbarrier_complete", {}, {i.address(0, space), i.source(1)});
  }
  if (what == "expect_tx") {
    i.done();
    i.needs(2);
    return instruction::call("mbarrier_arrive", {}, {in_ptx("sink{}"), i.address(0, space), zero, zero, i.source(1)});
  }
  if (what == "arrive" || what == "arrive_drop") {
    if (i.take("expect_tx")) {
      i.done();
      i.needs(3);
      return instruction::call("mbarrier_arrive", {},
                               {i.target(0), i.address(1, space), one, what == "arrive" ? zero : one, i.source(2)});
    }
    i.take("noComplete");
    i.done();
    i.needs(2, 3);
    const string count = i.count() == 3 ? i.source(2) : one;
    return instruction::call("mbarrier_arrive", {},
                             {i.target(0), i.address(1, space), count, what == "arrive" ? zero : count, zero});
  }
  if (what.empty()) i.refuse("it is unknown");
  const bool parity = i.take("parity");
  i.done();
  i.needs(3, what == "try_wait" ? 4 : 3);
  return instruction::call(parity ? "mbarrier_wait_parity" : "mbarrier_wait", {},
                           {i.target(0), i.address(1, space), i.source(2)});
}
/// mapa.shared::cluster.u32 there, here, rank; getctarank.shared::cluster.u32 rank, there;
string in_cluster(instruction& i) {
  const string type = i.take_type({"u32", "u64"});
  const bool window = i.take("shared::cluster");
  i.done();
  const bool maps = i.name() == "mapa";
  i.needs(maps ? 3 : 2);
  words arguments = {i.target(0), i.source(1)};
  if (maps) arguments.push_back(i.source(2));
  return instruction::call(i.name(), {in_ptx(type), window ? "true" : "false"}, arguments);
}
string fence(instruction& i) {
  while (!i.take_beginning("").empty()) {
  }
  return instruction::call("fence", {}, {});
}
string dependency(instruction& i) {
  const string what = i.take_one_of({"wait", "launch_dependents"});
  i.done();
  i.needs(0);
  if (what.empty()) i.refuse("use .wait or .launch_dependents");
  return instruction::call("dependency", {what == "wait" ? "true" : "false"}, {});
}
string shuffle(instruction& i) {
  if (!i.take("sync")) i.refuse("without .sync");
  i.take_type({"b32"});
  const string mode = i.take_one_of({"up", "down", "bfly", "idx"});
  if (mode.empty()) i.refuse("it has no mode");
  i.done();
  i.needs(5);
  const string in_range = i.at(0).second.empty() ? in_ptx("sink{}") : i.target(i.at(0).second[0]);
  return instruction::call("shfl", {in_ptx("shuffle_mode::" + mode)},
                           {i.target(0), in_range, i.source(1), i.source(2), i.source(3), i.source(4)});
}
string vote(instruction& i) {
  if (!i.take("sync")) i.refuse("without .sync");
  const string mode = i.take_one_of({"all", "any", "uni", "ballot"});
  i.take_type({"pred", "b32"});
  return i.simple("vote_" + mode, "", 3);
}
string active(instruction& i) {
  i.take_type({"b32"});
  return i.simple("activemask", "", 1);
}
string match(instruction& i) {
  if (!i.take("any") || !i.take("sync")) i.refuse("only match.any.sync is supported");
  return i.simple("match_any", i.take_type({"b32", "b64"}), 3);
}
string reduce(instruction& i) {
  if (!i.take("sync")) i.refuse("without .sync");
  const string type = i.take_type({"u32", "s32", "b32"});
  const string op = i.take_one_of({"add", "min", "max", "and", "or", "xor"});
  if (op.empty()) i.refuse("it has no operation");
  return i.simple("redux_" + op, type == "b32" ? "u32" : type, 3);
}
string elect(instruction& i) {
  i.take("sync");
  i.done();
  i.needs(2);
  if (i.at(0).second.empty()) i.refuse("it has no predicate");
  return instruction::call("elect", {}, {i.target(0), i.target(i.at(0).second[0]), i.source(1)});
}
string nap(instruction& i) {
  i.take_type({"u32"});
  i.needs(1);
  i.done();
  return "::__nanosleep(" + in_ptx("as<unsigned>(") + i.source(0) + "));";
}

}  // namespace

family family_of(string_view name) {
  static const auto& all = *new std::map<string, family, std::less<>>{
      {"add", arithmetic},
      {"sub", arithmetic},
      {"mul", arithmetic},
      {"mad", arithmetic},
      {"fma", arithmetic},
      {"div", arithmetic},
      {"rem", arithmetic},
      {"min", arithmetic},
      {"max", arithmetic},
      {"abs", arithmetic},
      {"neg", arithmetic},
      {"and", logic},
      {"or", logic},
      {"xor", logic},
      {"not", logic},
      {"shl", shift},
      {"shr", shift},
      {"shf", funnel},
      {"prmt", permute},
      {"lop3", lookup},
      {"bfe", field},
      {"bfi", field},
      {"popc", bits},
      {"clz", bits},
      {"brev", bits},
      {"bfind", bits},
      {"dp4a", dot},
      {"ex2", function},
      {"lg2", function},
      {"rcp", function},
      {"rsqrt", function},
      {"sqrt", function},
      {"sin", function},
      {"cos", function},
      {"tanh", function},
      {"mov", move},
      {"selp", select},
      {"setp", compare},
      {"cvt", convert},
      {"cvta", convert_address},
      {"isspacep", is_space},
      {"ld", load_or_store},
      {"ldu", load_or_store},
      {"st", load_or_store},
      {"atom", atomic},
      {"red", atomic},
      {"prefetch", prefetch},
      {"prefetchu", prefetch},
      {"discard", prefetch},
      {"applypriority", prefetch},
      {"createpolicy", policy},
      {"cp", copy},
      {"ldmatrix", matrices},
      {"stmatrix", matrices},
      {"mma", multiply},
      {"wgmma", warpgroup},
      {"mapa", in_cluster},
      {"getctarank", in_cluster},
      {"setmaxnreg", [](instruction&) -> string { return ""; }},
      {"griddepcontrol", dependency},
      {"bar", barrier},
      {"barrier", barrier},
      {"mbarrier", memory_barrier},
      {"membar", fence},
      {"fence", fence},
      {"shfl", shuffle},
      {"vote", vote},
      {"activemask", active},
      {"match", match},
      {"redux", reduce},
      {"elect", elect},
      {"nanosleep", nap},
      {"trap", [](instruction&) -> string { return "::__trap();"; }},
      {"brkpt", [](instruction&) -> string { return ""; }},
  };
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace sim::inline_ptx
