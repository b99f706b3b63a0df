#include "assembly.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

namespace sim {
namespace {

using std::string;
using std::string_view;

constexpr std::size_t gap_bytes = 128;
constexpr std::size_t most_dynamic_shared_bytes = 232448;  // 227 KB, the most that a block can have

string_view trim(string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}
string_view first_word(string_view s) {
  std::size_t n = 0;
  while (n < s.size() && s[n] != ' ' && s[n] != '\t') ++n;
  return s.substr(0, n);
}
bool is_label(string_view s) { return !s.empty() && s.back() == ':' && s.find_first_of(" \t\"") == string_view::npos; }

/// What one instruction adds to its block's counts; the order is block_info's.
enum count : std::size_t { instructions, fadd, fmul, ffma, dadd, dmul, dfma, special, counts };

/// One basic block: its lines, where it is traced, and what it computes.
struct block {
  std::size_t trace = 0;         // line of the call that traces it
  std::size_t first_access = 0;  // line of its first access, 0 where a jump or label comes before it
  bool straight = true;          // neither jump nor label so far
  bool does_nothing = true;      // it only restores registers and returns
  bool first_of_function = false;
  string skip;  // label behind a jump that may be the one over a report of an index out of bounds
  bool skips_report = false;
  unsigned before_skip = 0;  // instructions
  std::array<unsigned, counts> count{};
};

bool starts(string_view s, string_view with) { return s.substr(0, with.size()) == with; }

/// Scalar floating point, with or without AVX's v: addss, vfmadd231ss, sqrtsd.
void count_instruction(string_view mnemonic, block& b) {
  ++b.count[instructions];
  if (starts(mnemonic, "v")) mnemonic.remove_prefix(1);
  if (mnemonic.size() < 5) return;
  const string_view type = mnemonic.substr(mnemonic.size() - 2);
  if (type != "ss" && type != "sd") return;
  const bool wide = type == "sd";
  const string_view op = mnemonic.substr(0, mnemonic.size() - 2);
  if (op == "add" || op == "sub")
    ++b.count[wide ? dadd : fadd];
  else if (op == "mul")
    ++b.count[wide ? dmul : fmul];
  else if (starts(op, "fmadd") || starts(op, "fmsub") || starts(op, "fnmadd") || starts(op, "fnmsub"))
    ++b.count[wide ? dfma : ffma];
  else if (op == "div" || op == "sqrt")
    ++b.count[special];
}

bool is_hook(string_view callee) { return starts(callee, "__tsan_") || starts(callee, "__sanitizer_cov_"); }
bool is_access(string_view callee) {
  return is_hook(callee) && (callee.find("read") != string_view::npos || callee.find("write") != string_view::npos);
}

class editor {
 public:
  explicit editor(const string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines_.emplace_back(text, at, end - at);
      at = end + 1;
    }
  }

  string run() {
    for (std::size_t i = 0; i < lines_.size(); ++i) line(i);
    string out;
    for (const string& l : lines_) (out += l) += '\n';
    return out += dynamic_storage();
  }

 private:
  void line(std::size_t i) {
    string_view s = lines_[i];
    if (const std::size_t comment = std::min(s.find(" #"), s.find("\t#")); comment < s.find('"'))
      s = s.substr(0, comment);
    s = trim(s);
    if (s.empty() || s[0] == '#') return;
    note_thread_local(s);
    if (s[0] == '.' && !is_label(s)) return directive(i, s);
    if (is_label(s)) {
      const string_view name = s.substr(0, s.size() - 1);
      if (in_shared_) defined_.emplace(name);
      if (functions_.contains(string(name))) begin_function();
      if (!blocks_.empty()) end_skip(blocks_.back(), name);
      return;
    }
    if (in_function_) instruction(i, s);
  }

  /// Copies in kernels are accesses too. clang has names of its own for them, from 15 on.
  void redirect_copy(std::size_t i, string_view callee) {
    callee = callee.substr(0, callee.find("@PLT"));
    for (const string_view name : {"memcpy", "memmove", "memset"})
      if (callee == name || callee == "__tsan_" + string(name))
        lines_[i].replace(lines_[i].find(callee), callee.size(), "sim_" + string(name));
  }

  void directive(std::size_t i, string_view s) {
    const string_view word = first_word(s);
    if (word == ".section" || word == ".text" || word == ".data" || word == ".bss" || word == ".popsection") {
      in_shared_ = s.find(".tbss") != string_view::npos || s.find(".tdata") != string_view::npos;
    } else if (word == ".file") {  // clang: where not all files have a checksum, the assembler warns
      if (const std::size_t sum = lines_[i].find(" md5 0x"); sum != string::npos) lines_[i].resize(sum);
    } else if (word == ".zero" && in_shared_) {
      lines_[i] += "\n\t.zero\t" + std::to_string(gap_bytes);
    } else if (word == ".type" && s.find("@function") != string_view::npos) {
      const string_view rest = trim(s.substr(word.size()));
      functions_.emplace(rest.substr(0, rest.find(',')));
    } else if (word == ".size" && in_function_) {
      end_function(i);
    }
  }

  /// `cmp; jbe 1f; call __ubsan_handle_out_of_bounds; 1:` is no branch of the program's.
  static void end_skip(block& b, string_view label) {
    if (b.skips_report && b.skip == label)
      b.count[instructions] = b.before_skip - std::min(b.before_skip, 1u);  // nor is its comparison
    else
      b.straight = false;
    b.skip.clear();
    b.skips_report = false;
  }

  void begin_function() {
    in_function_ = true;
    blocks_.clear();
  }

  void instruction(std::size_t i, string_view s) {
    const string_view mnemonic = first_word(s);
    if (starts(mnemonic, "call")) {
      const string_view callee = trim(s.substr(mnemonic.size()));
      redirect_copy(i, callee);
      if (starts(callee, "__sanitizer_cov_trace_pc")) {
        block b;
        b.trace = i;
        b.first_of_function = blocks_.empty();
        blocks_.push_back(b);
        return;
      }
      if (blocks_.empty()) return;
      block& b = blocks_.back();
      b.does_nothing = false;
      if (starts(callee, "__ubsan_handle_out_of_bounds")) {
        b.skips_report = !b.skip.empty();
        return;
      }
      if (!b.skip.empty()) b.straight = false;
      if (is_access(callee) && b.first_access == 0 && b.straight) b.first_access = i;
      if (is_hook(callee))  // its argument's move does not count either
        b.count[instructions] -= b.count[instructions] > 0;
      else
        ++b.count[instructions];
      return;
    }
    if (blocks_.empty()) return;
    block& b = blocks_.back();
    if (mnemonic[0] == 'j') {
      redirect_copy(i, trim(s.substr(mnemonic.size())));
      if (!b.skip.empty() || mnemonic == "jmp") b.straight = false;
      b.skip = trim(s.substr(mnemonic.size()));
      b.before_skip = b.count[instructions];
    }
    if (!starts(mnemonic, "mov") && !starts(mnemonic, "pop") && !starts(mnemonic, "ret") && mnemonic != "leave" &&
        !(mnemonic == "addq" && s.find("%rsp") != string_view::npos))
      b.does_nothing = false;
    count_instruction(mnemonic, b);
  }

  /// Labels each block where the run time will see it, and writes the table behind the function.
  void end_function(std::size_t i) {
    string table;
    for (const block& b : blocks_) {
      std::size_t seen = b.trace;
      if (!b.first_of_function && (b.first_access != 0 || b.does_nothing)) {
        lines_[b.trace].clear();
        if (b.first_access == 0) continue;
        seen = b.first_access;
      }
      const string label = ".Lsim_block_" + std::to_string(++labels_);
      lines_[seen] += "\n" + label + ":";
      table += "\t.long\t" + label + " - .\n\t.short\t";
      for (std::size_t k = 0; k < counts; ++k) table += (k > 0 ? ", " : "") + std::to_string(b.count[k]);
      table += "\n";
    }
    if (!table.empty()) lines_[i] += "\n\t.pushsection sim_blocks,\"a?\",@progbits\n" + table + "\t.popsection";
    blocks_.clear();
    in_function_ = false;
  }

  /// `name@gottpoff(%rip)` and its kind.
  void note_thread_local(string_view s) {
    for (const string_view kind : {"@gottpoff", "@GOTTPOFF", "@tpoff", "@TPOFF"}) {
      const std::size_t at = s.find(kind);
      if (at == string_view::npos) continue;
      std::size_t begin = at;
      const auto in_name = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
      };
      while (begin > 0 && in_name(s[begin - 1])) --begin;
      used_.emplace(s.substr(begin, at - begin));
    }
  }

  string dynamic_storage() const {
    std::ostringstream text;
    for (const string& name : used_) {
      const bool ours = name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim";
      if (ours || defined_.contains(name) || starts(name, "sim_")) continue;
      text << "\t.weak " << name << "\n\t.type " << name << ", @object\n\t.size " << name << ", "
           << most_dynamic_shared_bytes + 16 << "\n"
           << name << ":\n";
    }
    if (text.str().empty()) return "";
    std::ostringstream section;
    section << "\t.section .tbss,\"awT\",@nobits\n\t.balign 1024\n"
            << text.str() << "\t.type sim_dynamic_shared, @object\n\t.size sim_dynamic_shared, "
            << most_dynamic_shared_bytes << "\nsim_dynamic_shared:\n\t.zero " << most_dynamic_shared_bytes + 16 << "\n";
    return section.str();
  }

  std::vector<string> lines_;
  std::set<string, std::less<>> functions_, used_, defined_;
  std::vector<block> blocks_;
  bool in_shared_ = false, in_function_ = false;
  unsigned labels_ = 0;
};

}  // namespace

std::string edit_assembly(const std::string& text) { return editor(text).run(); }

}  // namespace sim
