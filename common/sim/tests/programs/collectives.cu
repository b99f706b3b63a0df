// NCCL's collectives on all devices of the machine: one thread with groups, a thread for each device, and, with the
// argument "processes", a process for each device.
#include <nccl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#define CUDA(call)                                                               \
  do {                                                                           \
    const cudaError_t error = (call);                                            \
    if (error != cudaSuccess) {                                                  \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)
#define NCCL(call)                                                                \
  do {                                                                            \
    const ncclResult_t result = (call);                                           \
    if (result != ncclSuccess) {                                                  \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, ncclGetErrorString(result)); \
      std::exit(1);                                                               \
    }                                                                             \
  } while (0)

constexpr int n = 5000;

struct rank_state {
  int rank, ranks;
  ncclComm_t comm;
  cudaStream_t stream;
  float *send, *receive;
};

float value(int rank, int i) { return static_cast<float>((rank + 1) * (i % 50)); }

rank_state make(int rank, int ranks, ncclComm_t comm) {
  rank_state s{rank, ranks, comm, nullptr, nullptr, nullptr};
  CUDA(cudaStreamCreate(&s.stream));
  CUDA(cudaMalloc(&s.send, n * ranks * sizeof(float)));
  CUDA(cudaMalloc(&s.receive, n * ranks * sizeof(float)));
  return s;
}
void fill(const rank_state& s) {
  std::vector<float> host(n * s.ranks);
  for (int i = 0; i < n * s.ranks; ++i) host[i] = value(s.rank, i);
  CUDA(cudaMemcpy(s.send, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
  CUDA(cudaMemset(s.receive, 0, n * s.ranks * sizeof(float)));
}
void expect(const rank_state& s, const char* what, int count, const std::function<float(int)>& wanted) {
  CUDA(cudaStreamSynchronize(s.stream));
  std::vector<float> host(count);
  CUDA(cudaMemcpy(host.data(), s.receive, count * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < count; ++i)
    if (host[i] != wanted(i)) {
      std::printf("%s: rank %d, element %d: %g instead of %g\n", what, s.rank, i, host[i], wanted(i));
      std::exit(1);
    }
}
float sum_of(int ranks, int i) { return static_cast<float>(ranks * (ranks + 1) / 2 * (i % 50)); }

/// `together` calls the function for each rank of this thread, in a group.
void all(std::vector<rank_state>& mine, const std::function<void(const std::function<void(rank_state&)>&)>& together) {
  const auto each = [&](const char* what, int count, const std::function<void(rank_state&)>& call,
                        const std::function<float(const rank_state&, int)>& wanted) {
    for (rank_state& s : mine) {
      CUDA(cudaSetDevice(s.rank));
      fill(s);
    }
    together(call);
    for (rank_state& s : mine) {
      CUDA(cudaSetDevice(s.rank));
      expect(s, what, count, [&](int i) { return wanted(s, i); });
    }
  };
  const int ranks = mine[0].ranks, root = ranks - 1;
  each(
      "all-reduce", n,
      [](rank_state& s) { NCCL(ncclAllReduce(s.send, s.receive, n, ncclFloat, ncclSum, s.comm, s.stream)); },
      [](const rank_state& s, int i) { return sum_of(s.ranks, i); });
  each(
      "all-reduce in place, maximum", n,
      [](rank_state& s) {
        CUDA(cudaMemcpyAsync(s.receive, s.send, n * sizeof(float), cudaMemcpyDeviceToDevice, s.stream));
        NCCL(ncclAllReduce(s.receive, s.receive, n, ncclFloat, ncclMax, s.comm, s.stream));
      },
      [](const rank_state& s, int i) { return value(s.ranks - 1, i); });
  each(
      "broadcast", n,
      [&](rank_state& s) { NCCL(ncclBroadcast(s.send, s.receive, n, ncclFloat, root, s.comm, s.stream)); },
      [&](const rank_state&, int i) { return value(root, i); });
  each(
      "reduce", n,
      [&](rank_state& s) { NCCL(ncclReduce(s.send, s.receive, n, ncclFloat, ncclSum, root, s.comm, s.stream)); },
      [&](const rank_state& s, int i) { return s.rank == root ? sum_of(s.ranks, i) : 0.0f; });
  each(
      "all-gather", n * ranks,
      [](rank_state& s) { NCCL(ncclAllGather(s.send, s.receive, n, ncclFloat, s.comm, s.stream)); },
      [](const rank_state&, int i) { return value(i / n, i % n); });
  each(
      "reduce-scatter", n,
      [](rank_state& s) { NCCL(ncclReduceScatter(s.send, s.receive, n, ncclFloat, ncclSum, s.comm, s.stream)); },
      [](const rank_state& s, int i) { return sum_of(s.ranks, s.rank * n + i); });
  each(
      "send and receive around a ring", n,
      [](rank_state& s) {
        NCCL(ncclGroupStart());
        NCCL(ncclSend(s.send, n, ncclFloat, (s.rank + 1) % s.ranks, s.comm, s.stream));
        NCCL(ncclRecv(s.receive, n, ncclFloat, (s.rank + s.ranks - 1) % s.ranks, s.comm, s.stream));
        NCCL(ncclGroupEnd());
      },
      [](const rank_state& s, int i) { return value((s.rank + s.ranks - 1) % s.ranks, i); });
  each(
      "five sums in a group", n,
      [](rank_state& s) {
        NCCL(ncclGroupStart());
        for (int k = 0; k < 5; ++k)
          NCCL(ncclAllReduce(s.send + k * n / 5, s.receive + k * n / 5, n / 5, ncclFloat, ncclSum, s.comm, s.stream));
        NCCL(ncclGroupEnd());
      },
      [](const rank_state& s, int i) { return sum_of(s.ranks, i); });
}

void drop(rank_state& s) {
  CUDA(cudaStreamDestroy(s.stream));
  CUDA(cudaFree(s.send));
  CUDA(cudaFree(s.receive));
  NCCL(ncclCommDestroy(s.comm));
}

void one_thread(int devices) {
  std::vector<ncclComm_t> comms(devices);
  NCCL(ncclCommInitAll(comms.data(), devices, nullptr));
  std::vector<rank_state> mine;
  for (int d = 0; d < devices; ++d) {
    CUDA(cudaSetDevice(d));
    mine.push_back(make(d, devices, comms[d]));
  }
  all(mine, [&](const std::function<void(rank_state&)>& call) {
    NCCL(ncclGroupStart());
    for (rank_state& s : mine) call(s);
    NCCL(ncclGroupEnd());
  });
  for (rank_state& s : mine) {
    CUDA(cudaSetDevice(s.rank));
    drop(s);
  }
}

void one_rank(int rank, int ranks, ncclUniqueId id) {
  CUDA(cudaSetDevice(rank));
  ncclComm_t comm, half;
  NCCL(ncclCommInitRank(&comm, ranks, id, rank));
  int count = 0, own = -1, device = -1;
  NCCL(ncclCommCount(comm, &count));
  NCCL(ncclCommUserRank(comm, &own));
  NCCL(ncclCommCuDevice(comm, &device));
  if (count != ranks || own != rank || device != rank) std::exit(1);
  std::vector<rank_state> mine = {make(rank, ranks, comm)};
  all(mine, [&](const std::function<void(rank_state&)>& call) { call(mine[0]); });
  // One communicator for the even ranks and one for the odd ranks, each in reverse order.
  NCCL(ncclCommSplit(comm, rank % 2, -rank, &half, nullptr));
  NCCL(ncclCommCount(half, &count));
  NCCL(ncclCommUserRank(half, &own));
  fill(mine[0]);
  NCCL(ncclAllReduce(mine[0].send, mine[0].receive, n, ncclFloat, ncclSum, half, mine[0].stream));
  float ranks_in_half = 0;
  for (int r = rank % 2; r < ranks; r += 2) ranks_in_half += static_cast<float>(r + 1);
  expect(mine[0], "all-reduce of a half", n, [&](int i) { return ranks_in_half * static_cast<float>(i % 50); });
  if (own != count - 1 - rank / 2) {
    std::printf("rank %d is %d of %d\n", rank, own, count);
    std::exit(1);
  }
  NCCL(ncclCommDestroy(half));
  drop(mine[0]);
}

int processes(int devices) {
  std::vector<int> ends(2 * devices);
  std::vector<pid_t> children;
  for (int r = 0; r < devices; ++r) {
    if (pipe(&ends[2 * r])) return 1;
    const pid_t child = fork();
    if (child == 0) {
      ncclUniqueId id;
      if (read(ends[2 * r], &id, sizeof id) != sizeof id) std::exit(1);
      one_rank(r, devices, id);
      std::exit(0);
    }
    children.push_back(child);
  }
  ncclUniqueId id;
  NCCL(ncclGetUniqueId(&id));
  for (int r = 0; r < devices; ++r)
    if (write(ends[2 * r + 1], &id, sizeof id) != sizeof id) return 1;
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    failed += status != 0;
  }
  return failed;
}

int main(int argc, char** argv) {
  if (argc > 2 && !std::strcmp(argv[1], "processes")) {  // before CUDA starts: forked processes cannot use it
    if (processes(std::atoi(argv[2]))) return 1;
  } else {
    int devices = 0;
    CUDA(cudaGetDeviceCount(&devices));
    std::printf("%d devices\n", devices);
    one_thread(devices);
    ncclUniqueId id;
    NCCL(ncclGetUniqueId(&id));
    std::vector<std::thread> threads;
    for (int r = 0; r < devices; ++r) threads.emplace_back(one_rank, r, devices, id);
    for (std::thread& t : threads) t.join();
  }
  std::printf("PASS\n");
  return 0;
}
