// From lab 12: a server keeps a tree of the prompts that it has seen. It need not compute the tokens that a prompt
// shares with the start of an earlier one. This program runs on the CPU.
#include "program.hpp"
#include "when_it_crashes.hpp"

namespace lab13 {
namespace {

struct node {
  int token, child, sibling;  // numbers of nodes, or -1
};

}  // namespace

void prefix_hits(int* hits, const int* tokens, const int* first, int prompts) {
  std::vector<node> tree = {{-1, -1, -1}};
  tree.reserve(1 + first[prompts] - first[0]);
  for (int p = 0; p < prompts; ++p) {
    int at = 0;
    hits[p] = 0;
    for (int i = first[p]; i < first[p + 1]; ++i) {
      node& parent = tree[at];
      int next = parent.child;
      while (next >= 0 && tree[next].token != tokens[i]) next = tree[next].sibling;
      if (next >= 0) {
        ++hits[p];
      } else {
        next = static_cast<int>(tree.size());
        tree.push_back({tokens[i], -1, parent.child});
        parent.child = next;
      }
      at = next;
    }
  }
}

}  // namespace lab13

[[gnu::weak]] int main(int argc, char** argv) {
  using namespace lab13;
  drawn draw(argc, argv);
  const int prompts = draw(1000, 2000), shared = draw(3, 9), length = 32;
  std::vector<int> hits(prompts), tokens, first(1, 0);
  for (int p = 0; p < prompts; ++p) {
    for (int i = 0; i < length; ++i) tokens.push_back(i < shared ? i : draw(0, 50256));
    first.push_back(static_cast<int>(tokens.size()));
  }
  prefix_hits(hits.data(), tokens.data(), first.data(), prompts);
  std::printf("tokens that the last prompt shares: %d\n", hits.back());
}
