// Breadth-first search with a queue for each level, filled by atomics.
#include <cstdio>
#include <queue>
#include <utility>
#include <vector>

struct Graph {
  const int *offsets, *neighbours;
};

__global__ void expand(Graph g, const int* frontier, int size, int* next, int* next_size, int* level, int depth) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const int v = frontier[i];
  for (int e = g.offsets[v]; e < g.offsets[v + 1]; ++e) {
    const int w = g.neighbours[e];
    if (atomicCAS(&level[w], -1, depth) == -1) next[atomicAdd(next_size, 1)] = w;
  }
}

int main() {
  const int n = 3000;
  std::vector<std::vector<int>> edges(n);
  unsigned state = 7;
  for (int v = 0; v < n; ++v)
    for (int k = 0; k < 3; ++k) {
      const int w = static_cast<int>((state = state * 1664525u + 1013904223u) >> 8) % n;
      edges[v].push_back(w);
      edges[w].push_back(v);
    }
  std::vector<int> offsets{0}, neighbours, expected(n, -1), level(n, -1);
  for (const auto& e : edges) {
    neighbours.insert(neighbours.end(), e.begin(), e.end());
    offsets.push_back(static_cast<int>(neighbours.size()));
  }
  std::queue<int> todo({0});
  expected[0] = 0;
  for (; !todo.empty(); todo.pop())
    for (int w : edges[todo.front()])
      if (expected[w] < 0) {
        expected[w] = expected[todo.front()] + 1;
        todo.push(w);
      }

  int *d_offsets, *d_neighbours, *frontier, *next, *next_size, *d_level, size = 1;
  cudaMalloc(&d_offsets, offsets.size() * sizeof(int));
  cudaMalloc(&d_neighbours, neighbours.size() * sizeof(int));
  cudaMalloc(&frontier, n * sizeof(int));
  cudaMalloc(&next, n * sizeof(int));
  cudaMalloc(&next_size, sizeof(int));
  cudaMalloc(&d_level, n * sizeof(int));
  cudaMemcpy(d_offsets, offsets.data(), offsets.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(d_neighbours, neighbours.data(), neighbours.size() * sizeof(int), cudaMemcpyHostToDevice);
  level[0] = 0;
  cudaMemcpy(d_level, level.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(frontier, 0, sizeof(int));
  for (int depth = 1; size > 0; ++depth) {
    cudaMemset(next_size, 0, sizeof(int));
    const Graph graph = {d_offsets, d_neighbours};
    expand<<<(size + 127) / 128, 128>>>(graph, frontier, size, next, next_size, d_level, depth);
    if (cudaMemcpy(&size, next_size, sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
    std::swap(frontier, next);
  }
  cudaMemcpy(level.data(), d_level, n * sizeof(int), cudaMemcpyDeviceToHost);
  for (int* p : {d_offsets, d_neighbours, frontier, next, next_size, d_level}) cudaFree(p);
  std::puts(level == expected ? "PASSED" : "FAILED");
  return level == expected ? 0 : 1;
}
