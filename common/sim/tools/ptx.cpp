// Tokens, registers, labels and statements of inline PTX.
#include "ptx.hpp"

#include <functional>
#include <map>
#include <set>

#include "ptx_instruction.hpp"

namespace sim {
namespace {

using namespace inline_ptx;

// ---- refused instructions, and what to use instead. The first match decides.

struct advice {
  string_view what, instead;
};
constexpr advice not_simulated[] = {
    {"st.async", "st, and an arrival at the mbarrier"},
    {"red.async", "red, and an arrival at the mbarrier"},
    {"st.bulk", "a loop that stores zeros"},
    {"multimem", "one device's memory: several devices are not simulated"},
    {"tcgen05", "mma.sync"},
    {"wmma", "mma.sync, or wmma::mma_sync (mma.h)"},
    {"tex", "a pointer: textures are not simulated"},
    {"suld", "a pointer: surfaces are not simulated"},
    {"sust", "a pointer: surfaces are not simulated"},
    {"call", "a function of CUDA C++"},
    {"brx", "a switch of CUDA C++"},
};

/// Tokens of PTX: words with their dots (`ld.global.v4.f32`, `%tid.x`, `shared::cta`), numbers, single characters.
words tokens_of_ptx(const string& text) {
  words tokens;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++i;
    } else if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.compare(i, 2, "/*") == 0) {
      const std::size_t end = text.find("*/", i + 2);
      i = end == string::npos ? text.size() : end + 2;
    } else if (is_word(c) || c == '.' || c == '%') {
      std::size_t end = i + 1;
      while (end < text.size() &&
             (is_word(text[end]) || text[end] == '.' ||
              (text.compare(end, 2, "::") == 0 && end + 2 < text.size() && is_word(text[end + 2]))))
        end += text[end] == ':' ? 2 : 1;
      tokens.push_back(text.substr(i, end - i));
      i = end;
    } else {
      tokens.emplace_back(1, c);
      ++i;
    }
  }
  return tokens;
}

// Special registers that are functions in sim/ptx.h, by name without %; the others are expressions.
const std::map<string, string, std::less<>>& special_registers() {
  static const auto& all = *[] {
    auto* table = new std::map<string, string, std::less<>>;
    for (const char* name :
         {"laneid", "warpid", "nwarpid", "smid", "nsmid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt",
          "lanemask_ge", "clock", "clock_hi", "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi",
          "cluster_ctarank", "cluster_nctarank", "is_explicit_cluster"})
      (*table)[name] = in_ptx(name) + "()";
    for (const auto& [ptx, cuda] :
         {std::pair{"tid", "threadIdx"}, {"ntid", "blockDim"}, {"ctaid", "blockIdx"}, {"nctaid", "gridDim"}})
      for (const char* axis : {".x", ".y", ".z"}) (*table)[string(ptx) + axis] = string("::") + cuda + axis;
    for (const auto& [ptx, function] : {std::pair{"cluster_ctaid", "::sim::rank_in_cluster"},
                                        {"cluster_nctaid", "::sim::cluster_shape"},
                                        {"clusterid", "::sim::ptx::cluster_index"},
                                        {"nclusterid", "::sim::ptx::cluster_count"}})
      for (const char axis : {'x', 'y', 'z'})
        (*table)[string(ptx) + "." + axis] = in_ptx("component<") + function + ">('" + axis + "')";
    return table;
  }();
  return all;
}

// ---- statements

class translator {
 public:
  translator(const string& text, const std::vector<asm_operand>& operands)
      : tokens_(tokens_of_ptx(text)), operands_(operands) {}

  string run() {
    scopes_.emplace_back();
    string code = block();
    if (at_ < tokens_.size()) refuse("there is one } too many");
    return code;
  }

 private:
  [[noreturn]] static void refuse(const string& reason) {
    throw cannot_translate{"cannot parse inline PTX: " + reason};
  }
  string_view here(std::size_t ahead = 0) const {
    return at_ + ahead < tokens_.size() ? string_view(tokens_[at_ + ahead]) : string_view();
  }
  bool skip(string_view token) {
    if (here() != token) return false;
    ++at_;
    return true;
  }
  void expect(string_view token) {
    if (!skip(token))
      refuse("'" + string(token) + "' is missing" + (at_ < tokens_.size() ? " before '" + tokens_[at_] + "'" : ""));
  }

  string block() {
    string code, labels;
    while (at_ < tokens_.size() && here() != "}") {
      if (skip(";")) continue;
      if (skip("{")) {
        scopes_.emplace_back();
        code += "{ " + block() + "} ";
        scopes_.pop_back();
        expect("}");
      } else if (here() == ".reg") {
        code += registers();
      } else if (here(1) == ":") {
        const string name = label(here());
        at_ += 2;
        labels += (labels.empty() ? "__label__ " : ", ") + name;
        code += name + ":; ";
      } else {
        code += statement();
      }
    }
    return labels.empty() ? code : labels + "; " + code;
  }

  static string label(string_view name) { return "sim_label_" + cleaned(name); }
  static string cleaned(string_view name) {
    string result;
    for (const char c : name) result += is_word(c) && c != '$' ? c : '_';
    return result;
  }

  /// .reg .b32 a, b<4>;
  string registers() {
    ++at_;
    string type(here());
    ++at_;
    if (type == ".v2" || type == ".v4") refuse("registers of type " + type + " are not supported");
    static const std::map<string, string, std::less<>> types = {
        {".pred", "bool"}, {".b16", "b16"}, {".u16", "b16"},   {".s16", "b16"},    {".f16", "b16"},
        {".bf16", "b16"},  {".b8", "b8"},   {".u8", "b8"},     {".s8", "b8"},      {".b32", "b32"},
        {".u32", "b32"},   {".s32", "b32"}, {".f16x2", "b32"}, {".bf16x2", "b32"}, {".b64", "b64"},
        {".u64", "b64"},   {".s64", "b64"}, {".f32", "f32"},   {".f64", "f64"}};
    const auto found = types.find(type);
    if (found == types.end()) refuse("registers of type " + type + " are not supported");
    string code;
    do {
      const string name(here());
      ++at_;
      if (name.empty() || (!is_word(name[0]) && name[0] != '%')) refuse("a register has no name");
      words names = {name};
      if (skip("<")) {
        const string number(here());
        ++at_;
        expect(">");
        if (number.empty() || number.size() > 3 || !std::all_of(number.begin(), number.end(), is_digit))
          refuse("the number of registers must be between 0 and 999");
        names.clear();
        for (int n = 0; n < std::stoi(number); ++n) names.push_back(name + std::to_string(n));
      }
      for (const string& n : names) {
        scopes_.back().insert(n);
        code += (found->second == "bool" ? "bool" : in_ptx(found->second)) + " " + register_name(n) +
                "; static_cast<void>(" + register_name(n) + "); ";
      }
    } while (skip(","));
    expect(";");
    return code;
  }
  static string register_name(string_view name) { return "sim_register_" + cleaned(name); }
  bool is_declared(string_view name) const {
    return std::any_of(scopes_.begin(), scopes_.end(), [&](const auto& s) { return s.contains(string(name)); });
  }

  string statement() {
    string condition;
    if (skip("@")) {
      const bool negated = skip("!");
      const operand p = primary();
      condition = string("if (") + (negated ? "!" : "") + p.code + ") ";
    }
    const string opcode(here());
    if (opcode.empty() || !std::isalpha(static_cast<unsigned char>(opcode[0])))
      refuse("'" + opcode + "' is not an instruction");
    ++at_;
    if (opcode == "bra" || opcode == "bra.uni") {
      const string target = label(here());
      ++at_;
      expect(";");
      return condition + "goto " + target + "; ";
    }
    for (const advice& a : not_simulated)
      if (opcode.starts_with(a.what) && (opcode.size() == a.what.size() || opcode[a.what.size()] == '.'))
        throw cannot_translate{"inline PTX (" + opcode + ") is not simulated; use " + string(a.instead)};
    const string name = opcode.substr(0, opcode.find('.'));
    const family translate = family_of(name);
    if (translate == nullptr)
      throw cannot_translate{"inline PTX (" + opcode + ") is not simulated; rewrite it in CUDA C++"};
    std::vector<operand> list;
    if (here() != ";") do
        list.push_back(one_operand());
      while (skip(","));
    expect(";");
    instruction i(opcode, std::move(list));
    return condition + "{ " + translate(i) + " } ";
  }

  operand one_operand() {
    if (skip("{")) {
      operand v;
      v.is = operand::vector;
      do v.elements.push_back(primary());
      while (skip(","));
      expect("}");
      return v;
    }
    if (skip("[")) {
      const operand base = primary();
      operand m;
      m.is = operand::memory;
      m.code = base.code;
      for (;;) {
        const bool minus = here() == "-";
        if (!minus && here() != "+") break;
        ++at_;
        const operand more = primary();
        if (!more.immediate) {  // [%0+%1]: an operand "n"
          m.offset += (minus ? " - " : " + ") + in_ptx("as<long long>(") + more.code + ")";
          continue;
        }
        m.offset += (minus ? " - " : " + ") + more.code + ".value";
      }
      if (skip(",")) {  // the coordinates of a tensor copy
        expect("{");
        do m.elements.push_back(primary());
        while (skip(","));
        expect("}");
      }
      expect("]");
      return m;
    }
    operand o = primary();
    if (skip("|")) o.second.push_back(primary());
    return o;
  }

  /// A register, special register, number or _.
  operand primary() {
    operand o;
    if (skip("_")) {
      o.is = operand::sink;
      return o;
    }
    if (skip("!")) {
      o = primary();
      o.code = "!" + o.code;
      o.writable = false;
      return o;
    }
    const bool minus = skip("-");
    const string token(here());
    if (token.empty()) refuse("it ends within an instruction");
    ++at_;
    if (is_digit(token[0])) return number(token, minus);
    if (minus) refuse("'-' must come before a number");
    if (is_declared(token)) {
      o.code = register_name(token);
      o.writable = true;
      return o;
    }
    if (token[0] == '%' && token.size() > 1 && is_digit(token[1])) {
      std::size_t index = 0;
      for (const char c : token.substr(1)) {
        if (!is_digit(c) || index > 1000) refuse("'" + token + "'");
        index = index * 10 + static_cast<std::size_t>(c - '0');
      }
      if (index >= operands_.size()) refuse("there is no operand " + token);
      o.code = "sim_" + std::to_string(index);
      o.writable = operands_[index].written;
      return o;
    }
    if (token == "WARP_SZ") return number("32", false);
    if (token[0] == '%') {
      const auto found = special_registers().find(token.substr(1));
      if (found == special_registers().end())
        throw cannot_translate{"inline PTX (" + token + ") is not simulated; rewrite it in CUDA C++"};
      o.code = found->second;
      return o;
    }
    refuse("'" + token + "' is not declared");
  }
  /// 16, 0x10, 16U, 0f3F800000, 0d3FF0000000000000, 1.5
  operand number(const string& token, bool minus) const {
    operand o;
    o.immediate = true;
    const bool bits = token.size() > 2 && token[0] == '0' && std::isalpha(static_cast<unsigned char>(token[1])) &&
                      is_one_of(token.substr(1, 1), {"f", "F", "d", "D"});
    if (bits) {
      const bool wide = token[1] == 'd' || token[1] == 'D';
      const string digits = token.substr(2);
      if (digits.size() != (wide ? 16u : 8u) ||
          !std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isxdigit(c); }))
        refuse("the number " + token + " is malformed");
      o.code = in_ptx("fraction{") + (minus ? "-" : "") + in_ptx("float_of(0x") + digits + (wide ? "ull)}" : "u)}");
      return o;
    }
    string digits = token;
    while (digits.size() > 1 && (digits.back() == 'u' || digits.back() == 'U')) digits.pop_back();
    const bool hex = digits.starts_with("0x") || digits.starts_with("0X"),
               binary = digits.starts_with("0b") || digits.starts_with("0B");
    const bool fraction = !hex && digits.find_first_of(".eE") != string::npos;
    const string_view figures = string_view(digits).substr(hex || binary ? 2 : 0);
    const bool valid = !figures.empty() && std::all_of(figures.begin(), figures.end(), [&](unsigned char c) {
      return hex        ? std::isxdigit(c) != 0
             : binary   ? c == '0' || c == '1'
             : fraction ? is_digit(static_cast<char>(c)) || c == '.' || c == 'e' || c == 'E'
                        : is_digit(static_cast<char>(c)) != 0;
    });
    if (!valid || digits.size() > 24) refuse("the number " + token + " is malformed");
    if (fraction)
      o.code = in_ptx("fraction{") + (minus ? "-" : "") + digits + "}";
    else
      o.code = in_ptx("whole{") + (minus ? "-" : "") +
               (hex || digits.size() > 9 ? "static_cast<long long>(" + digits + "ull)" : digits) + "}";
    return o;
  }

  words tokens_;
  const std::vector<asm_operand>& operands_;
  std::size_t at_ = 0;
  std::vector<std::set<string>> scopes_;
};

}  // namespace

translated_ptx translate_ptx(const std::string& text, const std::vector<asm_operand>& operands) {
  try {
    return {translator(text, operands).run(), ""};
  } catch (const cannot_translate& r) {
    return {"", r.reason};
  }
}

}  // namespace sim
