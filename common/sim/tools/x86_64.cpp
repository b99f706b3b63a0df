// Reads the assembly that g++ and clang++ write for x86-64 Linux.
#include <algorithm>
#include <bit>
#include <cctype>

#include "processor.hpp"

namespace sim {
namespace {

using std::string_view;

/// Whether it moves between registers, or between registers and the stack, which a GPU avoids with many registers and
/// three operands; or manages the stack.
bool only_moves(string_view mnemonic, string_view operands) {
  if (starts(mnemonic, "push") || starts(mnemonic, "pop") || starts(mnemonic, "endbr") || mnemonic == "leave" ||
      mnemonic == "cltq" || mnemonic == "cqto" || mnemonic == "cltd" || mnemonic == "nop")
    return true;
  if (!starts(mnemonic, "mov") && !starts(mnemonic, "vmov"))
    return (starts(mnemonic, "add") || starts(mnemonic, "sub")) && operands.ends_with("%rsp");
  return operands.find('(') == string_view::npos || operands.find("(%rsp)") != string_view::npos ||
         operands.find("(%rbp)") != string_view::npos;
}

bool goes_on_by_constant(string_view mnemonic, string_view operands) {
  if (starts(mnemonic, "inc") || starts(mnemonic, "dec")) return true;
  if (starts(mnemonic, "add") || starts(mnemonic, "sub"))
    return starts(operands, "$") && operands.find("(") == string_view::npos && !operands.ends_with("%rsp");
  if (!starts(mnemonic, "lea")) return false;  // leal 1(%rbx), %ebx
  const std::size_t from = operands.find("(%r"), to = operands.find("), %");
  if (from == 0 || from == string_view::npos || to == string_view::npos) return false;
  const string_view source = operands.substr(from + 2, to - from - 2), target = operands.substr(to + 4);
  return source.find(',') == string_view::npos && source.substr(1) == target.substr(1);
}

/// %rbx, %ebx and %bx are one register; 12(%rsp) is its own location.
std::string place_of(string_view operand) {
  if (!operand.starts_with("%")) return operand.ends_with("(%rsp)") ? std::string(operand) : "";
  operand.remove_prefix(1);
  if (operand.size() > 2 && (operand[0] == 'e' || operand[0] == 'r') && !std::isdigit(operand[1]))
    operand.remove_prefix(1);
  while (operand.size() > 2 && operand[0] == 'r' && !std::isdigit(operand.back())) operand.remove_suffix(1);  // r8d
  return std::string(operand);
}

unsigned accesses(string_view mnemonic, string_view operands) {
  const std::size_t open = operands.find('(');
  if (open == string_view::npos || starts(mnemonic, "lea") || starts(mnemonic, "nop")) return 0;
  const string_view place = operands.substr(open, operands.find(')') - open + 1);
  return place != "(%rsp)" && place != "(%rbp)" && place != "(%rip)" && operands.find("%fs:") == string_view::npos;
}

/// divss, idivl, sqrtsd, with or without AVX's v.
string_view routine(string_view mnemonic) {
  if (starts(mnemonic, "v")) mnemonic.remove_prefix(1);
  if (starts(mnemonic, "divs")) return "div";
  if (starts(mnemonic, "div") || starts(mnemonic, "idiv")) return "whole div";
  return starts(mnemonic, "sqrts") ? "sqrt" : "";
}

/// Scalar floating point: addss, vfmadd231ss.
count operation(string_view mnemonic) {
  if (starts(mnemonic, "v")) mnemonic.remove_prefix(1);
  if (mnemonic.size() < 5) return unused;
  const string_view type = mnemonic.substr(mnemonic.size() - 2);
  if (type != "ss" && type != "sd") return unused;
  const bool wide = type == "sd";
  const string_view op = mnemonic.substr(0, mnemonic.size() - 2);
  if (op == "add" || op == "sub") return wide ? dadd : fadd;
  if (op == "mul") return wide ? dmul : fmul;
  if (starts(op, "fmadd") || starts(op, "fmsub") || starts(op, "fnmadd") || starts(op, "fnmsub"))
    return wide ? dfma : ffma;
  return unused;
}

class on_x86_64 : public processor {
 public:
  string_view without_comment(string_view line) const override {
    const std::size_t comment = std::min(line.find(" #"), line.find("\t#"));
    return comment < line.find('"') ? line.substr(0, comment) : line;
  }

  void begin_function() override {
    held_.clear();
    result_.clear();
  }

  instruction read(string_view text) override {
    const string_view mnemonic = first_word(text), operands = trim(text.substr(mnemonic.size()));
    instruction i;
    if (starts(mnemonic, "call")) {
      i.is = instruction::call;
      i.target = operands.substr(0, operands.find("@PLT"));
      held_.clear();  // no call preserves these registers
      if (is_hook(i.target))
        std::erase_if(result_, [](const std::string& place) { return place.starts_with("%xmm"); });
      else
        result_ = {"%xmm0"};
      return i;
    }
    if (mnemonic[0] == 'j') {
      i.is = instruction::jump;
      i.target = operands.substr(0, operands.find("@PLT"));
      i.conditional = mnemonic != "jmp";
    }
    i.executed = !only_moves(mnemonic, operands);
    i.operation = operation(mnemonic);
    i.routine = routine(mnemonic);
    i.wide = mnemonic.ends_with('d') || mnemonic.ends_with('q');
    i.floating_point = (mnemonic.ends_with("ss") || mnemonic.ends_with("sd") || mnemonic.ends_with("ps") ||
                        mnemonic.ends_with("pd")) &&
                       !starts(mnemonic, "mov") && !starts(mnemonic, "vmov");
    i.accesses = accesses(mnemonic, operands);
    i.goes_on_by_constant = goes_on_by_constant(mnemonic, operands);
    const std::vector<string_view> parts = split(operands);  // the last one is written
    follow_steps(mnemonic, parts, i);
    i.restores = starts(mnemonic, "mov") || starts(mnemonic, "pop") || starts(mnemonic, "ret") || mnemonic == "leave" ||
                 (mnemonic == "addq" && operands.find("%rsp") != string_view::npos);
    if (operands.find("%xmm") != string_view::npos) follow_values(mnemonic, parts, i);
    return i;
  }

  /// `name@gottpoff(%rip)` and similar.
  std::vector<string_view> thread_locals(string_view line) const override {
    std::vector<string_view> names;
    for (const string_view kind : {"@gottpoff", "@GOTTPOFF", "@tpoff", "@TPOFF"})
      if (const std::size_t at = line.find(kind); at != string_view::npos) names.push_back(name_at(line, at, true));
    return names;
  }

  /// Multiply-adds with one rounding, as on a GPU.
  std::vector<std::string> compiler_options(bool clang) const override {
    std::vector<std::string> options;
#ifdef __x86_64__
    if (__builtin_cpu_supports("fma")) options.emplace_back("-mfma");
#endif
    // Otherwise g++ splits sums of products where that is faster on the tuned processor: from g++ 13 on, by default.
    if (!clang) options.insert(options.end(), {"--param", "avoid-fma-max-bits=0"});
    return options;
  }
  /// The debugger's calls push below the stack pointer, where nothing may be in use.
  std::vector<std::string> debugger_options() const override { return {"-mno-red-zone", "-fno-omit-frame-pointer"}; }

  std::string call_of(const std::string& function) const override { return "call\t" + function; }

  /// sim_call takes the pointer in %r11, which is free at a function call. At a jump it may be in use, because some
  /// jumps go to a switch's case; those through a table in memory need no check.
  std::string with_checked_call(std::string line) const override {
    const string_view text = trim(without_comment(line));
    const std::size_t star = text.find('*');
    const string_view to = star == string_view::npos ? "" : trim(text.substr(star + 1));
    if (to.empty() || to.starts_with(".L") || to.find("@GOTPCREL") != string_view::npos) return line;
    const string_view mnemonic = first_word(text.starts_with("notrack") ? trim(text.substr(7)) : text);
    if (starts(mnemonic, "call")) return "\tmovq\t" + std::string(to) + ", %r11\n\tcall\tsim_call";
    if (!starts(mnemonic, "jmp")) return line;
    if (!to.starts_with("%")) return "\tmovq\t" + std::string(to) + ", %r11\n\tjmp\tsim_call";
    return "\tleaq\t-128(%rsp), %rsp\n\tpushq\t" + std::string(to) + "\n\tjmp\tsim_jump";  // below the red zone
  }

 private:
  static void follow_steps(string_view mnemonic, const std::vector<string_view>& parts, instruction& i) {
    if (starts(mnemonic, "cmp") || starts(mnemonic, "test") || i.is == instruction::jump) return;
    i.writes = place_of(parts.back());
    if (mnemonic == "addq" || mnemonic == "subq") i.goes_on_by = place_of(parts[0]);
    if (mnemonic == "movq" && parts.back() == "%rdi") i.argument = place_of(parts[0]);
  }

  /// Tracks the registers and stack slots that hold constants or the last call's result.
  void follow_values(string_view mnemonic, const std::vector<string_view>& parts, instruction& i) {
    const auto holds = [&](string_view operand, double value) {
      const auto held = held_.find(operand);
      if (held != held_.end()) operand = held->second;
      const auto found = constants.find(operand.substr(0, operand.find('(')));
      if (found == constants.end()) return false;
      return i.wide ? std::bit_cast<double>(found->second) == value
                    : std::bit_cast<float>(static_cast<std::uint32_t>(found->second)) == static_cast<float>(value);
    };
    if (is_multiply_add(i.operation) && parts.size() == 3) {  // its digits number the operands from the right
      const bool first = mnemonic.find("231") == string_view::npos, second = mnemonic.find("132") == string_view::npos,
                 third = mnemonic.find("213") == string_view::npos;
      i.doubles = (first && holds(parts[2], 2)) || (second && holds(parts[1], 2)) || (third && holds(parts[0], 2));
    }
    if (i.routine == "div" && parts.size() == 3 && holds(parts[1], 1)) i.routine = "reciprocal";
    const bool moves = mnemonic.find("mov") != string_view::npos, to_register = parts.back().starts_with("%"),
               to_stack = parts.back().ends_with("(%rsp)");
    const bool uses = std::any_of(parts.begin(), moves || parts.size() > 2 ? parts.end() - 1 : parts.end(),
                                  [&](string_view part) { return result_.contains(part); });
    const bool copies = uses && moves && (to_register || to_stack);
    follow_result(uses, copies, to_register || to_stack ? std::string(parts.back()) : "", i);
    if (!parts.back().starts_with("%xmm")) return;
    held_.erase(std::string(parts.back()));
    const bool loads = mnemonic == "vmovss" || mnemonic == "vmovsd" || mnemonic == "movss" || mnemonic == "movsd";
    if (loads && parts.size() == 2 && parts[0].starts_with(".L"))
      held_.emplace(std::string(parts[1]), std::string(parts[0]));
  }

  std::map<std::string, std::string, std::less<>> held_;  // register, and the location of its constant
};

}  // namespace

std::unique_ptr<processor> x86_64() { return std::make_unique<on_x86_64>(); }

}  // namespace sim
