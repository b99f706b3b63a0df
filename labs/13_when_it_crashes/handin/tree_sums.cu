// From lab 10: trees of guessed tokens. A thread walks through one tree and adds up the scores of its nodes.
#include <cassert>

#include "program.hpp"
#include "when_it_crashes.hpp"

namespace lab13 {
namespace {

constexpr int most = 8;

__global__ void walk(float* sums, const float* scores, const int* child, const int* sibling, int trees, int nodes) {
  const int tree = blockIdx.x * blockDim.x + threadIdx.x;
  if (tree >= trees) return;
  int stack[most];
  int height = 0;
  float sum = 0;
  stack[height++] = tree * nodes;
  while (height > 0) {
    const int node = stack[--height];
    sum += scores[node];
    const int next[] = {sibling[node], child[node]};
    for (int k = 0; k < 2; ++k) {
      if (next[k] < 0) continue;
      assert(height < most);
      stack[height++] = next[k];
    }
  }
  sums[tree] = sum;
}

}  // namespace

void tree_sums(float* sums, const float* scores, const int* child, const int* sibling, int trees, int nodes,
               cudaStream_t stream) {
  walk<<<(trees + 63) / 64, 64, 0, stream>>>(sums, scores, child, sibling, trees, nodes);
}

}  // namespace lab13

[[gnu::weak]] int main(int argc, char** argv) {
  using namespace lab13;
  drawn draw(argc, argv);
  const int trees = draw(200, 500), nodes = 32, deep = draw(70, trees - 1), levels = draw(9, 14);
  std::vector<int> child(trees * nodes, -1), sibling(trees * nodes, -1);
  for (int t = 0; t < trees; ++t) {
    // Node 2k has the child 2k + 2 and the sibling 2k + 1, level by level.
    const int depth = t == deep ? levels : draw(1, 6);
    for (int k = 0; k < depth; ++k) {
      child[t * nodes + 2 * k] = t * nodes + 2 * k + 2;
      if (k > 0) sibling[t * nodes + 2 * k] = t * nodes + 2 * k + 1;
    }
  }
  const float* scores = uploaded(std::vector<float>(trees * nodes, 1));
  float* sums = allocate<float>(trees);
  tree_sums(sums, scores, uploaded(child), uploaded(sibling), trees, nodes, nullptr);
  check(cudaGetLastError());
  std::printf("sum of tree 0: %g\n", downloaded(sums, 1)[0]);
}
