// How long copies and collectives between devices take, by events: measured on GPUs, modelled on simulated devices.
// With a file of measured lines it compares, and fails if the median error exceeds 15 %, or one in ten exceeds 50 %.
//   nvcc -O3 -arch=sm_90 links.cu -lnccl -o links; ./links >goldens/nvidia-h200-links.csv
#include <nccl.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>
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

__global__ void load_from(float4* to, const float4* from, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}

struct device_state {
  cudaStream_t stream;
  cudaEvent_t begin, end;
  char *send, *receive;
  ncclComm_t comm;
};
std::vector<device_state> devices;
std::map<std::string, double> microseconds;

/// The median time of `repeats` calls, after two to warm up; each begins when the streams of all devices are empty.
double time_of(int device, int repeats, const std::function<void()>& call) {
  std::vector<double> all;
  for (int k = 0; k < repeats + 2; ++k) {
    for (std::size_t d = 0; d < devices.size(); ++d) {
      CUDA(cudaSetDevice(d));
      CUDA(cudaDeviceSynchronize());
    }
    CUDA(cudaSetDevice(device));
    CUDA(cudaEventRecord(devices[device].begin, devices[device].stream));
    call();
    CUDA(cudaSetDevice(device));
    CUDA(cudaEventRecord(devices[device].end, devices[device].stream));
    CUDA(cudaEventSynchronize(devices[device].end));
    float milliseconds = 0;
    CUDA(cudaEventElapsedTime(&milliseconds, devices[device].begin, devices[device].end));
    if (k >= 2) all.push_back(1e3 * milliseconds);
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

int main(int argc, char** argv) {
  int count = 0;
  CUDA(cudaGetDeviceCount(&count));
  cudaDeviceProp properties;
  CUDA(cudaGetDeviceProperties(&properties, 0));
  const bool simulated = std::string(properties.name).find("simulated") != std::string::npos;
  const int repeats = simulated ? 1 : 15;
  const std::size_t most = std::size_t{1} << (simulated ? 24 : 28);  // simulated memory takes time
  if (count < 2) {
    std::printf("this needs two devices\n");
    return 77;
  }
  devices.resize(count);
  std::vector<ncclComm_t> comms(count);
  NCCL(ncclCommInitAll(comms.data(), count, nullptr));
  for (int d = 0; d < count; ++d) {
    CUDA(cudaSetDevice(d));
    devices[d].comm = comms[d];
    CUDA(cudaStreamCreate(&devices[d].stream));
    CUDA(cudaEventCreate(&devices[d].begin));
    CUDA(cudaEventCreate(&devices[d].end));
    CUDA(cudaMalloc(&devices[d].send, most));
    CUDA(cudaMalloc(&devices[d].receive, most));
    CUDA(cudaMemset(devices[d].send, 0, most));
    CUDA(cudaMemset(devices[d].receive, 0, most));
  }
  const auto note = [&](const std::string& what, std::size_t bytes, double us) {
    const std::string name = what + "," + std::to_string(count) + "," + std::to_string(bytes);
    microseconds[name] = us;
    if (argc < 2) std::printf("%s,%.2f\n", name.c_str(), us);
  };
  const auto collective = [&](const std::string& what, std::size_t bytes,
                              const std::function<void(device_state&, int)>& call) {
    note(what, bytes, time_of(0, repeats, [&] {
           NCCL(ncclGroupStart());
           for (int d = 0; d < count; ++d) call(devices[d], d);
           NCCL(ncclGroupEnd());
         }));
  };
  device_state &a = devices[0], &b = devices[1];
  for (std::size_t bytes = 1 << 12; bytes <= most; bytes *= 16)
    note("copy without peer access", bytes,
         time_of(0, repeats, [&] { CUDA(cudaMemcpyPeerAsync(b.receive, 1, a.send, 0, bytes, a.stream)); }));
  CUDA(cudaSetDevice(0));
  int can = 0;
  CUDA(cudaDeviceCanAccessPeer(&can, 0, 1));
  if (can) {
    CUDA(cudaDeviceEnablePeerAccess(1, 0));
    CUDA(cudaSetDevice(1));
    CUDA(cudaDeviceEnablePeerAccess(0, 0));
  }
  for (std::size_t bytes = 1 << 12; bytes <= most; bytes *= 16) {
    const int vectors = static_cast<int>(bytes / sizeof(float4)), blocks = (vectors + 255) / 256;
    note("copy", bytes,
         time_of(0, repeats, [&] { CUDA(cudaMemcpyPeerAsync(b.receive, 1, a.send, 0, bytes, a.stream)); }));
    if (can) {
      note("kernel that loads", bytes, time_of(0, repeats, [&] {
             load_from<<<blocks, 256, 0, a.stream>>>(reinterpret_cast<float4*>(a.receive),
                                                     reinterpret_cast<const float4*>(b.send), vectors);
           }));
      note("kernel that stores", bytes, time_of(0, repeats, [&] {
             load_from<<<blocks, 256, 0, a.stream>>>(reinterpret_cast<float4*>(b.receive),
                                                     reinterpret_cast<const float4*>(a.send), vectors);
           }));
    }
    const std::size_t n = bytes / sizeof(float), part = n / count;
    collective("all-reduce", bytes, [&](device_state& s, int) {
      NCCL(ncclAllReduce(s.send, s.receive, n, ncclFloat, ncclSum, s.comm, s.stream));
    });
    collective("all-gather", bytes, [&](device_state& s, int) {
      NCCL(ncclAllGather(s.send, s.receive, part, ncclFloat, s.comm, s.stream));
    });
    collective("reduce-scatter", bytes, [&](device_state& s, int) {
      NCCL(ncclReduceScatter(s.send, s.receive, part, ncclFloat, ncclSum, s.comm, s.stream));
    });
    collective("broadcast", bytes, [&](device_state& s, int) {
      NCCL(ncclBroadcast(s.send, s.receive, n, ncclFloat, 0, s.comm, s.stream));
    });
    collective("ring of send and receive", bytes, [&](device_state& s, int d) {
      NCCL(ncclSend(s.send, n, ncclFloat, (d + 1) % count, s.comm, s.stream));
      NCCL(ncclRecv(s.receive, n, ncclFloat, (d + count - 1) % count, s.comm, s.stream));
    });
  }
  for (int d = 0; d < count; ++d) {
    CUDA(cudaSetDevice(d));
    CUDA(cudaFree(devices[d].send));
    CUDA(cudaFree(devices[d].receive));
    CUDA(cudaStreamDestroy(devices[d].stream));
    CUDA(cudaEventDestroy(devices[d].begin));
    CUDA(cudaEventDestroy(devices[d].end));
    NCCL(ncclCommDestroy(comms[d]));
  }
  if (argc < 2) return 0;

  std::ifstream measured(argv[1]);
  std::vector<double> errors;
  for (std::string line; std::getline(measured, line);) {
    const std::size_t comma = line.rfind(',');
    const auto ours = microseconds.find(line.substr(0, comma));
    if (comma == std::string::npos || ours == microseconds.end()) continue;
    const double theirs = std::atof(line.c_str() + comma + 1);
    errors.push_back(std::abs(ours->second / theirs - 1));
    std::printf("%-50s %10.2f measured, %10.2f modelled\n", ours->first.c_str(), theirs, ours->second);
  }
  std::sort(errors.begin(), errors.end());
  if (errors.empty()) return 1;
  const double median = errors[errors.size() / 2], most_of_them = errors[errors.size() * 9 / 10];
  std::printf("%zu times: median error %.0f %%, 90 %% under %.0f %%\n", errors.size(), 100 * median,
              100 * most_of_them);
  return median > 0.15 || most_of_them > 0.5;
}
