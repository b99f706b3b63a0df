// Can a judge share GPU memory with a runner in a box, and what does it cost? The judge allocates by the driver's
// virtual memory management, exports a file descriptor, and a runner in a PID namespace of its own imports and maps it.
// Prints JSON: for no wall and for the box, whether the runner's output arrived, and the seconds of one copy kernel by
// the judge's clock. usage: vmm_trial          (itself again as "vmm_trial runner" in the box)
#include <cuda.h>
#include <cuda_runtime.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sandbox.hpp"

namespace {

constexpr int socket_number = 3, memory_number = 4;
constexpr std::size_t floats = std::size_t{64} << 20;  // 256 MiB each way
constexpr std::size_t bytes = floats * sizeof(float);

void check(CUresult status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  const char* name = "?";
  (void)cuGetErrorName(status, &name);
  throw std::runtime_error(std::string(call) + ": " + name);
}
void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorName(status));
}
#define CHECK(call) check((call), #call)

CUmemAllocationProp properties() {
  CUmemAllocationProp what{};
  what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  what.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  what.location.id = 0;
  return what;
}

float* mapped(CUmemGenericAllocationHandle handle, std::size_t size) {
  CUdeviceptr address = 0;
  CHECK(cuMemAddressReserve(&address, size, 0, 0, 0));
  CHECK(cuMemMap(address, size, 0, handle, 0));
  CUmemAccessDesc access{};
  access.location = properties().location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK(cuMemSetAccess(address, size, &access, 1));
  return reinterpret_cast<float*>(address);
}

__global__ void doubled(float* out, const float* in) {
  const std::size_t i = blockIdx.x * std::size_t{256} + threadIdx.x;
  out[i] = 2 * in[i];
}

/// In the box: for each byte that arrives, one kernel from the first to the second half of the shared memory.
int runner() {
  CHECK(cudaFree(nullptr));
  CUmemGenericAllocationHandle handle{};
  CHECK(cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(std::uintptr_t{memory_number}),
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  float* memory = mapped(handle, 2 * bytes);
  char byte = 'r';
  while (write(socket_number, &byte, 1) == 1 && read(socket_number, &byte, 1) == 1) {
    doubled<<<floats / 256, 256>>>(memory + floats, memory);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
  }
  return 0;
}

/// The folder of the driver's library, wherever this machine has it: the box sees it as /driver, where this program's
/// RPATH looks.
std::filesystem::path driver_folder() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("/libcuda.so") != std::string::npos)
      return std::filesystem::canonical(line.substr(line.find('/'))).parent_path();
  throw std::runtime_error("libcuda is not among the libraries of this process");
}

struct trial {
  bool worked = false;
  std::string why;
  double median_seconds = 0;
};

trial tried(grading::wall behind, int memory, float* shared) {
  trial result;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair");
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  grading::box what;
  what.mounts = {{self, "/runner"}, {"/sys", "/sys"}, {driver_folder(), "/driver"}};
  for (const auto& entry : std::filesystem::directory_iterator("/dev"))
    if (entry.path().filename().string().starts_with("nvidia") && !entry.is_directory())
      what.devices.push_back(entry.path());
  what.command = {behind == grading::wall::box ? "/runner" : self, "runner"};
  const grading::child c = grading::start(what, behind, {{ends[1], socket_number}, {memory, memory_number}});
  close(ends[1]);
  std::vector<float> input(floats), output(floats);
  std::vector<double> seconds;
  char byte = 0;
  result.worked = true;
  for (int call = 0; call < 20 && result.worked; ++call) {
    if (read(ends[0], &byte, 1) != 1) {
      result.worked = false;
      break;
    }
    for (std::size_t i = 0; i < floats; ++i) input[i] = static_cast<float>((i * 2654435761u + call) % 1000);
    CHECK(cudaMemcpy(shared, input.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(shared + floats, 0xFF, bytes));
    CHECK(cudaDeviceSynchronize());
    const auto start = std::chrono::steady_clock::now();
    if (write(ends[0], "g", 1) != 1) break;
    // The runner's next "r" says that it is done; it stays in the socket for the next turn.
    if (recv(ends[0], &byte, 1, MSG_PEEK) != 1) {
      result.worked = false;
      break;
    }
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    CHECK(cudaMemcpy(output.data(), shared + floats, bytes, cudaMemcpyDeviceToHost));
    for (std::size_t i = 0; i < floats && result.worked; ++i) result.worked = output[i] == 2 * input[i];
  }
  kill(-c.process, SIGKILL);
  close(ends[0]);
  waitpid(c.process, nullptr, 0);
  char text[2000];
  const ssize_t got = read(c.output, text, sizeof text);
  if (got > 0) result.why.assign(text, static_cast<std::size_t>(got));
  std::sort(seconds.begin(), seconds.end());
  if (!seconds.empty()) result.median_seconds = seconds[seconds.size() / 2];
  return result;
}

int judge() {
  CHECK(cudaFree(nullptr));
  CUmemGenericAllocationHandle handle{};
  const CUmemAllocationProp what = properties();
  CHECK(cuMemCreate(&handle, 2 * bytes, &what, 0));
  float* shared = mapped(handle, 2 * bytes);
  int memory = -1;
  CHECK(cuMemExportToShareableHandle(&memory, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  std::printf("{\"sandbox\": \"%s\"", grading::sandbox_obstacle().c_str());
  for (const auto& [name, behind] : {std::pair{"bare", grading::wall::none}, {"boxed", grading::wall::box}}) {
    const trial t = tried(behind, memory, shared);
    std::string why;
    for (const char ch : t.why) why += ch == '"' || ch == '\\' ? '\'' : ch < ' ' ? ' ' : ch;
    std::printf(
        ", \"%s\": {\"worked\": %s, \"median_seconds\": %.6f, \"gigabytes_per_second\": %.1f, \"said\": \"%s\"}", name,
        t.worked ? "true" : "false", t.median_seconds, t.median_seconds > 0 ? 2e-9 * bytes / t.median_seconds : 0.0,
        why.c_str());
  }
  std::printf("}\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return argc > 1 && std::strcmp(argv[1], "runner") == 0 ? runner() : judge();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
