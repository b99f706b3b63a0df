// What is reported between devices: accesses without peer access, streams and events of another device, races, and
// mismatched collectives. tests/programs/peers.cu and collectives.cu have the correct uses.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <nccl.h>

#include "device_test.hpp"

#include <sim/names.h>

namespace sim {
const std::vector<std::string>& host_faults();
std::string link_table();
}  // namespace sim

namespace {

/// With four devices, of which 0 is current.
struct SeveralDevices : DeviceTest {
  void SetUp() override {
    int devices = 0;
    ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
    ASSERT_EQ(devices, 4) << "run it with SIM_DEVICES=4";
  }
  void TearDown() override {
    for (int d = 3; d >= 0; --d) {
      cudaSetDevice(d);
      cudaDeviceReset();
    }
    cudaGetLastError();
  }
  static std::string new_fault(const std::function<void()>& call) {
    const std::size_t before = sim::host_faults().size();
    call();
    std::string text;
    for (std::size_t i = before; i < sim::host_faults().size(); ++i) text += sim::host_faults()[i] + "\n";
    return text;
  }
};

__global__ void add_one(int* out, const int* in) { out[threadIdx.x] = in[threadIdx.x] + 1; }

int* on(int device, int value = 0) {
  int* p = nullptr;
  cudaSetDevice(device);
  cudaMalloc(&p, 256);
  cudaMemset(p, value, 256);
  cudaDeviceSynchronize();
  cudaSetDevice(0);
  return p;
}

TEST_F(SeveralDevices, AKernelNeedsPeerAccess) {
  int *here = on(0), *there = on(1);
  const std::string r = only_report(observe([&] { add_one<<<1, 64>>>(here, there); }));
  EXPECT_NE(r.find("load of 4 bytes of memory of device 1, which device 0 may not access: call "
                   "cudaDeviceEnablePeerAccess(1, 0) while device 0 is current (64 times)"),
            std::string::npos)
      << r;
  ASSERT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  EXPECT_TRUE(observe([&] { add_one<<<1, 64>>>(here, there); }).reports.empty());
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(4, 0), cudaErrorInvalidDevice);
  cudaDeviceSynchronize();
  cudaSetDevice(1);  // access works in one direction only
  EXPECT_NE(
      only_report(observe([&] { add_one<<<1, 64>>>(there, here); })).find("call cudaDeviceEnablePeerAccess(0, 0)"),
      std::string::npos);
}

TEST_F(SeveralDevices, ALaunchNeedsAStreamOfTheCurrentDevice) {
  int* data = on(0);
  cudaStream_t other;
  cudaSetDevice(2);
  ASSERT_EQ(cudaStreamCreate(&other), cudaSuccess);
  cudaSetDevice(0);
  add_one<<<1, 64, 0, other>>>(data, data);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  EXPECT_NE(sim::why_launch_failed().find("its stream is device 2's, but device 0 is current: call cudaSetDevice(2)"),
            std::string::npos)
      << sim::why_launch_failed();
  sim::forget_failed_launch();
  cudaEvent_t event, of_other;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  EXPECT_NE(new_fault([&] {
              EXPECT_EQ(cudaEventRecord(event, other), cudaErrorInvalidResourceHandle);
            }).find("the event is device 0's, but the stream is device 2's"),
            std::string::npos);
  cudaSetDevice(2);
  ASSERT_EQ(cudaEventCreate(&of_other), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(of_other, other), cudaSuccess);
  cudaSetDevice(0);
  ASSERT_EQ(cudaEventRecord(event), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  float milliseconds = 0;
  EXPECT_NE(new_fault([&] { cudaEventElapsedTime(&milliseconds, event, of_other); }).find("another device's"),
            std::string::npos);
}

TEST_F(SeveralDevices, DevicesRaceUnlessAnEventOrdersThem) {
  int *first = on(0), *second = on(1);
  cudaSetDevice(1);
  cudaDeviceEnablePeerAccess(0, 0);
  const auto consume = [&](bool waits) {
    cudaEvent_t done;
    cudaSetDevice(0);
    cudaEventCreate(&done);
    add_one<<<1, 64>>>(first, first);
    cudaEventRecord(done);
    cudaSetDevice(1);
    if (waits) cudaStreamWaitEvent(nullptr, done, 0);
    const auto found = observe([&] { add_one<<<1, 64>>>(second, first); });
    cudaSetDevice(0);
    cudaEventDestroy(done);
    return found;
  };
  EXPECT_NE(only_report(consume(false)).find("race between streams: load"), std::string::npos);
  EXPECT_TRUE(consume(true).reports.empty());
  cudaSetDevice(0);
  cudaDeviceSynchronize();  // waits only for this device
  add_one<<<1, 64>>>(first, first);
  cudaSetDevice(1);
  cudaDeviceSynchronize();
  EXPECT_FALSE(observe([&] { add_one<<<1, 64>>>(second, first); }).reports.empty());
}

TEST_F(SeveralDevices, EachHasItsOwnMemory) {
  std::size_t before = 0, after = 0, total = 0;
  cudaMemGetInfo(&before, &total);
  on(1);
  cudaMemGetInfo(&after, &total);
  EXPECT_EQ(before, after);
  cudaSetDevice(1);
  cudaMemGetInfo(&after, &total);
  EXPECT_EQ(after, before - 256);
  int* here = on(0);
  cudaSetDevice(1);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  cudaMemGetInfo(&after, &total);
  EXPECT_EQ(after, before);
  cudaSetDevice(0);
  EXPECT_EQ(cudaFree(here), cudaSuccess);
}

TEST_F(SeveralDevices, LinksCarryWhatCopiesAndKernelsMove) {
  int *first = on(2), *second = on(3);
  ASSERT_EQ(cudaMemcpyPeer(first, 2, second, 3, 256), cudaSuccess);
  EXPECT_NE(sim::link_table().find("\n3 -> 2                                        256                    0"),
            std::string::npos)
      << sim::link_table();
  cudaSetDevice(2);
  ASSERT_EQ(cudaDeviceEnablePeerAccess(3, 0), cudaSuccess);
  add_one<<<1, 64>>>(second, first);
  EXPECT_NE(sim::link_table().find("\n2 -> 3                                          0                  256"),
            std::string::npos)
      << sim::link_table();
}

struct Collectives : SeveralDevices {
  void SetUp() override {
    SeveralDevices::SetUp();
    ASSERT_EQ(ncclCommInitAll(comms, 2, nullptr), ncclSuccess);
    for (int d = 0; d < 2; ++d) buffers[d] = reinterpret_cast<float*>(on(d));
  }
  void TearDown() override {
    for (const ncclComm_t c : comms) ncclCommDestroy(c);
    SeveralDevices::TearDown();
  }
  ncclResult_t all_reduce(int rank, std::size_t count, float* buffer) {
    return ncclAllReduce(buffer, buffer, count, ncclFloat, ncclSum, comms[rank], nullptr);
  }
  ncclComm_t comms[2] = {};
  float* buffers[2] = {};
};

TEST_F(Collectives, SumIsCountedByLink) {
  ncclGroupStart();
  for (int r = 0; r < 2; ++r) EXPECT_EQ(all_reduce(r, 64, buffers[r]), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  for (const char* link : {"\n0 -> 1 ", "\n1 -> 0 "}) {
    const std::string table = sim::link_table();
    const std::size_t at = table.find(link);
    ASSERT_NE(at, std::string::npos) << table;
    EXPECT_EQ(table.substr(at, table.find('\n', at + 1) - at).substr(76), "             256") << table;
  }
}

TEST_F(Collectives, CallsThatDoNotFit) {
  const std::string counts = new_fault([&] {
    ncclGroupStart();
    all_reduce(0, 64, buffers[0]);
    all_reduce(1, 32, buffers[1]);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  });
  EXPECT_NE(counts.find("ncclAllReduce: rank 0 gives 64 elements"), std::string::npos) << counts;
}

TEST_F(Collectives, DifferentCalls) {
  const std::string calls = new_fault([&] {
    ncclGroupStart();
    all_reduce(0, 64, buffers[0]);
    ncclBroadcast(buffers[1], buffers[1], 64, ncclFloat, 0, comms[1], nullptr);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  });
  EXPECT_NE(calls.find("rank 0 calls ncclAllReduce where rank 1 calls ncclBroadcast"), std::string::npos) << calls;
}

TEST_F(Collectives, BuffersAndStreamsOfAnotherDevice) {
  EXPECT_NE(new_fault([&] {
              EXPECT_EQ(all_reduce(0, 64, buffers[1]), ncclInvalidArgument);
            }).find("the send buffer (256 bytes) is memory of device 1, which device 0 may not access"),
            std::string::npos);
  EXPECT_NE(new_fault([&] {
              EXPECT_EQ(all_reduce(0, 65, buffers[0]), ncclInvalidArgument);
            }).find("ends 4 bytes past its allocation"),
            std::string::npos);
  std::vector<float> host(64);
  EXPECT_NE(new_fault([&] {
              EXPECT_EQ(all_reduce(0, 64, host.data()), ncclInvalidArgument);
            }).find("is not in device memory"),
            std::string::npos);
  cudaStream_t other;
  cudaSetDevice(1);
  cudaStreamCreate(&other);
  EXPECT_NE(new_fault([&] {
              EXPECT_EQ(ncclAllReduce(buffers[0], buffers[0], 64, ncclFloat, ncclSum, comms[0], other),
                        ncclInvalidUsage);
            }).find("its stream is not one of device 0"),
            std::string::npos);
}

TEST_F(Collectives, TheCallsOfAGroupMayRunInAnyOrder) {
  const auto twice = [&](std::size_t apart) {
    return new_fault([&] {
      ncclGroupStart();
      for (int r = 0; r < 2; ++r)
        for (int k = 0; k < 2; ++k) all_reduce(r, 16, buffers[r] + k * apart);
      EXPECT_EQ(ncclGroupEnd(), apart < 16 ? ncclInvalidUsage : ncclSuccess);
    });
  };
  EXPECT_NE(twice(15).find("ncclAllReduce writes memory that ncclAllReduce at "), std::string::npos) << twice(15);
  EXPECT_EQ(twice(16), "");
}

TEST_F(Collectives, TwoRanksOnOneDevice) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t twice[2];
  const std::string r = new_fault([&] {
    ncclGroupStart();
    for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(ncclCommInitRank(&twice[rank], 2, id, rank), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  });
  EXPECT_NE(r.find("two ranks use device 0: call cudaSetDevice first"), std::string::npos) << r;
  for (const ncclComm_t c : twice) ncclCommDestroy(c);
}

TEST_F(Collectives, WhatComesAfterASumIsOrderedAfterAllRanks) {
  cudaSetDevice(1);
  cudaDeviceEnablePeerAccess(0, 0);
  auto* const first = reinterpret_cast<int*>(on(0));
  auto* const second = reinterpret_cast<int*>(on(1));
  cudaSetDevice(0);
  add_one<<<1, 64>>>(first, first);
  ncclGroupStart();
  for (int r = 0; r < 2; ++r) all_reduce(r, 64, buffers[r]);
  ncclGroupEnd();
  cudaSetDevice(1);
  EXPECT_TRUE(observe([&] { add_one<<<1, 64>>>(second, first); }).reports.empty());
}

template <class T>
void expect_sum(ncclComm_t* comms, ncclDataType_t type, ncclRedOp_t op, T a, T b, T wanted) {
  T* buffers[2];
  const T values[2] = {a, b};
  for (int d = 0; d < 2; ++d) {
    cudaSetDevice(d);
    cudaMalloc(&buffers[d], sizeof(T));
    cudaMemcpy(buffers[d], &values[d], sizeof(T), cudaMemcpyHostToDevice);
  }
  ncclGroupStart();
  for (int d = 0; d < 2; ++d) ncclAllReduce(buffers[d], buffers[d], 1, type, op, comms[d], nullptr);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  for (int d = 0; d < 2; ++d) {
    T got;
    cudaMemcpy(&got, buffers[d], sizeof(T), cudaMemcpyDeviceToHost);
    EXPECT_EQ(static_cast<double>(got), static_cast<double>(wanted)) << "type " << type << ", reduction " << op;
  }
}

TEST_F(Collectives, Types) {
  expect_sum<std::int8_t>(comms, ncclInt8, ncclMin, -3, 4, -3);
  expect_sum<std::uint8_t>(comms, ncclUint8, ncclSum, 200, 100, 44);
  expect_sum<std::int32_t>(comms, ncclInt32, ncclSum, 0x7fffffff, 1, -0x7fffffff - 1);
  expect_sum<std::int32_t>(comms, ncclInt32, ncclMax, -1, 1, 1);
  expect_sum<std::uint32_t>(comms, ncclUint32, ncclProd, 7, 6, 42);
  expect_sum<std::int64_t>(comms, ncclInt64, ncclProd, -3, 1LL << 40, -3 * (1LL << 40));
  expect_sum<double>(comms, ncclDouble, ncclAvg, 1.0, 2.0, 1.5);
  expect_sum<__half>(comms, ncclHalf, ncclSum, __float2half(1.5f), __float2half(2.25f), __float2half(3.75f));
  expect_sum<__nv_bfloat16>(comms, ncclBfloat16, ncclSum, __float2bfloat16(256.0f), __float2bfloat16(1.0f),
                            __float2bfloat16(256.0f));
  ncclRedOp_t times[2];
  float factors[2] = {2, 10};
  for (int d = 0; d < 2; ++d)
    ASSERT_EQ(ncclRedOpCreatePreMulSum(&times[d], &factors[d], ncclFloat, ncclScalarHostImmediate, comms[d]),
              ncclSuccess);
  expect_sum<float>(comms, ncclFloat, times[0], 1, 3, 32);
}

}  // namespace
