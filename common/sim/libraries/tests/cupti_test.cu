// CUPTI's Activity API, used as NVIDIA's samples use it: two callbacks, buffers that one of them allocates and the
// other reads and frees. nvcc compiles this file, too. What the library answers was seen on an H200 (driver 580.159.04,
// CUDA 13.0, 2026-11-28): the numbers of streams and contexts, errors, and that a flush returns no buffer with a kernel
// that is still running, and that a forced flush returns its record without times.
#include <cupti.h>
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

// As in NVIDIA's header.
static_assert(sizeof(CUpti_ActivityKernel10) == 216 && offsetof(CUpti_ActivityKernel10, name) == 104);
static_assert(sizeof(CUpti_ActivityMemcpy6) == 96 && sizeof(CUpti_ActivityMemset4) == 88);
static_assert(sizeof(CUpti_ActivityAPI) == 40 && sizeof(CUpti_ActivityMarker2) == 56);
static_assert(sizeof(CUpti_ActivityExternalCorrelation) == 24 && CUPTI_ACTIVITY_KIND_COUNT == 56);

namespace {

__global__ void scale(float* x, float by, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] *= by;
}

#define CUPTI(call) ASSERT_EQ(call, CUPTI_SUCCESS)
#define CUDA(call) ASSERT_EQ(call, cudaSuccess)

struct {
  std::size_t bytes = 1 << 16, most_records = 0;
  bool none = false;
  int given = 0, returned = 0;
  std::vector<CUpti_ActivityKernel10> kernels;
  std::vector<CUpti_ActivityMemcpy6> copies;
  std::vector<CUpti_ActivityMemset4> fills;
  std::vector<CUpti_ActivityAPI> calls;
  std::vector<CUpti_ActivityMarker2> markers;
  std::vector<CUpti_ActivityExternalCorrelation> external;
} got;

void request(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = got.none ? nullptr : static_cast<std::uint8_t*>(std::aligned_alloc(8, got.bytes));
  *size = got.none ? 0 : got.bytes;
  *most_records = got.most_records;
  got.given += !got.none;
}

template <class Record>
void take(std::vector<Record>& to, const CUpti_Activity* from) {
  to.push_back(*reinterpret_cast<const Record*>(from));
}

void complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t size, std::size_t valid) {
  EXPECT_EQ(size, got.bytes);
  CUpti_Activity* record = nullptr;
  CUptiResult status = CUPTI_SUCCESS;
  while ((status = cuptiActivityGetNextRecord(buffer, valid, &record)) == CUPTI_SUCCESS) switch (record->kind) {
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: take(got.kernels, record); break;
      case CUPTI_ACTIVITY_KIND_MEMCPY: take(got.copies, record); break;
      case CUPTI_ACTIVITY_KIND_MEMSET: take(got.fills, record); break;
      case CUPTI_ACTIVITY_KIND_RUNTIME: take(got.calls, record); break;
      case CUPTI_ACTIVITY_KIND_MARKER: take(got.markers, record); break;
      case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: take(got.external, record); break;
      default: ADD_FAILURE() << "a record of kind " << record->kind;
    }
  EXPECT_EQ(status, CUPTI_ERROR_MAX_LIMIT_REACHED);
  std::free(buffer);
  ++got.returned;
}

class Cupti : public testing::Test {
 protected:
  void SetUp() override {
    got = {};
    CUPTI(cuptiActivityRegisterCallbacks(request, complete));
    CUDA(cudaMalloc(&x_, n * sizeof(float)));
    CUDA(cudaMemset(x_, 0, n * sizeof(float)));
    CUDA(cudaDeviceSynchronize());
  }
  void TearDown() override {
    enable(false);
    CUDA(cudaFree(x_));
    (void)cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  }
  static void enable(bool yes = true) {
    for (const auto kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                            CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_MARKER})
      CUPTI(yes ? cuptiActivityEnable(kind) : cuptiActivityDisable(kind));
  }
  static void launch(float* x, int blocks = 4, cudaStream_t stream = nullptr) {
    scale<<<blocks, 256, 0, stream>>>(x, 2, n);
    CUDA(cudaGetLastError());
  }
  static void finish() {
    CUDA(cudaDeviceSynchronize());
    CUPTI(cuptiActivityFlushAll(0));
  }
  /// The call that started a piece of work.
  static const CUpti_ActivityAPI* call_of(std::uint32_t correlation) {
    for (const CUpti_ActivityAPI& c : got.calls)
      if (c.correlationId == correlation) return &c;
    return nullptr;
  }
  static std::string name_of(std::uint32_t call) {
    const char* name = nullptr;
    EXPECT_EQ(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, call, &name), CUPTI_SUCCESS);
    return name ? name : "";
  }

  static constexpr int n = 1000;
  float* x_ = nullptr;
};

TEST_F(Cupti, RecordsKernelsAndTheCallsThatLaunchedThem) {
  enable();
  launch(x_, 4);
  launch(x_, 5);
  finish();
  ASSERT_EQ(got.kernels.size(), 2u);
  std::uint32_t correlation = 0;
  std::uint64_t end = 0;
  for (const CUpti_ActivityKernel10& k : got.kernels) {
    EXPECT_NE(std::string(k.name).find("scale"), std::string::npos);
    EXPECT_EQ(k.gridX, correlation == 0 ? 4 : 5);
    EXPECT_EQ(k.gridY * k.gridZ * k.blockY * k.blockZ, 1);
    EXPECT_EQ(k.blockX, 256);
    EXPECT_EQ(k.streamId, 7u);  // the default stream's number
    EXPECT_EQ(k.deviceId, 0u);
    EXPECT_EQ(k.contextId, 1u);
    EXPECT_LT(k.start, k.end);
    EXPECT_LE(end, k.start);
    end = k.end;
    EXPECT_NE(k.correlationId, correlation);
    correlation = k.correlationId;
    const CUpti_ActivityAPI* const call = call_of(correlation);
    ASSERT_NE(call, nullptr);
    EXPECT_EQ(call->cbid, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    EXPECT_EQ(name_of(call->cbid), "cudaLaunchKernel_v7000");
    EXPECT_LT(call->start, call->end);
    EXPECT_LT(call->start, k.start);
    EXPECT_EQ(call->returnValue, cudaSuccess);
  }
  EXPECT_GT(end, 1'700'000'000'000'000'000u);  // nanoseconds since 1970: a double does not hold them
  std::size_t dropped = 1;
  CUPTI(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped));
  EXPECT_EQ(dropped, 0u);
}

TEST_F(Cupti, RecordsCopiesAndFills) {
  std::vector<float> host(n);
  float* pinned = nullptr;
  CUDA(cudaMallocHost(&pinned, n * sizeof(float)));
  enable();
  CUDA(cudaMemsetAsync(x_, 3, 400));
  CUDA(cudaMemcpy(host.data(), x_, 400, cudaMemcpyDeviceToHost));
  std::memset(pinned, 0, n * sizeof(float));
  CUDA(cudaMemcpyAsync(x_, pinned, 800, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(x_ + 500, x_, 200, cudaMemcpyDeviceToDevice));
  finish();
  ASSERT_EQ(got.fills.size(), 1u);
  EXPECT_EQ(got.fills[0].bytes, 400u);
  EXPECT_EQ(got.fills[0].value, 3u);
  EXPECT_EQ(got.fills[0].flags, CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC);
  ASSERT_EQ(got.copies.size(), 3u);
  const auto is = [](const CUpti_ActivityMemcpy6& c, int kind, int from, int to, std::uint64_t bytes, bool async) {
    EXPECT_EQ(c.copyKind, kind);
    EXPECT_EQ(c.srcKind, from);
    EXPECT_EQ(c.dstKind, to);
    EXPECT_EQ(c.bytes, bytes);
    EXPECT_EQ(c.flags, async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0);
    EXPECT_LT(c.start, c.end);
    ASSERT_NE(call_of(c.correlationId), nullptr);
    EXPECT_EQ(name_of(call_of(c.correlationId)->cbid), async ? "cudaMemcpyAsync_v3020" : "cudaMemcpy_v3020");
  };
  is(got.copies[0], CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
     CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, 400, false);
  is(got.copies[1], CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
     CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 800, true);
  is(got.copies[2], CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
     CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 200, false);
  CUDA(cudaFreeHost(pinned));
}

TEST_F(Cupti, RecordsRangesAroundCalls) {
  enable();
  nvtxRangePushA("outer");
  nvtxRangePushA("inner");
  launch(x_);
  nvtxRangePop();
  nvtxRangePop();
  launch(x_);
  finish();
  ASSERT_EQ(got.markers.size(), 4u);
  const auto &outer = got.markers[0], &inner = got.markers[1];
  EXPECT_STREQ(outer.name, "outer");
  EXPECT_STREQ(inner.name, "inner");
  for (const auto& m : got.markers) {
    EXPECT_EQ(m.flags, m.name ? CUPTI_ACTIVITY_FLAG_MARKER_START : CUPTI_ACTIVITY_FLAG_MARKER_END);
    EXPECT_EQ(m.objectKind, CUPTI_ACTIVITY_OBJECT_THREAD);
    ASSERT_FALSE(got.calls.empty());
    EXPECT_EQ(m.objectId.pt.threadId, got.calls[0].threadId);
    EXPECT_EQ(m.objectId.pt.processId, got.calls[0].processId);
  }
  EXPECT_EQ(got.markers[2].id, inner.id);
  EXPECT_EQ(got.markers[3].id, outer.id);
  EXPECT_NE(outer.id, inner.id);
  ASSERT_EQ(got.kernels.size(), 2u);
  const CUpti_ActivityAPI *within = call_of(got.kernels[0].correlationId),
                          *after = call_of(got.kernels[1].correlationId);
  ASSERT_TRUE(within && after);
  EXPECT_LT(outer.timestamp, inner.timestamp);
  EXPECT_LT(inner.timestamp, within->start);
  EXPECT_LT(within->end, got.markers[2].timestamp);
  EXPECT_LT(got.markers[3].timestamp, after->start);
}

TEST_F(Cupti, NumbersStreamsThatOverlap) {
  cudaStream_t streams[2];
  for (cudaStream_t& s : streams) CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  float* y = nullptr;
  CUDA(cudaMalloc(&y, n * sizeof(float)));
  CUDA(cudaMemset(y, 0, n * sizeof(float)));
  CUDA(cudaDeviceSynchronize());
  enable();
  launch(x_, 4, streams[0]);
  launch(y, 4, streams[1]);
  finish();
  ASSERT_EQ(got.kernels.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    std::uint32_t id = 0;
    CUcontext context = nullptr;
    ASSERT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
    CUPTI(cuptiGetStreamId(context, streams[i], &id));
    EXPECT_EQ(got.kernels[i].streamId, id);
    EXPECT_NE(id, 7u);
  }
  EXPECT_NE(got.kernels[0].streamId, got.kernels[1].streamId);
  EXPECT_LT(got.kernels[1].start, got.kernels[0].end);
  for (cudaStream_t s : streams) CUDA(cudaStreamDestroy(s));
  CUDA(cudaFree(y));
}

TEST_F(Cupti, AGraphsKernelsHaveItsLaunch) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < 3; ++i) launch(x_, 4, stream);
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  enable();
  CUDA(cudaGraphLaunch(exec, stream));
  finish();
  ASSERT_EQ(got.kernels.size(), 3u);
  for (const auto& k : got.kernels) EXPECT_EQ(k.correlationId, got.kernels[0].correlationId);
  ASSERT_NE(call_of(got.kernels[0].correlationId), nullptr);
  EXPECT_EQ(name_of(call_of(got.kernels[0].correlationId)->cbid), "cudaGraphLaunch_v10000");
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaStreamDestroy(stream));
}

TEST_F(Cupti, HandsOverFullBuffers) {
  got.bytes = 1000;  // a kernel's record has some 200 bytes
  enable();
  for (int i = 0; i < 20; ++i) launch(x_);
  finish();
  EXPECT_EQ(got.kernels.size(), 20u);
  EXPECT_GT(got.returned, 4);
  EXPECT_EQ(got.given, got.returned);
  got = {};
  got.most_records = 3;
  for (int i = 0; i < 6; ++i) launch(x_);
  finish();
  EXPECT_EQ(got.kernels.size(), 6u);
  EXPECT_GE(got.returned, 13 / 3);  // 6 kernels and 7 calls
}

TEST_F(Cupti, CountsWhatItDrops) {
  enable();
  got.none = true;
  launch(x_);
  finish();
  got.none = false;
  std::size_t dropped = 0;
  CUPTI(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped));
  EXPECT_EQ(dropped, 3u);  // a kernel, its launch and a wait
  CUPTI(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped));
  EXPECT_EQ(dropped, 0u);
  EXPECT_TRUE(got.kernels.empty());
}

TEST_F(Cupti, RecordsOnlyWhatIsEnabled) {
  CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  nvtxRangePushA("not recorded");
  launch(x_);
  enable();
  nvtxRangePop();  // began before
  enable(false);
  launch(x_);
  finish();
  EXPECT_EQ(got.kernels.size(), 1u);
  EXPECT_TRUE(got.calls.empty());
  EXPECT_TRUE(got.markers.empty());
  EXPECT_TRUE(got.fills.empty());  // SetUp's
}

TEST_F(Cupti, DoesNotReturnWhatHasNotEnded) {
  enable();
  launch(x_);
  CUPTI(cuptiActivityFlushAll(0));
  EXPECT_TRUE(got.kernels.empty());
  CUPTI(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  ASSERT_EQ(got.kernels.size(), 1u);
  EXPECT_EQ(got.kernels[0].end, CUPTI_TIMESTAMP_UNKNOWN);
  CUDA(cudaDeviceSynchronize());
}

TEST_F(Cupti, PrecedesACallByItsExternalNumber) {
  enable();
  CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION));
  CUPTI(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 5));
  CUPTI(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 6));
  launch(x_);
  std::uint64_t last = 0;
  CUPTI(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last));
  EXPECT_EQ(last, 6u);
  CUPTI(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, nullptr));
  launch(x_);
  finish();
  CUPTI(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION));
  ASSERT_EQ(got.kernels.size(), 2u);
  ASSERT_EQ(got.external.size(), 1u);
  EXPECT_EQ(got.external[0].externalId, 6u);
  EXPECT_EQ(got.external[0].correlationId, got.kernels[0].correlationId);
  EXPECT_EQ(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last),
            CUPTI_ERROR_QUEUE_EMPTY);
}

TEST_F(Cupti, ReportsACallThatFails) {
  enable();
  EXPECT_EQ(cudaMemcpy(x_, x_, 4, static_cast<cudaMemcpyKind>(9)), cudaErrorInvalidMemcpyDirection);
  (void)cudaGetLastError();
  finish();
  const CUpti_ActivityAPI* failed = nullptr;
  for (const auto& c : got.calls)
    if (c.cbid == CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020) failed = &c;
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->returnValue, cudaErrorInvalidMemcpyDirection);
}

TEST_F(Cupti, AnswersErrorsAsTheLibraryDoes) {
  EXPECT_EQ(cuptiActivityRegisterCallbacks(nullptr, complete), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_INVALID), CUPTI_ERROR_NOT_COMPATIBLE);
  enable();
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_KERNEL), CUPTI_ERROR_NOT_COMPATIBLE);  // CONCURRENT_KERNEL is on
  EXPECT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, nullptr), CUPTI_ERROR_INVALID_PARAMETER);
  alignas(8) std::uint8_t zeros[64]{};
  CUpti_Activity* record = nullptr;
  EXPECT_EQ(cuptiActivityGetNextRecord(nullptr, 0, &record), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiActivityGetNextRecord(zeros, 0, &record), CUPTI_ERROR_MAX_LIMIT_REACHED);
  EXPECT_EQ(cuptiActivityGetNextRecord(zeros, sizeof zeros, &record), CUPTI_ERROR_INVALID_KIND);
  EXPECT_EQ(cuptiGetTimestamp(nullptr), CUPTI_ERROR_INVALID_PARAMETER);
  const char* text = nullptr;
  CUPTI(cuptiGetResultString(CUPTI_ERROR_INVALID_KIND, &text));
  EXPECT_STREQ(text, "CUPTI_ERROR_INVALID_KIND");
  EXPECT_EQ(cuptiGetResultString(static_cast<CUptiResult>(47), &text), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 9999, &text), CUPTI_ERROR_INVALID_PARAMETER);
  std::uint32_t version = 0;
  CUPTI(cuptiGetVersion(&version));
  EXPECT_GE(version, 130000u);
}

}  // namespace
