// Memory for K and V, page by page. A page belongs to as many sequences as have it in their tables; it is free when
// none has. A shared page is never written, so a sequence may share only whole pages and, after a fork, the last
// one.
#include "serving.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace lab15 {

struct pager {
  struct sequence {
    std::vector<int> tokens, table;
  };

  int page_tokens = 0, next = 0;
  std::vector<int> owners;  ///< of each page
  std::vector<int> free;
  std::map<int, sequence> live;

  int take() {
    const int page = free.back();
    free.pop_back();
    owners[static_cast<std::size_t>(page)] = 1;
    return page;
  }
  void share(int page) { ++owners[static_cast<std::size_t>(page)]; }
  void drop(int page) {
    if (--owners[static_cast<std::size_t>(page)] == 0) free.push_back(page);
  }
};

pager* make_pager(int pages, int page_tokens) {
  auto* p = new pager;
  p->page_tokens = page_tokens;
  p->owners.resize(static_cast<std::size_t>(pages));
  for (int page = pages; page-- > 0;) p->free.push_back(page);
  return p;
}

void free_pager(pager* p) { delete p; }

int free_pages(const pager* p) { return static_cast<int>(p->free.size()); }

int admit(pager* p, const int* tokens, int count) {
  const int size = p->page_tokens, pages = (count + size - 1) / size;
  //! [shared_prefix]
  int shared = 0;
  const std::vector<int>* from = nullptr;
  for (const auto& [number, other] : p->live) {
    const auto most = std::min(static_cast<std::ptrdiff_t>(count), std::ssize(other.tokens));
    const auto equal = std::mismatch(tokens, tokens + most, other.tokens.begin()).first - tokens;
    if (const int whole = static_cast<int>(equal) / size; whole > shared) shared = whole, from = &other.table;
  }
  //! [shared_prefix]
  if (pages - shared > free_pages(p)) return -1;
  pager::sequence one{{tokens, tokens + count}, {}};
  for (int i = 0; i < shared; ++i) {
    one.table.push_back((*from)[static_cast<std::size_t>(i)]);
    p->share(one.table.back());
  }
  while (std::ssize(one.table) < pages) one.table.push_back(p->take());
  p->live[p->next] = std::move(one);
  return p->next++;
}

int fork(pager* p, int sequence) {
  const pager::sequence& of = p->live[p->next] = p->live.at(sequence);
  for (const int page : of.table) p->share(page);
  return p->next++;
}

bool append(pager* p, int sequence, int token, page_copy* copy) {
  pager::sequence& to = p->live.at(sequence);
  const bool begins_page = std::ssize(to.tokens) % p->page_tokens == 0;
  const bool shared = !begins_page && p->owners[static_cast<std::size_t>(to.table.back())] > 1;
  if ((begins_page || shared) && p->free.empty()) return false;
  *copy = {};
  if (begins_page) to.table.push_back(p->take());
  //! [copy_on_write]
  if (shared) {
    *copy = {to.table.back(), p->take()};
    p->drop(copy->from);
    to.table.back() = copy->to;
  }
  //! [copy_on_write]
  to.tokens.push_back(token);
  return true;
}

int table_of(const pager* p, int sequence, int* table, int room) {
  const std::vector<int>& all = p->live.at(sequence).table;
  const auto count = std::min(std::ssize(all), static_cast<std::ptrdiff_t>(room));
  std::copy_n(all.begin(), count, table);
  return static_cast<int>(count);
}

void release(pager* p, int sequence) {
  for (const int page : p->live.at(sequence).table) p->drop(page);
  p->live.erase(sequence);
}

}  // namespace lab15
