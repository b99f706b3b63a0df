#include <cuda_runtime.h>
#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
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

#define PARAMS(type, name) type name = {type##_STRUCT_SIZE}

std::vector<lab08::counted_block> lab08::count(const std::vector<launched_block> &pass, const std::vector<std::string> &metrics)
{
	std::vector<const char *> names;
	for (auto &m : metrics) names.push_back(m.c_str());
	CUcontext cuContext;
	cudaFree(0);
	cuCtxGetCurrent(&cuContext);
	PARAMS(CUpti_Profiler_Initialize_Params, profilerInitializeParams);
	CUPTI_CALL(cuptiProfilerInitialize(&profilerInitializeParams));
	PARAMS(CUpti_Device_GetChipName_Params, getChipNameParams);
	CUPTI_CALL(cuptiDeviceGetChipName(&getChipNameParams));

	PARAMS(CUpti_Profiler_Host_Initialize_Params, hostParams);
	hostParams.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
	hostParams.pChipName = getChipNameParams.pChipName;
	CUPTI_CALL(cuptiProfilerHostInitialize(&hostParams));
	for (auto &name : names) {
		PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, addParams);
		addParams.pHostObject = hostParams.pHostObject;
		addParams.ppMetricNames = &name;
		addParams.numMetrics = 1;
		CUPTI_CALL(cuptiProfilerHostConfigAddMetrics(&addParams));
	}
	PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, sizeParams);
	sizeParams.pHostObject = hostParams.pHostObject;
	CUPTI_CALL(cuptiProfilerHostGetConfigImageSize(&sizeParams));
	std::vector<uint8_t> configImage(sizeParams.configImageSize);
	PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, imageParams);
	imageParams.pHostObject = hostParams.pHostObject;
	imageParams.configImageSize = configImage.size();
	imageParams.pConfigImage = configImage.data();
	CUPTI_CALL(cuptiProfilerHostGetConfigImage(&imageParams));
	PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, passesParams);
	passesParams.configImageSize = configImage.size();
	passesParams.pConfigImage = configImage.data();
	CUPTI_CALL(cuptiProfilerHostGetNumOfPasses(&passesParams));

	PARAMS(CUpti_RangeProfiler_Enable_Params, enableParams);
	enableParams.ctx = cuContext;
	CUPTI_CALL(cuptiRangeProfilerEnable(&enableParams));
	auto *object = enableParams.pRangeProfilerObject;
	PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, dataSizeParams);
	dataSizeParams.pRangeProfilerObject = object;
	dataSizeParams.pMetricNames = names.data();
	dataSizeParams.numMetrics = names.size();
	dataSizeParams.maxNumOfRanges = 2 * pass.size();
	dataSizeParams.maxNumRangeTreeNodes = 4 * pass.size();
	CUPTI_CALL(cuptiRangeProfilerGetCounterDataSize(&dataSizeParams));
	std::vector<uint8_t> image(dataSizeParams.counterDataSize);
	PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, clearParams);
	clearParams.pRangeProfilerObject = object;
	clearParams.pCounterData = image.data();
	clearParams.counterDataSize = image.size();
	CUPTI_CALL(cuptiRangeProfilerCounterDataImageInitialize(&clearParams));

	PARAMS(CUpti_RangeProfiler_SetConfig_Params, configParams);
	configParams.pRangeProfilerObject = object;
	configParams.pConfig = configImage.data();
	configParams.configSize = configImage.size();
	configParams.pCounterDataImage = image.data();
	configParams.counterDataImageSize = image.size();
	configParams.range = CUPTI_UserRange;
	configParams.replayMode = CUPTI_UserReplay;
	configParams.maxRangesPerPass = 2 * pass.size();
	configParams.numNestingLevels = 1;
	configParams.minNestingLevel = 2;	// the blocks, in a range of the pass
	configParams.targetNestingLevel = 2;
	CUPTI_CALL(cuptiRangeProfilerSetConfig(&configParams));
	// As many runs as were announced.
	for (size_t p = 0; p < passesParams.numOfPasses; p++) {
		PARAMS(CUpti_RangeProfiler_Start_Params, startParams);
		startParams.pRangeProfilerObject = object;
		CUPTI_CALL(cuptiRangeProfilerStart(&startParams));
		auto push = [&](const char *what) {
			PARAMS(CUpti_RangeProfiler_PushRange_Params, pushParams);
			pushParams.pRangeProfilerObject = object;
			pushParams.pRangeName = what;
			CUPTI_CALL(cuptiRangeProfilerPushRange(&pushParams));
		};
		auto pop = [&] {
			cudaDeviceSynchronize();
			PARAMS(CUpti_RangeProfiler_PopRange_Params, popParams);
			popParams.pRangeProfilerObject = object;
			CUPTI_CALL(cuptiRangeProfilerPopRange(&popParams));
		};
		push("pass");
		for (auto &b : pass) push(b.name.c_str()), b.launch(), pop();
		pop();
		PARAMS(CUpti_RangeProfiler_Stop_Params, stopParams);
		stopParams.pRangeProfilerObject = object;
		CUPTI_CALL(cuptiRangeProfilerStop(&stopParams));
	}
	PARAMS(CUpti_RangeProfiler_DecodeData_Params, decodeParams);
	decodeParams.pRangeProfilerObject = object;
	CUPTI_CALL(cuptiRangeProfilerDecodeData(&decodeParams));

	std::map<std::string, std::vector<double>> found;
	for (size_t i = 0; i < pass.size(); i++) {
		PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, rangeParams);
		rangeParams.pCounterDataImage = image.data();
		rangeParams.counterDataImageSize = image.size();
		rangeParams.rangeIndex = i;
		rangeParams.rangeDelimiter = "|";
		CUPTI_CALL(cuptiRangeProfilerCounterDataGetRangeInfo(&rangeParams));
		auto &row = found[rangeParams.rangeName];
		row.resize(names.size());
		PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, valueParams);
		valueParams.pHostObject = hostParams.pHostObject;
		valueParams.pCounterDataImage = image.data();
		valueParams.counterDataImageSize = image.size();
		valueParams.rangeIndex = i;
		valueParams.ppMetricNames = names.data();
		valueParams.numMetrics = names.size();
		valueParams.pMetricValues = row.data();
		CUPTI_CALL(cuptiProfilerHostEvaluateToGpuValues(&valueParams));
	}
	PARAMS(CUpti_RangeProfiler_Disable_Params, disableParams);
	disableParams.pRangeProfilerObject = object;
	CUPTI_CALL(cuptiRangeProfilerDisable(&disableParams));
	PARAMS(CUpti_Profiler_Host_Deinitialize_Params, hostEndParams);
	hostEndParams.pHostObject = hostParams.pHostObject;
	CUPTI_CALL(cuptiProfilerHostDeinitialize(&hostEndParams));
	std::vector<counted_block> result;
	for (auto &b : pass) result.push_back({b.name, found["pass|" + b.name]});
	return result;
}
