// One PTX instruction during translation, and helpers that the families of instructions share.
#pragma once

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim::inline_ptx {

using std::string;
using std::string_view;
using words = std::vector<string>;

struct cannot_translate {
  string reason;
};

inline bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }
inline bool is_digit(char c) { return '0' <= c && c <= '9'; }
inline bool is_one_of(string_view word, std::initializer_list<string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}
inline string joined(const words& all, const string& between) {
  string text;
  for (const string& w : all) (text += text.empty() ? "" : between) += w;
  return text;
}
inline string in_ptx(string_view name) { return "::sim::ptx::" + string(name); }

struct operand {
  enum kind { value, vector, memory, sink } is = value;
  string code;            // of a value or an address
  bool writable = false;  // a register
  bool immediate = false;
  string offset = "0";            // of an address, in bytes
  std::vector<operand> elements;  // of a vector
  std::vector<operand> second;    // p|q: q
};

/// One instruction during translation: takes its modifiers one by one; any that remain are refused.
class instruction {
 public:
  instruction(string opcode, std::vector<operand> operands)
      : opcode_(std::move(opcode)), operands_(std::move(operands)) {
    for (std::size_t from = 0; from <= opcode_.size();) {
      const std::size_t dot = std::min(opcode_.find('.', from), opcode_.size());
      modifiers_.push_back(opcode_.substr(from, dot - from));
      from = dot + 1;
    }
    name_ = modifiers_.front();
    modifiers_.erase(modifiers_.begin());
  }

  const string& name() const { return name_; }
  const string& opcode() const { return opcode_; }
  [[noreturn]] void refuse(const string& reason) const {
    throw cannot_translate{"inline PTX (" + opcode_ + ") is not simulated: " + reason};
  }

  bool take(string_view modifier) {
    const auto found = std::find(modifiers_.begin(), modifiers_.end(), modifier);
    if (found == modifiers_.end()) return false;
    modifiers_.erase(found);
    return true;
  }
  string take_one_of(std::initializer_list<string_view> list, const string& otherwise = "") {
    for (const string_view one : list)
      if (take(one)) return string(one);
    return otherwise;
  }
  /// Takes the next modifier if it begins like this.
  string take_beginning(string_view begin) {
    for (auto m = modifiers_.begin(); m != modifiers_.end(); ++m)
      if (m->starts_with(begin)) {
        string found = *m;
        modifiers_.erase(m);
        return found;
      }
    return "";
  }
  string take_last() {
    if (modifiers_.empty()) refuse("it has no type");
    string last = modifiers_.back();
    modifiers_.pop_back();
    return last;
  }
  /// Takes the last modifier, which must be one of these types.
  string take_type(std::initializer_list<string_view> types) {
    string type = take_last();
    if (!is_one_of(type, types)) refuse("type ." + type + " is not supported");
    return type;
  }
  void done() const {
    if (!modifiers_.empty()) refuse("the modifier ." + modifiers_.front() + " is unknown here");
  }

  std::size_t count() const { return operands_.size(); }
  void needs(std::size_t least, std::size_t most) const {
    if (operands_.size() < least || operands_.size() > most) refuse("it has too few or too many operands");
  }
  void needs(std::size_t exactly) const { needs(exactly, exactly); }
  const operand& at(std::size_t i) const { return operands_.at(i); }
  void drop_last() { operands_.pop_back(); }

  string source(std::size_t i) const { return source(at(i)); }
  string source(const operand& o) const {
    if (o.is != operand::value) refuse("an operand is neither a register nor a number");
    return o.code;
  }
  string target(std::size_t i) const { return target(at(i)); }
  string target(const operand& o) const {
    if (o.is == operand::sink) return in_ptx("sink{}");
    if (o.is != operand::value || !o.writable) refuse("its result needs a writable register: an output of the asm");
    return o.code;
  }
  /// The registers of {...}, or a single one.
  words sources(std::size_t i) const {
    if (at(i).is != operand::vector) return {source(i)};
    words all;
    for (const operand& o : at(i).elements) all.push_back(source(o));
    return all;
  }
  words targets(std::size_t i) const {
    if (at(i).is != operand::vector) return {target(i)};
    words all;
    for (const operand& o : at(i).elements) all.push_back(target(o));
    return all;
  }
  string address(std::size_t i, const string& space) const {
    if (at(i).is != operand::memory) refuse("an operand is not an address in brackets");
    return in_ptx("address<" + in_ptx("space::" + space) + ">(" + at(i).code + ", " + at(i).offset + ")");
  }

  /// name<types>(arguments);
  static string call(const string& function, const words& types, const words& arguments) {
    words list;
    for (const string& t : types) list.push_back(t);
    return in_ptx(function) + (list.empty() ? "" : "<" + joined(list, ", ") + ">") + "(" + joined(arguments, ", ") +
           ");";
  }
  string simple(const string& function, const string& type, std::size_t operands) const {
    needs(operands);
    done();
    words arguments = {target(0)};
    for (std::size_t i = 1; i < operands; ++i) arguments.push_back(source(i));
    return call(function, type.empty() ? words{} : words{in_ptx(type)}, arguments);
  }

 private:
  string opcode_, name_;
  words modifiers_;
  std::vector<operand> operands_;
};

/// Translates the instructions of one family, such as mul.lo.s32 and mul.f32, into calls to functions in sim/ptx.h.
using family = string (*)(instruction&);
/// The family of an instruction's name, such as mul; null if it is not simulated.
family family_of(string_view name);

}  // namespace sim::inline_ptx
