// A server in real time: your scheduler calls it, your pager keeps its memory, and requests arrive from other threads
// while it runs. A step takes as long as this machine needs.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "engine.hpp"
#include "gpt2/text.hpp"
#include "paged_llama.hpp"

namespace lab15 {

class live_engine final : public engine {
 public:
  struct figures {
    int steps = 0, preemptions = 0;
    std::int64_t generated = 0, computed = 0, shared = 0;  ///< tokens; shared: at admissions, found in shared pages
  };

  /// Serves this many `requests`.
  live_engine(const llama::checkpoint& model, int slots, int pages, int requests)
      : model_(model, pages),
        ends_(model.ends),
        slots_(slots),
        pages_(pages),
        requests_(requests),
        pager_(make_pager(pages, lab15::page_tokens), free_pager) {}

  // For clients, from any thread.

  /// A request for at most `count` tokens after the prompt; returns its number, or -1 if no more are served. Throws
  /// model_error if it is impossible to serve.
  int submit(const std::vector<int>& prompt, int count, const gpt2::sampling& how) {
    const int most = std::min(model_.config().context, pages_ * lab15::page_tokens);
    if (prompt.empty() || count < 1)
      throw llama::model_error("a request has at least one token, and asks for at least one");
    if (std::ssize(prompt) + count > most)
      throw llama::model_error(std::to_string(prompt.size()) + " tokens and " + std::to_string(count) +
                               " new ones are more than the " + std::to_string(most) +
                               " that this server has room for");
    for (const int token : prompt)
      if (token < 0 || token >= model_.config().vocabulary)
        throw llama::model_error("token " + std::to_string(token) + " is not one of the model's " +
                                 std::to_string(model_.config().vocabulary));
    const std::scoped_lock lock(mutex_);
    if (std::ssize(all_) == requests_) return -1;
    one& r = all_.emplace_back();
    r.tokens = prompt, r.prompt = prompt.size(), r.most = prompt.size() + at(count);
    r.how = how, r.state = how.seed;
    changed_.notify_all();
    return static_cast<int>(std::ssize(all_)) - 1;
  }
  /// Waits for the request's new token number `i`; nothing if it has ended before. Throws misuse if the server has.
  std::optional<int> wait_for(int request, std::size_t i) {
    std::unique_lock lock(mutex_);
    const one& r = all_.at(at(request));
    changed_.wait(lock, [&] { return r.tokens.size() > r.prompt + i || r.finished || !failure_.empty(); });
    if (r.tokens.size() > r.prompt + i) return r.tokens[r.prompt + i];
    if (!r.finished) throw misuse(failure_);
    return {};
  }
  /// Whether its last token is one that ends a text.
  bool stopped(int request) {
    const std::scoped_lock lock(mutex_);
    return ends_text(all_.at(at(request)).tokens.back());
  }
  /// All waiting clients get `why`.
  void fail(const std::string& why) {
    const std::scoped_lock lock(mutex_);
    failure_ = why;
    changed_.notify_all();
  }

  // For the scheduler.

  int slots() const override { return slots_; }
  int page_tokens() const override { return lab15::page_tokens; }
  int free_pages() const override { return lab15::free_pages(pager_.get()); }
  int requests() const override { return requests_; }
  int arrived() const override {
    const std::scoped_lock lock(mutex_);
    return static_cast<int>(std::ssize(all_));
  }
  int tokens(int request) const override { return tokens_of(of(*this, request)); }
  bool finished(int request) const override {
    const std::scoped_lock lock(mutex_);
    return request < std::ssize(all_) && all_[at(request)].finished;
  }

  void admit(int request) override {
    one& r = waiting(request);
    if (std::ssize(running_) == slots_) throw misuse("no slot is free");
    r.sequence = lab15::admit(pager_.get(), r.tokens.data(), tokens_of(r));
    if (r.sequence < 0)
      throw misuse("admit (pages.cpp) has no pages for the " + std::to_string(r.tokens.size()) + " tokens of request " +
                   std::to_string(request) + "; " + std::to_string(free_pages()) + " are free");
    update_table(r);
    // What another sequence has computed is in the pages that both share.
    std::size_t known = 0;
    for (const one* other : running_) {
      const auto same = std::mismatch(r.table.begin(), r.table.end(), other->table.begin(), other->table.end()).first;
      known = std::max(known, static_cast<std::size_t>(same - r.table.begin()) * at(lab15::page_tokens));
    }
    known = std::min(known, r.tokens.size());
    std::vector<paged_llama::row> rows;
    for (std::size_t i = std::min(known, r.tokens.size() - 1); i < r.tokens.size(); ++i)
      rows.push_back({r.tokens[i], static_cast<int>(i), r.table, i < known});
    const std::vector<float> logits = model_.pass(rows);
    r.logits.assign(logits.end() - model_.config().vocabulary, logits.end());
    seen_.computed += std::ssize(rows);
    seen_.shared += static_cast<std::int64_t>(r.tokens.size()) - std::ssize(rows);
    running_.push_back(&r);
  }

  void preempt(int request) override {
    leave(running(request));
    ++seen_.preemptions;
  }

  void step() override {
    if (running_.empty()) throw misuse("no request runs");
    const std::vector<one*> batch = running_;
    std::vector<paged_llama::row> rows;
    for (one* const r : batch) {
      const int token = gpt2::choose(r->logits, r->how, r->state);
      page_copy copy;
      if (!append(pager_.get(), r->sequence, token, &copy))
        throw misuse("append (pages.cpp) has no page for a next token; " + std::to_string(free_pages()) + " are free");
      if (copy.from >= 0) model_.copy_page(copy);
      {
        const std::scoped_lock lock(mutex_);
        r->tokens.push_back(token);
      }
      update_table(*r);
      rows.push_back({token, tokens_of(*r) - 1, r->table});
    }
    const std::vector<float> logits = model_.pass(rows);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      one& r = *batch[i];
      const auto from = logits.begin() + static_cast<std::ptrdiff_t>(i) * model_.config().vocabulary;
      r.logits.assign(from, from + model_.config().vocabulary);
      if (r.tokens.size() < r.most && !ends_text(r.tokens.back())) continue;
      leave(r);
      const std::scoped_lock lock(mutex_);
      r.finished = true;
    }
    ++seen_.steps;
    seen_.generated += std::ssize(batch);
    changed_.notify_all();
  }

  void wait() override {
    std::unique_lock lock(mutex_);
    if (!running_.empty()) throw misuse("requests run");
    const auto ended = std::count_if(all_.begin(), all_.end(), [](const one& r) { return r.finished; });
    if (ended == requests_) throw misuse("all requests have arrived");
    changed_.wait(lock, [&] { return std::ssize(all_) > ended; });
  }

  const figures& seen() const { return seen_; }

 private:
  struct one {
    std::vector<int> tokens;
    std::size_t prompt = 0, most = 0;
    gpt2::sampling how;
    std::uint64_t state = 0;
    bool finished = false;
    int sequence = -1;  ///< while it runs
    std::vector<int> table;
    std::vector<float> logits;  ///< after its last token
  };

  static int tokens_of(const one& r) { return static_cast<int>(std::ssize(r.tokens)); }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  bool ends_text(int token) const { return std::find(ends_.begin(), ends_.end(), token) != ends_.end(); }
  template <class Self>
  static std::conditional_t<std::is_const_v<Self>, const one, one>& of(Self& self, int request) {
    const std::scoped_lock lock(self.mutex_);
    if (request < 0 || request >= std::ssize(self.all_))
      throw misuse("request " + std::to_string(request) + " has not arrived");
    return self.all_[at(request)];
  }
  one& waiting(int request) {
    one& r = of(*this, request);
    if (r.finished || r.sequence >= 0) throw misuse("request " + std::to_string(request) + " does not wait");
    return r;
  }
  one& running(int request) {
    one& r = of(*this, request);
    if (r.sequence < 0) throw misuse("request " + std::to_string(request) + " does not run");
    return r;
  }
  void update_table(one& r) const {
    r.table.resize((r.tokens.size() - 1) / at(lab15::page_tokens) + 1);
    const int count = table_of(pager_.get(), r.sequence, r.table.data(), static_cast<int>(r.table.size()));
    for (const int page : r.table)
      if (count != std::ssize(r.table) || page < 0 || page >= pages_)
        throw misuse("table_of (pages.cpp) returns other pages than those of " + std::to_string(r.tokens.size()) +
                     " tokens");
  }
  void leave(one& r) {
    release(pager_.get(), r.sequence);
    r.sequence = -1;
    std::erase(running_, &r);
  }

  paged_llama model_;
  std::vector<int> ends_;
  int slots_, pages_, requests_;
  std::unique_ptr<pager, void (*)(pager*)> pager_;
  std::vector<one*> running_;
  figures seen_;
  // Clients read tokens and `finished`, and add requests; all else belongs to the scheduler's thread.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<one> all_;
  std::string failure_;
};

}  // namespace lab15
