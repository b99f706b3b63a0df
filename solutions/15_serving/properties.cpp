// What serving.hpp promises of pages.cpp and scheduler.cpp, for any stream of operations and requests. RapidCheck draws
// streams that are as hostile as allowed and shrinks one that breaks a promise. The model knows no pager: it has the
// tokens of each sequence, and a memory in which every place remembers what was written there.
//   RC_PARAMS="max_success=100000" build/bin/lab15.properties
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include "serving.hpp"

namespace {

using namespace lab15;
namespace gen = rc::gen;

std::size_t at(int i) { return static_cast<std::size_t>(i); }
int pages_for(std::size_t tokens, int size) { return (static_cast<int>(tokens) + size - 1) / size; }

/// A length of 1 to `most` tokens, often about as many as fill pages.
rc::Gen<int> length(int size, int most) {
  const auto near = [=](int pages, int off) { return std::clamp(pages * size + off, 1, most); };
  return gen::oneOf(gen::inRange(1, most + 1), gen::apply(near, gen::inRange(1, most / size + 2), gen::inRange(-1, 2)));
}
rc::Gen<int> page_size() { return gen::element(1, 2, 3, 4, 16); }

using owned_pager = std::unique_ptr<pager, decltype(&free_pager)>;

// ---- pages.cpp -----------------------------------------------------------------------------------------------------

/// An operation on the live sequence `which`, modulo the number of live ones. A new sequence begins with `kept` of that
/// sequence's tokens.
struct operation {
  enum kind : std::uint8_t { admit, fork, append, release } what;
  int which, kept, count, token;
};

std::ostream& operator<<(std::ostream& to, const operation& o) {
  constexpr const char* names[] = {"admit", "fork", "append", "release"};
  to << names[o.what] << " of " << o.which;
  if (o.what == operation::admit) to << ", its first " << o.kept << " tokens and";
  if (o.what == operation::admit || o.what == operation::append) to << " " << o.count << " x " << o.token;
  return to;
}

rc::Gen<std::vector<operation>> operations(int pages, int size) {
  const int most = (pages + 1) * size;  // more than there is room for
  return gen::container<std::vector<operation>>(gen::build<operation>(
      gen::set(&operation::what,
               gen::weightedElement<operation::kind>(
                   {{4, operation::admit}, {2, operation::fork}, {5, operation::append}, {2, operation::release}})),
      gen::set(&operation::which, gen::inRange(0, 8)),
      gen::set(&operation::kept, gen::oneOf(gen::just(0), length(size, most))),
      gen::set(&operation::count, gen::oneOf(gen::inRange(1, 4), length(size, most))),
      gen::set(&operation::token, gen::inRange(0, 2))));
}

class memory {
 public:
  memory(int pages, int size)
      : pages_(pages), size_(size), written_(at(pages * size)), pager_(make_pager(pages, size), free_pager) {}

  void enter(const operation& now) {
    if (now.what == operation::admit) return admit(now);
    if (live_.empty()) return;
    const std::size_t which = at(now.which) % live_.size();
    switch (now.what) {
      case operation::fork: return fork(which);
      case operation::append:
        for (int i = 0; i < now.count; ++i) append(which, now.token);
        return;
      default: return release(which);
    }
  }
  void release_all() {
    while (!live_.empty()) release(0);
    RC_ASSERT(free_pages(pager_.get()) == pages_);
  }
  bool was_full() const { return was_full_; }
  bool copied() const { return copied_; }

 private:
  /// K and V of a token depend on all tokens before it, so a place remembers those, too: as a hash.
  struct sequence {
    int number = -1;
    std::vector<int> tokens, table = {};
    std::vector<std::uint64_t> history = {};

    void add(int token) {
      tokens.push_back(token);
      history.push_back(((history.empty() ? 14695981039346656037u : history.back()) ^ (at(token) + 1)) *
                        1099511628211u);
    }
  };

  std::set<int> used() const {
    std::set<int> all;
    for (const sequence& s : live_) all.insert(s.table.begin(), s.table.end());
    return all;
  }
  int free() const { return pages_ - static_cast<int>(used().size()); }
  std::uint64_t& place(const sequence& s, std::size_t token) {
    return written_[at(s.table[token / at(size_)] * size_) + token % at(size_)];
  }
  std::vector<int> table(int number, int room) const {
    std::vector<int> all(at(room) + 1, -7);
    const int count = table_of(pager_.get(), number, all.data(), room);
    RC_ASSERT(count >= 0 && count <= room);
    RC_ASSERT(std::all_of(all.begin() + count, all.end(), [](int page) { return page == -7; }));
    all.resize(at(count));
    RC_ASSERT(std::all_of(all.begin(), all.end(), [&](int page) { return page >= 0 && page < pages_; }));
    return all;
  }
  bool is_new(int number) const {
    return number >= 0 &&
           std::none_of(live_.begin(), live_.end(), [&](const sequence& s) { return s.number == number; });
  }

  /// Every sequence has the table that it should have, and finds its own tokens there; no page is lost.
  void expect_all() {
    RC_ASSERT(free_pages(pager_.get()) == free());
    for (const sequence& s : live_) {
      RC_ASSERT(table(s.number, pages_) == s.table);
      RC_ASSERT(table(s.number, 1) == std::vector(1, s.table[0]));
      RC_ASSERT(std::ssize(s.table) == pages_for(s.tokens.size(), size_));
      for (std::size_t t = 0; t < s.tokens.size(); ++t) RC_ASSERT(place(s, t) == s.history[t]);
    }
  }

  void admit(const operation& now) {
    sequence one;
    if (!live_.empty()) {
      const std::vector<int>& from = live_[at(now.which) % live_.size()].tokens;
      for (std::size_t t = 0; t < std::min(at(now.kept), from.size()); ++t) one.add(from[t]);
    }
    for (int i = 0; i < now.count; ++i) one.add(now.token);
    int shared = 0;
    for (const sequence& s : live_) {
      int equal = 0;
      while (at(equal) < std::min(one.tokens.size(), s.tokens.size()) && one.tokens[at(equal)] == s.tokens[at(equal)])
        ++equal;
      shared = std::max(shared, equal / size_);
    }
    const int pages = pages_for(one.tokens.size(), size_);
    const bool fits = pages - shared <= free();
    one.number = lab15::admit(pager_.get(), one.tokens.data(), static_cast<int>(one.tokens.size()));
    if (fits) {
      RC_ASSERT(is_new(one.number));
      one.table = table(one.number, pages_);
      RC_ASSERT(std::ssize(one.table) == pages);
      const std::set<int> others = used();
      for (int i = 0; i < pages; ++i) RC_ASSERT(others.contains(one.table[at(i)]) == (i < shared));
      for (std::size_t t = at(shared * size_); t < one.tokens.size(); ++t) place(one, t) = one.history[t];
      live_.push_back(std::move(one));
    } else {
      RC_ASSERT(one.number == -1);
      was_full_ = true;
    }
    expect_all();
  }

  void fork(std::size_t which) {
    sequence one = live_[which];
    one.number = lab15::fork(pager_.get(), one.number);
    RC_ASSERT(is_new(one.number));
    live_.push_back(std::move(one));
    expect_all();
  }

  void append(std::size_t which, int token) {
    sequence& s = live_[which];
    const int last = s.table.back();
    const auto has_it = [&](const sequence& other) { return std::count(other.table.begin(), other.table.end(), last); };
    const bool begins = s.tokens.size() % at(size_) == 0;
    const bool shared = !begins && std::count_if(live_.begin(), live_.end(), has_it) > 1;
    const bool fits = !(begins || shared) || free() > 0;
    page_copy copy;
    RC_ASSERT(lab15::append(pager_.get(), s.number, token, &copy) == fits);
    if (fits) {
      if (begins || shared) {
        const std::vector<int> now = table(s.number, pages_);
        RC_ASSERT(!now.empty() && !used().contains(now.back()));
        if (begins) s.table.emplace_back();
        s.table.back() = now.back();
      }
      RC_ASSERT(copy.from == (shared ? last : -1));
      RC_ASSERT(copy.to == (shared ? s.table.back() : -1));
      if (shared) std::copy_n(&written_[at(copy.from * size_)], size_, &written_[at(copy.to * size_)]);
      copied_ |= shared;
      s.add(token);
      place(s, s.tokens.size() - 1) = s.history.back();
    } else {
      was_full_ = true;
    }
    expect_all();
  }

  void release(std::size_t which) {
    lab15::release(pager_.get(), live_[which].number);
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(which));
    expect_all();
  }

  int pages_, size_;
  bool was_full_ = false, copied_ = false;
  std::vector<std::uint64_t> written_;  ///< (pages, size)
  std::vector<sequence> live_;
  owned_pager pager_;
};

void pages_keep_their_promises() {
  const int size = *page_size().as("tokens of a page");
  const int pages = *gen::oneOf(gen::just(1), gen::inRange(1, 8), gen::inRange(8, 60)).as("pages");
  memory all(pages, size);
  for (const operation& one : *operations(pages, size).as("operations")) all.enter(one);
  all.release_all();
  RC_CLASSIFY(all.was_full(), "out of memory");
  RC_CLASSIFY(all.copied(), "copied on write");
}

// ---- scheduler.cpp -------------------------------------------------------------------------------------------------

struct request {
  int gap, prompt, output;  ///< arrives this long after the one before
};

std::ostream& operator<<(std::ostream& to, const request& r) {
  return to << "after " << r.gap << ": " << r.prompt << " tokens, then " << r.output;
}

/// A step takes 1, an admitted token `cost`. Its pages are a pager's: with equal texts, requests share them.
class server final : public engine {
 public:
  server(std::vector<request> all, int slots, int size, int pages, int cost, bool equal_texts)
      : all_(std::move(all)),
        slots_(slots),
        size_(size),
        pages_(pages),
        cost_(cost),
        equal_texts_(equal_texts),
        made_(all_.size()),
        ends_(all_.size()),
        number_(all_.size(), -1),
        pager_(make_pager(pages, size), lab15::free_pager) {
    for (const request& r : all_) arrives_.push_back((arrives_.empty() ? 0 : arrives_.back()) + r.gap);
  }

  int slots() const override { return slots_; }
  int page_tokens() const override { return size_; }
  int free_pages() const override { return lab15::free_pages(pager_.get()); }
  int arrived() const override {
    return static_cast<int>(std::upper_bound(arrives_.begin(), arrives_.end(), now_) - arrives_.begin());
  }
  int requests() const override { return static_cast<int>(all_.size()); }
  int tokens(int r) const override { return all_.at(at(r)).prompt + made_.at(at(r)); }
  bool finished(int r) const override { return made_.at(at(r)) == all_.at(at(r)).output; }

  void admit(int r) override {
    RC_ASSERT(may_admit());
    RC_ASSERT(r == first_waiting());
    const std::vector<int> text(at(tokens(r)), token(r));
    number_[at(r)] = lab15::admit(pager_.get(), text.data(), tokens(r));
    RC_ASSERT(number_[at(r)] >= 0);
    running_.insert(r);
    now_ += cost_ * tokens(r);
    expect_pages();
  }
  void preempt(int r) override {
    RC_ASSERT(needed() > free_pages());
    RC_ASSERT(running_.size() > 1u);
    RC_ASSERT(r == *running_.rbegin());
    leave(r);
    preempted_ = true;
    expect_pages();
  }
  void step() override {
    RC_ASSERT(!running_.empty());
    RC_ASSERT(needed() <= free_pages());
    RC_ASSERT(!may_admit());
    int first = 0;
    while (finished(first)) ++first;
    RC_ASSERT(running_.contains(first));  // so each request's turn comes
    ++now_;
    for (const int r : std::set(running_)) {
      page_copy copy;
      RC_ASSERT(append(pager_.get(), number_[at(r)], token(r), &copy));
      RC_ASSERT(copy.from == -1);
      ++made_[at(r)];
      if (!finished(r)) continue;
      ends_[at(r)] = now_;
      leave(r);
    }
    expect_pages();
  }
  void wait() override {
    RC_ASSERT(running_.empty() && first_waiting() == requests() && arrived() < requests());
    now_ = arrives_[at(arrived())];
  }

  void expect_all_served() const {
    for (int r = 0; r < requests(); ++r) {
      RC_ASSERT(finished(r));
      const int least = all_[at(r)].output + cost_ * all_[at(r)].prompt, took = ends_[at(r)] - arrives_[at(r)];
      RC_ASSERT(took >= least);
      if (has_room_for_all() && cost_ == 0) RC_ASSERT(took == least);
    }
    RC_ASSERT(free_pages() == pages_);
    RC_ASSERT(!(has_room_for_all() && preempted_));
  }
  bool preempted() const { return preempted_; }

 private:
  int token(int r) const { return equal_texts_ ? 0 : r; }
  int pages_of(int tokens) const { return pages_for(at(tokens), size_); }
  bool has_room_for_all() const {
    return slots_ >= requests() && pages_ >= std::accumulate(all_.begin(), all_.end(), 0, [&](int sum, request r) {
                                     return sum + pages_of(r.prompt + r.output);
                                   });
  }
  int first_waiting() const {
    for (int r = 0; r < arrived(); ++r)
      if (!finished(r) && !running_.contains(r)) return r;
    return requests();
  }
  /// New pages for the next tokens of those who run.
  int needed() const {
    return static_cast<int>(
        std::count_if(running_.begin(), running_.end(), [&](int r) { return tokens(r) % size_ == 0; }));
  }
  bool may_admit() const {
    const int r = first_waiting();
    return r < requests() && std::ssize(running_) < slots_ && pages_of(tokens(r) + 1) + needed() <= free_pages();
  }
  void leave(int r) {
    release(pager_.get(), number_[at(r)]);
    running_.erase(r);
  }
  void expect_pages() const {
    int used = 0;
    for (const int r : running_) used += pages_of(tokens(r));
    const int least = pages_ - used;
    RC_ASSERT(free_pages() == least || (equal_texts_ && free_pages() > least));
  }

  std::vector<request> all_;
  int slots_, size_, pages_, cost_, now_ = 0;
  bool equal_texts_, preempted_ = false;
  std::vector<int> made_, ends_, arrives_, number_;
  std::set<int> running_;
  owned_pager pager_;
};

void scheduler_keeps_its_promises() {
  const int size = *page_size().as("tokens of a page"), slots = *gen::inRange(1, 7).as("slots");
  const int cost = *gen::inRange(0, 2).as("cost of an admitted token");
  const auto one = gen::build<request>(gen::set(&request::gap, gen::oneOf(gen::just(0), gen::inRange(0, 20))),
                                       gen::set(&request::prompt, length(size, 4 * size)),
                                       gen::set(&request::output, length(size, 3 * size)));
  const auto all = *gen::container<std::vector<request>>(one).as("requests");
  int pages = 1;  // as few as allowed: any request alone fits
  for (const request& r : all) pages = std::max(pages, pages_for(at(r.prompt + r.output), size));
  pages += *gen::oneOf(gen::just(0), gen::inRange(0, 8), gen::inRange(0, 500)).as("pages more than the longest needs");
  server of(all, slots, size, pages, cost, *gen::arbitrary<bool>().as("equal texts"));
  serve(of);
  of.expect_all_served();
  RC_CLASSIFY(of.preempted(), "preempted");
}

}  // namespace

int main() {
  const bool pages = rc::check("pages.cpp keeps its promises", pages_keep_their_promises);
  const bool scheduler = rc::check("scheduler.cpp keeps its promises", scheduler_keeps_its_promises);
  return pages && scheduler ? 0 : 1;
}
