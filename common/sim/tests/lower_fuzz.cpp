// Lowering of unexpected texts: token soups, the repository's own files with pieces moved, and random launches whose
// correct lowering is known. Always the same seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "../tools/assembler.hpp"
#include "../tools/headers.hpp"
#include "../tools/lower.hpp"
#include "../tools/refuse.hpp"

namespace {

std::mt19937 random_bits(20'240'229);  // NOLINT(cert-msc51-cpp): the same in each run
std::size_t below(std::size_t n) { return random_bits() % n; }

/// A replacement with #line must name the position that follows it in the source.
void check_realigned(const std::string& source, const sim::edit& e) {
  const std::size_t at = e.text.rfind("\n#line ");
  if (at == std::string::npos) return;
  const std::size_t next = e.at + e.length;
  std::size_t line = 1, column = 0;
  for (std::size_t i = source.starts_with("\xEF\xBB\xBF") ? 3 : 0; i < next; ++i) {
    ++column;
    if (source[i] == '\n') ++line, column = 0;
  }
  ASSERT_EQ(e.text.substr(at), "\n#line " + std::to_string(line) + "\n" + std::string(column, ' ')) << source;
}

/// Inline PTX loses no line, and a second translation finds nothing left. No edit touches another.
void check_inline_ptx(const std::string& source, const std::vector<sim::token>& tokens) {
  std::vector<sim::edit> edits = sim::all_edits(source, tokens);
  std::stable_sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) {
    return std::pair(a.at, a.length > 0) < std::pair(b.at, b.length > 0);
  });
  for (std::size_t i = 1; i < edits.size(); ++i)
    ASSERT_LE(edits[i - 1].at + edits[i - 1].length, edits[i].at) << source;
  const std::vector<sim::edit> ptx = sim::assembler_edits(source, tokens);
  for (const sim::edit& e : ptx) {
    check_realigned(source, e);
    if (e.text.find("\n#line ") != std::string::npos) continue;
    const std::string removed = source.substr(e.at, e.length);
    ASSERT_EQ(std::count(e.text.begin(), e.text.end(), '\n'), std::count(removed.begin(), removed.end(), '\n'))
        << source;
  }
  const std::string once = sim::apply(source, ptx);
  const std::string twice = sim::apply(once, sim::assembler_edits(once, sim::tokens_of(once)));
  ASSERT_EQ(once, twice) << source;
}

/// << < is a launch, too.
std::string without_blanks(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c); });
  return text;
}

/// What must hold for any text.
void check(const std::string& source) {
  const std::vector<sim::token> tokens = sim::tokens_of(source);
  std::vector<sim::edit> edits = sim::launch_edits(source, tokens);
  const std::string lowered = sim::apply(source, edits);
  // Taking the replacements back gives the source.
  std::stable_sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  std::string undone;
  std::size_t from = 0;
  for (const sim::edit& e : edits) {
    ASSERT_GE(e.at, undone.size()) << source;
    const std::size_t kept = e.at - undone.size();
    undone += lowered.substr(from, kept);
    ASSERT_EQ(lowered.compare(from + kept, e.text.size(), e.text), 0) << source;
    from += kept + e.text.size();
    const std::string removed = source.substr(e.at, e.length);
    const std::string word = without_blanks(removed);
    ASSERT_TRUE(word.empty() || word == "<<<" || word == ">>>" || word == "alignas" || word == "__noinline__" ||
                word == "__constant__" || word == "NULL" || word == "0" || word.rfind("#pragma", 0) == 0)
        << source;
    undone += removed;
    check_realigned(source, e);
  }
  undone += lowered.substr(from);
  ASSERT_EQ(undone, source);
  ASSERT_EQ(sim::lower_launches(lowered), lowered) << source;
  if (without_blanks(source).find("<<<") == std::string::npos && source.find("cudaLaunch") == std::string::npos &&
      source.find("cudaGraph") == std::string::npos && source.find("cudaGetFuncBySymbol") == std::string::npos &&
      source.find("alignas") == std::string::npos && source.find("unroll") == std::string::npos &&
      source.find("__cluster_dims__") == std::string::npos && source.find("__launch_bounds__") == std::string::npos) {
    ASSERT_EQ(lowered, source);
  }
  check_inline_ptx(source, tokens);
  // Refusals keep all lines.
  const std::string refused = sim::apply(source, sim::refusals(source, tokens));
  ASSERT_EQ(std::count(refused.begin(), refused.end(), '\n'), std::count(source.begin(), source.end(), '\n')) << source;
}

TEST(LowerFuzz, TokenSoup) {
  const char* const pieces[] = {"k",
                                "<<<",
                                ">>>",
                                "(",
                                ")",
                                "<",
                                ">",
                                "::",
                                ".",
                                "->",
                                "[",
                                "]",
                                "{",
                                "}",
                                ";",
                                ",",
                                "\n",
                                "\"",
                                "'",
                                "//",
                                "/*",
                                "*/",
                                "R\"(",
                                ")\"",
                                "#",
                                "\\",
                                "1'",
                                "if",
                                " ",
                                "\\\n",
                                "template",
                                "int",
                                ">>",
                                "<<",
                                "asm(",
                                "\r\n",
                                "\\\r\n",
                                "\t",
                                "\n#if",
                                "\n#else",
                                "\n#endif",
                                "\n#define ",
                                "\n#pragma unroll 1\n",
                                "for (;;)",
                                "operator",
                                "__global__ ",
                                "=",
                                "\xC3",
                                "asm(\"mov.u32 %0;\")",
                                "asm(\"mov.u32 %0, %1;\" : \"=r\"(x) : \"r\"(y))",
                                "asm volatile(\"",
                                "mov.b32 %0, 1;",
                                "@p bra L;",
                                "L:",
                                "{%0, %1}",
                                "[%1+4]",
                                "\" : \"=r\"(x",
                                "\" :: \"l\"(p)",
                                ".reg .pred p;",
                                ": \"memory\"",
                                "texture<",
                                "\n#include <cufft.h>\n",
                                "\xEF\xBB\xBF",
                                "k<<<1, 2>>>(x);",
                                "k<<<1, 2>>>(NULL",
                                "NULL",
                                "k<<<1, 2>>>(0",
                                "0"};
  for (int round = 0; round < 60'000; ++round) {
    std::string text;
    for (std::size_t n = below(24); n > 0; --n) text += pieces[below(std::size(pieces))];
    ASSERT_NO_FATAL_FAILURE(check(text));
  }
}

TEST(LowerFuzz, MovedAboutSources) {
  std::vector<std::string> sources;
  for (const char* folder : {"tests", "../../labs", "../../solutions"}) {
    const std::filesystem::path path = std::filesystem::path(SOURCES) / folder;
    if (!exists(path)) continue;  // a student's copy has no solutions
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.path().extension() != ".cu") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      std::ostringstream text;
      text << in.rdbuf();
      sources.push_back(text.str());
    }
  }
  std::sort(sources.begin(), sources.end());
  ASSERT_GT(sources.size(), 3u);
  for (const std::string& s : sources) ASSERT_NO_FATAL_FAILURE(check(s));
  for (int round = 0; round < 1500; ++round) {
    std::string text = sources[below(sources.size())];
    text = text.substr(below(text.size()), 3000);
    for (std::size_t n = 1 + below(6); n > 0 && !text.empty(); --n) {
      const std::size_t at = below(text.size()), length = 1 + below(8);
      const std::string piece = text.substr(below(text.size()), length);
      switch (below(4)) {
        case 0: text.erase(at, length); break;
        case 1: text.insert(at, piece); break;
        case 2: text.replace(at, length, piece); break;
        default: text.insert(at, "<<<"); break;
      }
    }
    ASSERT_NO_FATAL_FAILURE(check(text));
  }
}

// ---- launches that are right

std::string pick(std::initializer_list<std::string> choices) { return choices.begin()[below(choices.size())]; }

std::string blank() { return below(4) ? "" : pick({" ", "\n", "/* <<< */", " // >>>\n", "\t"}); }

std::string type(int depth) {
  std::string t = pick({"int", "float4", "ns::t", "unsigned long"});
  if (depth > 0 && below(2)) {
    t = pick({"vec", "std::array", "a::b"}) + "<" + type(depth - 1) + blank();
    if (below(3) == 0) t += ", " + pick({"4", "(a > b)", "1 << 3", "(x >> 2)", "sizeof(int)", "'>'", "f(1, 2)"});
    t += ">";
  }
  return t;
}

std::string name() {
  std::string n = pick({"", "::", "ns::", "a::b::"}) + pick({"k", "kernel_2", "K"});
  if (below(2)) n += blank() + "<" + type(3) + (below(2) ? "," + type(2) : "") + ">";
  return n;
}

std::string value(int depth) {
  switch (below(depth > 0 ? 9 : 4)) {
    case 0: return pick({"1", "256", "g", "1'024", "0x10", "p->q", "o.f"});
    case 1: return pick({"n >> 3", "1 << 5", "n / 4", "a > b", "x <= y", "n < 4 ? 1 : 2"});
    case 2: return pick({"\">>>(\"", "R\"(>>>)\"", "'>'", "sizeof \"<<<\""}) + std::string("[0]");
    case 3: return pick({"dim3{1, 2}", "t[i]", "*p"});
    case 4: return "f(" + value(depth - 1) + ", " + value(depth - 1) + ")";
    case 5: return "s<" + type(3) + ">" + pick({"()", "::value", "{}"});
    case 6: return "(" + value(depth - 1) + blank() + ")";
    case 7: return "[&] { return " + value(depth - 1) + "; }()";
    default: return "t[" + value(depth - 1) + "]";
  }
}

TEST(LowerFuzz, ValidLaunches) {
  for (int round = 0; round < 30'000; ++round) {
    const std::string kernel = name(), trivia = blank();
    std::string configuration = value(3);
    for (std::size_t n = 1 + below(3); n > 0; --n) configuration += "," + blank() + value(2);
    const std::string before = pick({"", "x = 1; ", "if (a) ", "} ", "\n", "# define M(k) "});
    const std::string after = pick({"(x);", " (a, b<c>(d));", "\n(y);", "(x), 0;"});
    const bool inside = below(2);
    const std::string open = inside ? "f(" : "", close = inside ? ")" : "";
    std::string text = before + open + kernel + trivia + "<<<" + configuration + ">>>" + after + close;
    if (before[0] == '#' && (text.find('\n') != std::string::npos)) continue;  // a macro ends with its line
    const std::string lowered = sim::lower_launches(text);
    ASSERT_EQ(lowered.find("GCC error"), std::string::npos) << text;
    if (inside || before[0] == '#') {
      ASSERT_EQ(lowered, before + open + "SIM_KERNEL(" + kernel + trivia + ")(::sim::configure(" + configuration +
                             "))" + after + close)
          << text;
    }
    ASSERT_NO_FATAL_FAILURE(check(text));
  }
}

// ---- inline PTX that is right

/// Statements over operands %0 to %3 (written, 32 bits), %4 and %5 (32 bits), %6 (64 bits) and %7 (a number).
std::string ptx_statement(int depth) {
  const auto written = [] { return "%" + std::to_string(below(4)); };
  const auto source = [&] { return pick({"%4", "%5", "%7", "0x1F", "-3", "%tid.x", "%laneid", "t1", "t0"}); };
  const auto space = [] { return pick({" ", "  ", "\\t", " /* why */ "}); };
  const std::string condition = below(4) ? "" : pick({"@p ", "@!p "});
  switch (below(depth > 0 ? 10 : 9)) {
    case 0: return condition + "add.u32" + space() + written() + ", " + source() + ", " + source() + ";";
    case 1: return condition + "mov.b32" + space() + pick({"t0", "t1"}) + ", " + source() + ";";
    case 2: return "setp.lt.u32 p, " + source() + "," + space() + source() + ";";
    case 3:
      return condition + "ld.global.v2.u32 {" + written() + "," + space() + written() + "}, [%6+" + pick({"0", "8"}) +
             "];";
    case 4: return condition + "st.shared.b32 [%4], " + source() + ";";
    case 5:
      return "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, t0, t1}, {%4, %5}, {%0, %1, "
             "%2, %3};";
    case 6: return "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0," + space() + "%1}, [%4];";
    case 7: return pick({"bar.sync 0;", "cp.async.commit_group;", "// nothing\\n", ";"});
    case 8: return condition + "selp.b32 " + written() + ", " + source() + ", " + source() + ", p;";
    default: {
      std::string all = "{ ";
      for (std::size_t n = below(3); n > 0; --n) all += ptx_statement(depth - 1) + " ";
      return all + "}";
    }
  }
}

TEST(LowerFuzz, ValidPtx) {
  for (int round = 0; round < 4'000; ++round) {
    const std::string values[] = {value(2), value(2), value(2), value(2), value(2), value(2), value(2), value(2)};
    std::string ptx = "{ .reg .pred p; .reg .b32 t<2>; ";
    for (std::size_t n = 1 + below(4); n > 0; --n) ptx += ptx_statement(2) + pick({" ", "\\n\\t", "\"\n \""});
    ptx += "}";
    if (const std::size_t comment = ptx.find("//");
        comment != std::string::npos && ptx.find('\n', comment) != std::string::npos)
      continue;  // the end of a string does not end a comment
    const auto operand = [&](const char* constraint, int i) {
      return blank() + "\"" + constraint + "\"" + blank() + "(" + values[i] + ")" + blank();
    };
    std::string text = "__device__ void f() {" + blank() + pick({"asm", "asm volatile", "__asm__ __volatile__"}) +
                       " (\"" + ptx + "\"" + blank() + ":" + operand("=r", 0) + "," + operand("+r", 1) + "," +
                       operand("=r", 2) + "," + operand("+r", 3) + ":" + operand("r", 4) + "," + operand("r", 5) + "," +
                       operand("l", 6) + "," + operand("n", 7) + pick({"", ": \"memory\""}) + ")" + blank() +
                       "; done; }";
    const std::vector<sim::edit> edits = sim::assembler_edits(text, sim::tokens_of(text));
    const std::string lowered = sim::apply(text, edits);
    ASSERT_EQ(lowered.find("GCC error"), std::string::npos) << text << "\n" << lowered;
    ASSERT_EQ(edits.size(), 9u) << text;  // before, between and after the operands' expressions
    std::size_t from = 0;
    for (const std::string& v : values) {
      from = lowered.find("(", from);
      const std::size_t at = lowered.find(v, from);
      ASSERT_NE(at, std::string::npos) << text << "\n" << lowered;
      from = at + v.size();
    }
    ASSERT_NO_FATAL_FAILURE(check(text));
  }
}

}  // namespace
