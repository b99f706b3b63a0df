// Memory for K and V, page by page. The skeleton has no pages to give.
#include "serving.hpp"

namespace lab15 {

struct pager {
  int pages, page_tokens;
  // TODO(lab15.pages_correct): what must be known about a page, and about a sequence?
};

pager* make_pager(int pages, int page_tokens) { return new pager{pages, page_tokens}; }

void free_pager(pager* p) { delete p; }

int free_pages(const pager* p) { return p->pages; }

int admit(pager* p, const int* tokens, int count) {
  // TODO(lab15.pages_shared): which live sequence begins like this one, and for how many whole pages?
  (void)p, (void)tokens, (void)count;  // delete this line once they are used
  return -1;
}

int fork(pager* p, int sequence) {
  (void)p, (void)sequence;  // delete this line, too
  return -1;
}

bool append(pager* p, int sequence, int token, page_copy* copy) {
  // TODO(lab15.pages_shared): into which page does the token go, and who else has it?
  (void)p, (void)sequence, (void)token, (void)copy;  // delete this line, too
  return false;
}

int table_of(const pager* p, int sequence, int* table, int room) {
  (void)p, (void)sequence, (void)table, (void)room;  // delete this line, too
  return 0;
}

void release(pager* p, int sequence) {
  (void)p, (void)sequence;  // delete this line, too
}

}  // namespace lab15
