#include <cuda_runtime.h>
#include <cupti_activity.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <array>
#include <list>
#include <map>
#include <set>
#include <unordered_map>
#include "forward.hpp"

#define CUPTI_CALL(call)                                                        \
	do {                                                                        \
		CUptiResult _status = call;                                             \
		if (_status != CUPTI_SUCCESS) {                                         \
			const char *errstr;                                                 \
			cuptiGetResultString(_status, &errstr);                             \
			fprintf(stderr, "%s:%d: error: function %s failed with error %s.\n", \
			        __FILE__, __LINE__, #call, errstr);                         \
			exit(-1);                                                           \
		}                                                                       \
	} while (0)

#define BUF_SIZE (8 * 1024)
#define ALIGN_SIZE (8)
#define ALIGN_BUFFER(buffer, align)                                          \
	(((uintptr_t)(buffer) & ((align)-1))                                     \
	     ? ((buffer) + (align) - ((uintptr_t)(buffer) & ((align)-1)))        \
	     : (buffer))

using namespace lab08;

// Buffers are kept as they come, and read at the end.
static std::list<std::pair<uint8_t *, size_t>> filled;
static std::list<uint8_t *> raw;

static void CUPTIAPI bufferRequested(uint8_t **buffer, size_t *size, size_t *maxNumRecords)
{
	uint8_t *bfr = (uint8_t *)malloc(BUF_SIZE + ALIGN_SIZE);
	raw.push_back(bfr);
	*size = BUF_SIZE;
	*buffer = ALIGN_BUFFER(bfr, ALIGN_SIZE);
	*maxNumRecords = 0;
}
static void CUPTIAPI bufferCompleted(CUcontext ctx, uint32_t streamId, uint8_t *buffer, size_t size, size_t validSize)
{
	if (validSize > 0) filled.emplace_back(buffer, validSize);
}

struct span_t { uint64_t from, to; uint32_t thread; std::string name; };

timeline lab08::trace(const std::function<void()> &pass)
{
	filled.clear();
	CUPTI_CALL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_KERNEL));
	CUPTI_CALL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
	CUPTI_CALL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MARKER));
	CUPTI_CALL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	CUPTI_CALL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME));
	CUPTI_CALL(cuptiActivityRegisterCallbacks(bufferRequested, bufferCompleted));
	pass();
	cudaStreamSynchronize(0);
	cudaDeviceSynchronize();
	CUPTI_CALL(cuptiActivityFlushAll(1));
	for (auto k : {CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MARKER,
	               CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME})
		CUPTI_CALL(cuptiActivityDisable(k));

	std::unordered_map<uint32_t, CUpti_ActivityAPI> apis;
	std::map<uint32_t, span_t> spans;
	std::vector<CUpti_ActivityKernel10> ks;
	for (auto &b : filled) {
		CUpti_Activity *record = NULL;
		CUptiResult status;
		do {
			status = cuptiActivityGetNextRecord(b.first, b.second, &record);
			if (status == CUPTI_SUCCESS) {
				switch (record->kind) {
				case CUPTI_ACTIVITY_KIND_KERNEL:
				case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: ks.push_back(*(CUpti_ActivityKernel10 *)record); break;
				case CUPTI_ACTIVITY_KIND_RUNTIME:
				case CUPTI_ACTIVITY_KIND_DRIVER: {
					CUpti_ActivityAPI *api = (CUpti_ActivityAPI *)record;
					apis[api->correlationId] = *api;
					break;
				}
				case CUPTI_ACTIVITY_KIND_MARKER: {
					CUpti_ActivityMarker2 *m = (CUpti_ActivityMarker2 *)record;
					if (m->flags & CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS) break;
					span_t &s = spans[m->id];
					s.thread = m->objectId.pt.threadId;
					if (m->name) s.from = m->timestamp, s.name = m->name; else s.to = m->timestamp;
					break;
				}
				default: break;
				}
			}
		} while (status == CUPTI_SUCCESS);
	}
	for (auto *p : raw) free(p);
	raw.clear();

	timeline out;
	std::map<uint64_t, std::array<int, 2>> steps;                       // of the device: kernels that begin, that end
	std::map<std::string, std::map<uint64_t, std::array<int, 2>>> own;  // of each block
	std::map<std::string, int> count;
	for (auto &k : ks) {
		traced_kernel t;
		t.name = k.name; t.stream = k.streamId; t.begin = k.start; t.end = k.end;
		auto api = apis.find(k.correlationId);
		uint64_t best = 0;
		if (api != apis.end()) t.launched = api->second.start;
		if (api != apis.end())
			for (auto &[id, s] : spans)
				if (s.thread == api->second.threadId && s.from <= api->second.start && api->second.start <= s.to && s.from > best)
					best = s.from, t.block = s.name;
		steps[t.begin][0]++, steps[t.end][1]++;
		own[t.block][t.begin][0]++, own[t.block][t.end][1]++;
		count[t.block]++;
		out.kernels.push_back(t);
	}
	std::stable_sort(out.kernels.begin(), out.kernels.end(), [](auto &a, auto &b) { return a.begin < b.begin; });
	auto busy = [](const std::map<uint64_t, std::array<int, 2>> &what, uint64_t *longest) {
		uint64_t sum = 0, last = 0;
		int running = 0;
		for (auto &[at, step] : what) {
			if (running > 0) sum += at - last;
			else if (last && longest) *longest = std::max(*longest, at - last);
			running += step[0] - step[1];
			last = at;
		}
		return sum;
	};
	for (auto &[name, what] : own) out.blocks.push_back({name, count[name], busy(what, nullptr)});
	uint64_t all = busy(steps, &out.longest_gap);
	if (!steps.empty()) out.idle = steps.rbegin()->first - steps.begin()->first - all;
	return out;
}
