// Byte-pair encoding and generation.
#include "gpt2/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <sstream>

#include "gpt2/safetensors.hpp"
#include "lab/splitmix.hpp"

namespace gpt2 {
namespace {

using code_point = char32_t;
constexpr const char* end_of_text_name = "<|endoftext|>";

std::optional<std::string> text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in || !std::filesystem::is_regular_file(file)) return {};
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void append(std::string& to, code_point c) {
  if (c < 0x80) {
    to += static_cast<char>(c);
  } else if (c < 0x800) {
    to += static_cast<char>(0xC0 | (c >> 6));
    to += static_cast<char>(0x80 | (c & 63));
  } else {
    to += static_cast<char>(0xE0 | (c >> 12));
    to += static_cast<char>(0x80 | ((c >> 6) & 63));
    to += static_cast<char>(0x80 | (c & 63));
  }
}

/// vocab.json and merges.txt write each byte as a visible character: itself, or one from U+0100 on.
std::string visible(unsigned char byte) {
  const auto seen = [](int b) { return (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE; };
  int before = 0;
  for (int b = 0; b < byte; ++b) before += !seen(b);
  std::string text;
  append(text, static_cast<code_point>(seen(byte) ? byte : 0x100 + before));
  return text;
}

std::string bytes_of_visible(const std::string& text, const std::string& name) {
  static const std::map<std::string, char> table = [] {
    std::map<std::string, char> result;
    for (int b = 0; b < 256; ++b) result[visible(static_cast<unsigned char>(b))] = static_cast<char>(b);
    return result;
  }();
  std::string bytes;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = static_cast<unsigned char>(text[i]) < 0x80 ? 1 : 2;
    const auto found = table.find(text.substr(i, length));
    if (found == table.end()) fail(name, fmt::format("'{}' does not use GPT-2's encoding of bytes", text));
    bytes += found->second;
    i += length;
  }
  return bytes;
}

// ---- GPT-2's words: 's 't 're 've 'm 'll 'd, or letters, numbers or others with at most one space before, or spaces
// ---

enum class kind { letter, number, space, other };

kind kind_of(code_point c) {
  const auto in = [c](std::initializer_list<std::pair<code_point, code_point>> blocks) {
    return std::any_of(blocks.begin(), blocks.end(), [c](const auto& b) { return c >= b.first && c <= b.second; });
  };
  if (c < 0x80) {
    if (in({{'a', 'z'}, {'A', 'Z'}})) return kind::letter;
    if (in({{'0', '9'}})) return kind::number;
    return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x1F) ? kind::space : kind::other;
  }
  if (in({{0x85, 0x85},
          {0xA0, 0xA0},
          {0x1680, 0x1680},
          {0x2000, 0x200A},
          {0x2028, 0x2029},
          {0x202F, 0x202F},
          {0x205F, 0x205F},
          {0x3000, 0x3000}}))
    return kind::space;
  if (in({{0xB2, 0xB3},
          {0xB9, 0xB9},
          {0xBC, 0xBE},
          {0x660, 0x669},
          {0x6F0, 0x6F9},
          {0x966, 0x96F},
          {0x2070, 0x2070},
          {0x2074, 0x2079},
          {0x2080, 0x2089},
          {0x2150, 0x2189},
          {0x2460, 0x249B},
          {0x24EA, 0x24FF},
          {0x2776, 0x2793},
          {0x3007, 0x3007},
          {0x3021, 0x3029},
          {0xFF10, 0xFF19}}))
    return kind::number;
  if (in({{0x80, 0xA9},       {0xAB, 0xB1},       {0xB4, 0xB4},     {0xB6, 0xB8},     {0xBB, 0xBB},
          {0xBF, 0xBF},       {0xD7, 0xD7},       {0xF7, 0xF7},     {0x2C2, 0x2C5},   {0x2D2, 0x2DF},
          {0x300, 0x36F},     {0x200B, 0x206F},   {0x207A, 0x207E}, {0x208A, 0x208E}, {0x20A0, 0x20FF},
          {0x2190, 0x245F},   {0x249C, 0x24E9},   {0x2500, 0x2775}, {0x2794, 0x2BFF}, {0x2E00, 0x2E7F},
          {0x3001, 0x3004},   {0x3008, 0x3020},   {0x3030, 0x3030}, {0xD800, 0xF8FF}, {0xFE00, 0xFE6F},
          {0xFF01, 0xFF0F},   {0xFF1A, 0xFF20},   {0xFF3B, 0xFF40}, {0xFF5B, 0xFF65}, {0xFFE0, 0xFFFF},
          {0x1F000, 0x1FAFF}, {0xE0000, 0x10FFFF}}))
    return kind::other;
  return kind::letter;
}

struct character {
  std::size_t begin;
  gpt2::kind kind;
};

/// Bytes that are not UTF-8 count as "others".
std::vector<character> characters_of(const std::string& text) {
  std::vector<character> result;
  for (std::size_t i = 0; i < text.size();) {
    const auto at = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
    const std::size_t length = at(i) < 0x80 ? 1 : at(i) >= 0xF0 ? 4 : at(i) >= 0xE0 ? 3 : at(i) >= 0xC2 ? 2 : 0;
    bool whole = length > 0 && i + length <= text.size();
    code_point c = length > 1 ? at(i) & (0xFFu >> (length + 1)) : at(i);
    for (std::size_t k = 1; whole && k < length; ++k) {
      whole = (at(i + k) & 0xC0) == 0x80;
      c = c << 6 | (at(i + k) & 63);
    }
    result.push_back({i, whole ? kind_of(c) : kind::other});
    i += whole ? length : 1;
  }
  return result;
}

std::vector<std::string> words_of(const std::string& text) {
  const std::vector<character> all = characters_of(text);
  std::vector<std::string> words;
  const auto begin_of = [&](std::size_t i) { return i < all.size() ? all[i].begin : text.size(); };
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    for (const char* suffix : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
      if (end == i && text.compare(all[i].begin, std::strlen(suffix), suffix) == 0) end = i + std::strlen(suffix);
    if (end == i) {
      const std::size_t first = text[all[i].begin] == ' ' && i + 1 < all.size() ? i + 1 : i;
      if (all[first].kind != kind::space) {
        for (end = first; end < all.size() && all[end].kind == all[first].kind;) ++end;
      } else {
        for (end = i; end < all.size() && all[end].kind == kind::space;) ++end;
        if (end < all.size() && end - i > 1) --end;  // the last space belongs to the next word
      }
    }
    words.push_back(text.substr(all[i].begin, begin_of(end) - all[i].begin));
    i = end;
  }
  return words;
}

}  // namespace

void tokenizer::add(int id, std::string bytes, const std::string& name) {
  if (id < 0 || id >= 1 << 20) fail(name, fmt::format("token {} is out of range; the file is damaged", id));
  if (static_cast<std::size_t>(id) >= bytes_.size()) bytes_.resize(static_cast<std::size_t>(id) + 1);
  bytes_[static_cast<std::size_t>(id)] = bytes;
  ids_.emplace(std::move(bytes), id);
}

void tokenizer::expect_all_bytes(const std::string& name) const {
  for (int b = 0; b < 256; ++b)
    if (!ids_.contains(std::string(1, static_cast<char>(b))))
      fail(name, fmt::format("has no token for byte {}; this is not a byte-level vocabulary", b));
}

tokenizer tokenizer::from_vocabulary(const std::string& vocab_json, const std::string& merges,
                                     const std::string& name) {
  tokenizer result;
  const auto vocabulary = nlohmann::json::parse(vocab_json, nullptr, false);
  if (!vocabulary.is_object()) fail(name, "vocab.json is not a JSON object; download it again");
  for (const auto& [word, id] : vocabulary.items()) {
    if (!id.is_number_integer()) fail(name, fmt::format("vocab.json: the token of '{}' is not a number", word));
    if (id.get<std::int64_t>() < 0 || id.get<std::int64_t>() >= 1 << 20)
      fail(name, fmt::format("vocab.json: token {} is out of range", id.dump()));
    const bool special = word == end_of_text_name;
    result.add(id.get<int>(), special ? word : bytes_of_visible(word, name + "/vocab.json"), name);
    if (special) result.end_of_text_ = id.get<int>();
  }
  std::istringstream lines(merges);
  int order = 0;
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty() || line.starts_with("#version")) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos)
      fail(name, fmt::format("merges.txt: '{}' is not two words", line));
    const std::string left = bytes_of_visible(line.substr(0, space), name + "/merges.txt"),
                      right = bytes_of_visible(line.substr(space + 1), name + "/merges.txt");
    if (!result.ids_.contains(left + right))
      fail(name, fmt::format("merges.txt makes '{}', which vocab.json does not have; do they belong to the same model?",
                             line));
    result.merges_.emplace(std::pair{left, right}, order++);
  }
  result.expect_all_bytes(name);
  return result;
}

tokenizer tokenizer::from_llmc(std::span<const std::byte> file, const std::string& name) {
  constexpr std::uint32_t magic = 20240328;
  std::uint32_t header[256];
  if (file.size() < sizeof header) fail(name, "is shorter than llm.c's header; download it again");
  std::memcpy(header, file.data(), sizeof header);
  if (header[0] != magic || (header[1] != 1 && header[1] != 2))
    fail(name, "is not an llm.c tokenizer file of version 1 or 2");
  tokenizer result;
  std::size_t at = sizeof header;
  for (std::uint32_t id = 0; id < header[2]; ++id) {
    const std::size_t length = at < file.size() ? std::to_integer<std::size_t>(file[at]) : 0;
    if (at >= file.size() || at + 1 + length > file.size())
      fail(name, fmt::format("ends within token {} of {}; it is truncated: download it again", id, header[2]));
    result.add(static_cast<int>(id), {reinterpret_cast<const char*>(file.data()) + at + 1, length}, name);
    at += 1 + length;
  }
  result.end_of_text_ = header[1] == 2 ? static_cast<int>(std::min(header[3], header[2])) : 50256;
  if (result.end_of_text_ >= result.size()) result.end_of_text_ = -1;
  result.expect_all_bytes(name);
  return result;
}

tokenizer::tokenizer(const std::filesystem::path& where) {
  const bool folder = std::filesystem::is_directory(where);
  const auto vocabulary = folder ? text_of(where / "vocab.json") : std::nullopt;
  if (vocabulary) {
    const auto merges = text_of(where / "merges.txt");
    if (!merges) fail(where.string(), "has a vocab.json but no merges.txt; add it");
    *this = from_vocabulary(*vocabulary, *merges, where.string());
    return;
  }
  const auto file = folder ? where / "gpt2_tokenizer.bin" : where;
  const auto bytes = text_of(file);
  if (!bytes)
    fail(where.string(),
         "no tokenizer found; give a folder with GPT-2's vocab.json and merges.txt, or llm.c's gpt2_tokenizer.bin. "
         "Without a tokenizer, give --tokens and read token numbers");
  *this = from_llmc(std::as_bytes(std::span(*bytes)), file.string());
}

int tokenizer::rank(const std::string& left, const std::string& right) const {
  constexpr int never = std::numeric_limits<int>::max();
  if (merges_.empty()) {
    const auto found = ids_.find(left + right);
    return found == ids_.end() || found->second == end_of_text_ ? never : found->second;
  }
  const auto found = merges_.find({left, right});
  return found == merges_.end() ? never : found->second;
}

std::vector<int> tokenizer::encode(const std::string& text) const {
  std::vector<int> tokens;
  if (end_of_text_ >= 0) {
    if (const std::size_t at = text.find(end_of_text_name); at != std::string::npos) {
      tokens = encode(text.substr(0, at));
      tokens.push_back(end_of_text_);
      const std::vector<int> rest = encode(text.substr(at + std::strlen(end_of_text_name)));
      tokens.insert(tokens.end(), rest.begin(), rest.end());
      return tokens;
    }
  }
  for (const std::string& word : words_of(text)) {
    std::vector<std::string> parts;
    for (const char c : word) parts.emplace_back(1, c);
    while (parts.size() > 1) {
      std::size_t best = 0;
      int lowest = std::numeric_limits<int>::max();
      for (std::size_t i = 0; i + 1 < parts.size(); ++i)
        if (const int r = rank(parts[i], parts[i + 1]); r < lowest) lowest = r, best = i;
      if (lowest == std::numeric_limits<int>::max()) break;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    for (const std::string& part : parts) tokens.push_back(ids_.at(part));
  }
  return tokens;
}

std::string tokenizer::decode(std::span<const int> tokens) const {
  std::string text;
  for (const int t : tokens) {
    if (t < 0 || t >= size())
      throw model_error(fmt::format(
          "token {} is not one of the tokenizer's {}; does the tokenizer belong to another model?", t, size()));
    text += bytes_[static_cast<std::size_t>(t)];
  }
  return text;
}

namespace {

/// Uniform in [0, 1).
double uniform(std::uint64_t& state) { return static_cast<double>(lab::splitmix64(state) >> 11) * 0x1p-53; }

}  // namespace

int choose(const std::vector<float>& logits, const sampling& how, std::uint64_t& state) {
  for (const float l : logits)
    if (std::isnan(l)) throw model_error("a logit is NaN; are the model's weights damaged?");
  const auto likeliest = std::max_element(logits.begin(), logits.end());
  if (how.temperature <= 0) return static_cast<int>(likeliest - logits.begin());
  std::vector<int> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  if (how.top > 0) order.resize(std::min(order.size(), static_cast<std::size_t>(how.top)));
  std::vector<double> up_to;
  double sum = 0;
  for (const int t : order)
    up_to.push_back(sum +=
                    std::exp(static_cast<double>(logits[static_cast<std::size_t>(t)] - *likeliest) / how.temperature));
  const auto found = std::upper_bound(up_to.begin(), up_to.end(), uniform(state) * sum);
  return order[std::min(static_cast<std::size_t>(found - up_to.begin()), order.size() - 1)];
}

std::vector<int> generate(pass& with, const config& of, std::vector<int> tokens, int count, const sampling& how,
                          const std::function<void(int)>& made) {
  const std::size_t length = tokens.size() + static_cast<std::size_t>(std::max(count, 0));
  if (tokens.empty()) throw model_error("no token to start from; give a prompt");
  if (length > static_cast<std::size_t>(of.context))
    throw model_error(fmt::format("{} tokens plus {} new ones exceed the model's context, {}; ask for fewer",
                                  tokens.size(), count, of.context));
  std::uint64_t state = how.seed;
  // A constant length avoids reallocation; later tokens do not affect earlier positions.
  std::vector<int> padded(length, 0);
  while (tokens.size() < length) {
    std::copy(tokens.begin(), tokens.end(), padded.begin());
    with.forward(padded, 1, static_cast<int>(length));
    tokens.push_back(choose(with.logits_at(0, static_cast<int>(tokens.size()) - 1), how, state));
    if (made) made(tokens.back());
  }
  return tokens;
}

}  // namespace gpt2
