// Reads the assembly that g++ and clang++ write for 64-bit Arm Linux. Like x86_64.cpp, counts the instructions that a
// GPU also executes.
#include <algorithm>
#include <bitset>
#include <cstdlib>
#include <initializer_list>

#include "processor.hpp"

namespace sim {
namespace {

using std::string_view;

bool is_one_of(string_view word, std::initializer_list<string_view> words) {
  for (const string_view w : words)
    if (word == w) return true;
  return false;
}

/// `x3` and `w3` are register 3; -1 for words that are not general registers.
int general_register(string_view word) {
  if (word.size() < 2 || word.size() > 3 || (word[0] != 'x' && word[0] != 'w')) return -1;
  int number = 0;
  for (const char c : word.substr(1)) {
    if (c < '0' || c > '9') return -1;
    number = 10 * number + (c - '0');
  }
  return number <= 30 ? number : -1;
}

/// Visits every register among the operands, in order; [x0, 4] contains x0.
template <class Visit>
void for_each_register(string_view operands, const Visit& visit) {
  for (std::size_t i = 0; i < operands.size();) {
    const string_view word = name_at(operands, i, false);
    if (!word.empty()) visit(general_register(word));
    i += word.empty() ? 1 : word.size();
  }
}

bool on_stack(string_view operands) {
  return operands.find("[sp") != string_view::npos || operands.find("[x29") != string_view::npos;
}

/// `ldr`, `strb`, `ldp`, `ldurs…`: the number of registers it loads or stores; 0 for other instructions.
unsigned moved_registers(string_view mnemonic) {
  if (is_one_of(mnemonic, {"ldp", "stp", "ldpsw", "ldnp", "stnp"})) return 2;
  for (const string_view begin :
       {"ldr", "str", "ldur", "stur", "ldar", "stlr", "ldapr", "ldxr", "stxr", "ldaxr", "stlxr"})
    if (starts(mnemonic, begin)) return 1;
  return 0;
}

/// Whether it is a move or width conversion between registers, a move to or from the stack, or the first of two
/// instructions that compute an address.
bool only_moves(string_view mnemonic, string_view operands) {
  if (is_one_of(mnemonic, {"mov",  "movz", "movk", "movn", "movi", "mvni", "fmov", "sxtw", "sxth",    "sxtb",
                           "uxtw", "uxth", "uxtb", "adrp", "mrs",  "nop",  "hint", "bti",  "paciasp", "autiasp"}))
    return true;
  if (is_one_of(mnemonic, {"add", "sub"}))
    return starts(operands, "sp,") || operands.find(":tprel_hi12:") != string_view::npos;
  return moved_registers(mnemonic) > 0 && on_stack(operands);
}

/// add x0, x0, 4; ldr x1, [x0], 4.
bool goes_on_by_constant(string_view mnemonic, string_view operands) {
  if (moved_registers(mnemonic) > 0)
    return !on_stack(operands) && (operands.find("],") != string_view::npos || operands.ends_with('!'));
  if (!is_one_of(mnemonic, {"add", "sub"})) return false;
  const std::size_t first = operands.find(", "), second = operands.find(", ", first + 1);
  if (second == string_view::npos) return false;
  string_view step = operands.substr(second + 2);
  if (starts(step, "#")) step.remove_prefix(1);
  return operands.substr(0, first) == operands.substr(first + 2, second - first - 2) && operands[0] != 's' &&
         !step.empty() && step[0] >= '0' && step[0] <= '9';
}

string_view routine(string_view mnemonic) {
  if (is_one_of(mnemonic, {"sdiv", "udiv"})) return "whole div";
  return mnemonic == "fdiv" ? "div" : mnemonic == "fsqrt" ? "sqrt" : "";
}

/// Scalar floating point.
count operation(string_view mnemonic, string_view operands) {
  const bool wide = operands[0] == 'd';
  if (!wide && operands[0] != 's') return unused;
  if (is_one_of(mnemonic, {"fadd", "fsub", "fabd"})) return wide ? dadd : fadd;
  if (is_one_of(mnemonic, {"fmul", "fnmul", "fmulx"})) return wide ? dmul : fmul;
  if (is_one_of(mnemonic, {"fmadd", "fmsub", "fnmadd", "fnmsub", "fmla", "fmls"})) return wide ? dfma : ffma;
  return unused;
}

class on_arm64 : public processor {
 public:
  string_view without_comment(string_view line) const override {
    const std::size_t comment = line.find("//");
    return comment < line.find('"') ? line.substr(0, comment) : line;
  }

  void begin_function() override {
    coordinates_.reset();
    held_.clear();
    result_.clear();
  }

  instruction read(string_view text) override {
    const string_view mnemonic = first_word(text), operands = trim(text.substr(mnemonic.size()));
    instruction i;
    if (mnemonic == "bl" || mnemonic == "blr") {
      i.is = instruction::call;
      i.target = operands;
      std::erase_if(held_, [](const auto& held) { return !is_preserved(held.first); });
      if (is_hook(i.target))
        std::erase_if(result_, [](const std::string& place) { return !is_preserved(place); });
      else
        result_ = {"s0"};
      return i;
    }
    const bool compares = is_one_of(mnemonic, {"cbz", "cbnz", "tbz", "tbnz"});
    if (compares || is_jump(mnemonic)) {
      i.is = instruction::jump;
      i.target = trim(operands.substr(compares ? operands.rfind(',') + 1 : 0));
      i.conditional = mnemonic != "b" && mnemonic != "br";
      i.executed = compares ? 2 : 1;
      return i;
    }
    const unsigned moved = moved_registers(mnemonic);
    i.executed = only_moves(mnemonic, operands) ? 0 : moved > 0 ? moved : 1;
    i.operation = operation(mnemonic, operands);
    i.routine = routine(mnemonic);
    i.wide = operands[0] == 'd' || operands[0] == 'x';
    i.floating_point = mnemonic[0] == 'f' && mnemonic != "fmov" && (operands[0] == 's' || operands[0] == 'd');
    // A constant's address, or the address of a variable's address, is part of the instruction.
    const bool constant = operands.find("#:") != string_view::npos;
    if (moved > 0 && !on_stack(operands) && !constant && !of_coordinates(operands)) i.accesses = moved;
    i.goes_on_by_constant = goes_on_by_constant(mnemonic, operands);
    follow_steps(mnemonic, operands, i);
    i.restores = is_one_of(mnemonic, {"mov", "fmov", "ret", "paciasp", "autiasp"}) || starts(mnemonic, "ld") ||
                 (mnemonic == "add" && starts(operands, "sp,"));
    follow_coordinates(mnemonic, operands);
    follow_values(mnemonic, split(operands), i);
    return i;
  }

  /// `:gottprel:name`, `:tprel_hi12:name` and similar.
  std::vector<string_view> thread_locals(string_view line) const override {
    std::vector<string_view> names;
    for (const string_view kind : {":gottprel:", ":tprel_hi12:", ":tprel_lo12_nc:", ":tprel_lo12:"})
      if (const std::size_t at = line.find(kind); at != string_view::npos)
        names.push_back(name_at(line, at + kind.size(), false));
    return names;
  }

  /// Makes each variable have its own name in the assembly, with no known position relative to others.
  std::vector<std::string> compiler_options(bool clang) const override {
    return {clang ? "-mno-global-merge" : "-fno-section-anchors"};
  }
  /// The debugger's calls change x30, which every function has saved by then.
  std::vector<std::string> debugger_options() const override {
    return {"-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"};
  }

  std::string call_of(const std::string& function) const override { return "bl\t" + function; }

 private:
  /// add x0, x0, x1
  static void follow_steps(string_view mnemonic, string_view operands, instruction& i) {
    if (starts(mnemonic, "st") || starts(mnemonic, "cmp") || starts(mnemonic, "cmn") || starts(mnemonic, "tst")) return;
    std::vector<int> registers;  // -1 for other words
    for_each_register(operands, [&](int r) { registers.push_back(r); });
    if (registers.empty() || registers[0] < 0) return;
    i.writes = std::to_string(registers[0]);
    if (operands[0] != 'x') return;
    if (is_one_of(mnemonic, {"add", "sub"}) && registers.size() == 3 && registers[0] == registers[1] &&
        registers[2] >= 0)
      i.goes_on_by = std::to_string(registers[2]);
    if (mnemonic == "mov" && registers.size() == 2 && registers[0] == 0) i.argument = std::to_string(registers[1]);
  }

  static bool is_jump(string_view mnemonic) {
    if (starts(mnemonic, "b.")) return true;
    return is_one_of(mnemonic, {"b", "br", "beq", "bne", "bcs", "bhs", "bcc", "blo", "bmi", "bpl", "bvs", "bvc", "bhi",
                                "bls", "bge", "blt", "bgt", "ble", "bal"});
  }

  // threadIdx and similar variables are read through registers that hold the variable's address.
  bool of_coordinates(string_view operands) const {
    bool found = false;
    for_each_register(operands.substr(operands.find('[')),
                      [&](int r) { found |= r >= 0 && coordinates_[static_cast<std::size_t>(r)]; });
    return found;
  }
  void follow_coordinates(string_view mnemonic, string_view operands) {
    if (starts(mnemonic, "st") || starts(mnemonic, "cmp") || starts(mnemonic, "fcmp")) return;
    const std::size_t comma = operands.find(',');
    const int changed = general_register(operands.substr(0, comma));
    if (changed < 0 || comma == string_view::npos) return;
    bool place = false;
    for (const string_view name : {"threadIdx", "blockIdx", "blockDim", "gridDim"})
      place |= operands.find("_lo12:" + std::string(name)) != string_view::npos ||
               operands.find("_lo12_nc:" + std::string(name)) != string_view::npos;
    if (mnemonic == "add" || mnemonic == "mov")
      for_each_register(operands.substr(comma),
                        [&](int r) { place |= r >= 0 && coordinates_[static_cast<std::size_t>(r)]; });
    coordinates_[static_cast<std::size_t>(changed)] = place;
    if (moved_registers(mnemonic) == 2) {
      const string_view rest = trim(operands.substr(comma + 1));
      if (const int second = general_register(rest.substr(0, rest.find(','))); second >= 0)
        coordinates_[static_cast<std::size_t>(second)] = false;
    }
  }

  /// `s3` and `d3` are register s3, `w3` and `x3` are w3; [sp, 12] is its own location; empty for others.
  static std::string value_place(string_view operand) {
    if (operand.starts_with("[sp") && operand.ends_with(']')) return std::string(operand);
    if (const int number = general_register(operand); number >= 0) return "w" + std::to_string(number);
    if (operand.size() < 2 || operand.size() > 3 || (operand[0] != 's' && operand[0] != 'd')) return "";
    operand.remove_prefix(1);
    return operand.find_first_not_of("0123456789") == string_view::npos ? "s" + std::string(operand) : "";
  }
  /// Whether calls leave it unchanged.
  static bool is_preserved(const std::string& place) {
    if (place[0] == '[') return true;
    const int number = std::atoi(place.c_str() + 1);
    return place[0] == 's' ? number >= 8 && number <= 15 : number >= 19 && number <= 28;
  }

  /// Tracks the registers and stack slots that hold constants or the last call's result.
  void follow_values(string_view mnemonic, const std::vector<string_view>& parts, instruction& i) {
    const bool stores = starts(mnemonic, "st");
    std::vector<std::string> places;
    for (const string_view part : parts) places.push_back(value_place(part));
    if (places.size() < 2 || i.is != instruction::plain) return;
    const auto holds = [&](std::size_t operand, double value) {
      const auto held = held_.find(places[operand]);
      return held != held_.end() && held->second == value;
    };
    if (is_multiply_add(i.operation) && places.size() == 4) i.doubles = holds(1, 2) || holds(2, 2);
    if (i.routine == "div" && places.size() == 3 && holds(1, 1)) i.routine = "reciprocal";
    const bool compares = starts(mnemonic, "fcmp");
    const bool uses = std::any_of(places.begin() + !(stores || compares), places.end() - stores,
                                  [&](const std::string& place) { return result_.contains(place); });
    const std::string& written = stores ? places.back() : places.front();
    const bool copies = uses && places.size() == 2 && !written.empty() &&
                        (mnemonic == "fmov" || mnemonic == "mov" || starts(mnemonic, "ldr") || starts(mnemonic, "str"));
    follow_result(uses, copies, compares ? "" : written, i);
    if (compares || written.empty()) return;
    held_.erase(written);
    if (const double value = constant(mnemonic, parts); value != 0) held_[written] = value;
  }

  /// fmov s1, 1.0e+0, and with `#` from clang; 0 for another instruction.
  static double constant(string_view mnemonic, const std::vector<string_view>& parts) {
    if (mnemonic != "fmov") return 0;
    return std::strtod(std::string(parts[1].substr(parts[1].starts_with('#'))).c_str(), nullptr);
  }

  std::bitset<31> coordinates_;                      // the registers that hold the coordinates' addresses
  std::map<std::string, double, std::less<>> held_;  // register, and the constant in it
};

}  // namespace

std::unique_ptr<processor> arm64() { return std::make_unique<on_arm64>(); }

}  // namespace sim
