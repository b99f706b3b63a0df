// Random operations on a pager, and a judge that follows its answers.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <lab/case.hpp>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "operations.hpp"

namespace lab15 {

using std::int32_t;
using std::int64_t;

inline std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

struct pager_plan {
  int pages, page_tokens, names, operations, longest;
  bool shares;  ///< sequences share pages: of equal beginnings, and by forks
};

/// Random operations; at the end all sequences are released.
inline std::vector<int32_t> operations_of(const pager_plan& plan, std::uint64_t seed) {
  lab::random_sizes draw(seed);
  const auto any = [&](int64_t least, int64_t most) { return static_cast<int32_t>(draw(least, most)); };
  // Sequences begin like one of three texts and have few distinct tokens, so pages are often equal, even by chance. The
  // tokens differ in few bits: in a type that is too narrow, they are equal.
  const auto token = [&] {
    constexpr int32_t few[] = {0x4000'0000, 0x4000'0001, 0x4001'0000};
    return plan.shares ? few[any(0, 9) / 4] : any(0, std::numeric_limits<int32_t>::max());
  };
  std::vector<std::vector<int32_t>> texts(3);
  for (auto& text : texts)
    for (int i = 0; i < plan.longest; ++i) text.push_back(token());
  std::vector<int32_t> all;
  const auto add = [&](int32_t what, int32_t name, const std::vector<int32_t>& tokens) {
    all.insert(all.end(), {what, name, any(0, plan.names - 1), any(0, plan.names - 1),
                           any(0, 3) ? plan.pages : any(0, 2), static_cast<int32_t>(tokens.size())});
    all.insert(all.end(), tokens.begin(), tokens.end());
  };
  for (int i = 0; i < plan.operations; ++i) {
    const int32_t name = any(0, plan.names - 1), kind = any(1, 100);
    if (kind <= 20) {
      const auto count = at(any(1, plan.longest));
      std::vector<int32_t> tokens = texts[at(any(0, 2))];
      const auto common = at(std::max(0, any(0, plan.longest / plan.page_tokens) * plan.page_tokens + any(-1, 1)));
      for (std::size_t t = plan.shares ? common : 0; t < tokens.size(); ++t) tokens[t] = token();
      tokens.resize(count);
      add(operation::admit, name, tokens);
    } else if (kind <= 30 && plan.shares) {
      add(operation::fork, name, {});
    } else if (kind <= 88) {
      add(operation::append, name, {token()});
    } else {
      add(operation::release, name, {});
    }
  }
  for (int32_t name = 0; name < plan.names; ++name) add(operation::release, name, {});
  return all;
}

/// Follows the answers: a page belongs to the sequences whose tables have it.
class pager_judge {
 public:
  explicit pager_judge(const pager_plan& plan) : plan_(plan), owners_(at(plan.pages)) {}

  /// "", or what is wrong with the answer.
  std::string enter(const operation& now, const int32_t* answer) {
    std::string wrong;
    told_ = answer + 4;
    switch (now.what) {
      case operation::admit:
        if (!lives(now.name)) wrong = admit(now, answer[0]);
        break;
      case operation::fork:
        if (lives(now.name) && !lives(now.other)) wrong = fork(now, answer[0]);
        break;
      case operation::append:
        if (lives(now.name)) wrong = append(now, answer);
        break;
      default:
        if (lives(now.name)) {
          what_ = about("release", live_[now.name]);
          own(live_[now.name].table, -1);
          live_.erase(now.name);
        }
    }
    if (wrong.empty() && answer[3] != free())
      wrong = fmt::format("free_pages returns {}, but {} of {} pages are in no table", answer[3], free(), plan_.pages);
    if (wrong.empty() && lives(now.witness)) wrong = read(now, answer + 5 + plan_.pages);
    return wrong.empty() ? "" : what_ + ": " + wrong;
  }

 private:
  struct sequence {
    int32_t number = 0;
    std::vector<int32_t> tokens, table;
  };

  bool lives(int32_t name) const { return live_.contains(name); }
  int free() const { return static_cast<int>(std::count(owners_.begin(), owners_.end(), 0)); }
  void own(const std::vector<int32_t>& table, int more) {
    for (const int32_t page : table) owners_[at(page)] += more;
  }
  static std::string about(const char* what, const sequence& s) {
    return fmt::format("{}, of a sequence with {} tokens", what, s.tokens.size());
  }
  std::string wrong_number(int32_t number) const {
    if (number < 0) return fmt::format("returns {}", number);
    for (const auto& [name, one] : live_)
      if (one.number == number) return fmt::format("returns {}, which a live sequence has", number);
    return "";
  }
  std::string not_new(int32_t page) const {
    if (page < 0 || page >= plan_.pages) return fmt::format("is {}, which is no page", page);
    return owners_[at(page)] == 0 ? "" : fmt::format("is {}, which is in a live sequence's table", page);
  }

  std::string admit(const operation& now, int32_t result) {
    sequence one{result, {now.tokens, now.tokens + now.count}, {}};
    what_ = fmt::format("admit, of {} tokens", now.count);
    const int size = plan_.page_tokens, pages = (now.count + size - 1) / size;
    const auto equal_pages = [&](const sequence& other) {
      const auto most = std::min(one.tokens.size(), other.tokens.size());
      const auto end = one.tokens.begin() + static_cast<std::ptrdiff_t>(most);
      return static_cast<int>(std::mismatch(one.tokens.begin(), end, other.tokens.begin()).first - one.tokens.begin()) /
             size;
    };
    int shared = 0;
    for (const auto& [name, other] : live_) shared = std::max(shared, equal_pages(other));
    const std::string why = fmt::format("pages: {} needed, {} of them to be shared, {} free", pages, shared, free());
    if (pages - shared > free()) return result == -1 ? "" : fmt::format("returns {}, should be -1: {}", result, why);
    if (const std::string wrong = wrong_number(result); !wrong.empty()) return wrong + ": " + why;
    if (told_[0] != pages) return fmt::format("its table has {} pages: {}", told_[0], why);
    for (int i = 0; i < pages; ++i) {
      const int32_t page = told_[1 + i];
      std::string wrong;
      if (i >= shared) {
        wrong = not_new(page);
        if (wrong.empty() && std::find(one.table.begin(), one.table.end(), page) != one.table.end())
          wrong = fmt::format("is {}, which is in its table before", page);
      } else if (std::none_of(live_.begin(), live_.end(), [&](const auto& other) {
                   return equal_pages(other.second) > i && other.second.table[at(i)] == page;
                 })) {
        wrong =
            fmt::format("is {}, but a live sequence with the same {} first tokens has another", page, (i + 1) * size);
      }
      if (!wrong.empty()) return fmt::format("page {} of its table {}: {}", i, wrong, why);
      one.table.push_back(page);
    }
    own(one.table, 1);
    live_[now.name] = std::move(one);
    return "";
  }

  std::string fork(const operation& now, int32_t result) {
    const sequence& of = live_[now.name];
    what_ = about("fork", of);
    if (const std::string wrong = wrong_number(result); !wrong.empty()) return wrong;
    if (const std::string wrong = other_table(of.table, told_, plan_.pages); !wrong.empty())
      return "the new one's " + wrong;
    own(of.table, 1);
    sequence copy = of;
    copy.number = result;
    live_[now.other] = std::move(copy);
    return "";
  }

  std::string append(const operation& now, const int32_t* answer) {
    sequence& to = live_[now.name];
    what_ = about("append, to the end", to);
    const bool begins = to.tokens.size() % at(plan_.page_tokens) == 0;
    const bool shared = !begins && owners_[at(to.table.back())] > 1;
    const char* const why = begins   ? "the token begins a page"
                            : shared ? "its page is shared"
                                     : "its page is not shared";
    const bool can = !(begins || shared) || free() > 0;
    if (answer[0] != static_cast<int32_t>(can))
      return fmt::format("returns {}: {}; free pages: {}", answer[0] != 0, why, free());
    if (!can) return other_table(to.table, told_, plan_.pages);
    std::vector<int32_t> table = to.table;
    const int32_t last = told_[0] > 0 && told_[0] <= plan_.pages ? told_[told_[0]] : absent;
    if (begins || shared) {
      if (const std::string wrong = not_new(last); !wrong.empty())
        return fmt::format("{}, and the last page of the table {}", why, wrong);
      if (begins) table.push_back(last);
      if (shared) table.back() = last;
    }
    const int32_t from = shared ? to.table.back() : -1, into = shared ? last : -1;
    if (answer[1] != from || answer[2] != into)
      return fmt::format("{}, and the copy is from {} to {} but should be from {} to {}", why, answer[1], answer[2],
                         from, into);
    if (const std::string wrong = other_table(table, told_, plan_.pages); !wrong.empty()) return wrong;
    own(to.table, -1);
    own(table, 1);
    to.table = table;
    to.tokens.push_back(now.tokens[0]);
    return "";
  }

  std::string read(const operation& now, const int32_t* told) {
    const std::string wrong = other_table(live_[now.witness].table, told, now.room);
    return wrong.empty() ? ""
                         : fmt::format("afterwards, read with room for {}, {}'s {}", now.room,
                                       now.witness == now.name ? "its sequence" : "another sequence", wrong);
  }

  /// What is wrong with a table that was read with this much room.
  std::string other_table(const std::vector<int32_t>& want, const int32_t* told, int room) const {
    const int count = std::min(static_cast<int>(want.size()), room);
    if (told[0] != count) return fmt::format("table has {} pages, should have {}", told[0], count);
    for (int i = 0; i < count; ++i)
      if (told[1 + i] != want[at(i)])
        return fmt::format("table has page {} at {}, should have {}", told[1 + i], i, want[at(i)]);
    for (int i = count; i < plan_.pages; ++i)
      if (told[1 + i] != absent) return fmt::format("table was written beyond the {} pages that it had room for", room);
    return "";
  }

  pager_plan plan_;
  std::vector<int> owners_;
  std::map<int32_t, sequence> live_;
  const int32_t* told_ = nullptr;  ///< the table of the operation's sequence
  std::string what_ = "at the beginning";
};

}  // namespace lab15
