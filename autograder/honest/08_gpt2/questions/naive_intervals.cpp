#include "forward.hpp"
#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

// Intervals as pairs; everything by union and by asking each moment.
typedef std::pair<std::uint64_t, std::uint64_t> Interval;
typedef std::vector<Interval> Intervals;

static std::uint64_t unionLength(Intervals v)
{
    std::sort(v.begin(), v.end());
    std::uint64_t total = 0, end = 0;
    for (size_t i = 0; i < v.size(); i++)
    {
        std::uint64_t from = std::max(v[i].first, end);
        if (v[i].second > from) total += v[i].second - from;
        end = std::max(end, v[i].second);
    }
    return total;
}

namespace lab08 {

std::string block_to_speed_up(const timeline &t)
{
    Intervals everything;
    for (auto &k : t.kernels) everything.push_back(Interval(k.begin, k.end));
    const std::uint64_t all = unionLength(everything);
    std::string best;
    bool have = false;
    std::uint64_t bestGain = 0;
    for (auto &b : t.blocks)
    {
        Intervals others;
        for (auto &k : t.kernels)
            if (k.block != b.name) others.push_back(Interval(k.begin, k.end));
        const std::uint64_t gain = all - unionLength(others);
        if (!have || gain > bestGain) best = b.name, bestGain = gain, have = true;
    }
    return best;
}

std::string block_to_fuse(const timeline &t)
{
    std::string best;
    double bestMean = -1;
    for (auto &b : t.blocks)
    {
        double sum = 0;
        for (auto &k : t.kernels)
            if (k.block == b.name) sum += double(k.end - k.begin);
        const double mean = sum / b.launches;
        if (bestMean < 0 || mean < bestMean) bestMean = mean, best = b.name;
    }
    return best;
}

std::uint64_t time_waiting_for_host(const timeline &t)
{
    Intervals known;
    std::uint64_t first = ~std::uint64_t(0), last = 0;
    for (auto &k : t.kernels) first = std::min(first, k.begin), last = std::max(last, k.end);
    for (auto &k : t.kernels) known.push_back(Interval(std::max(k.launched, first), k.end));
    return last - first - unionLength(known);
}

std::uint64_t time_overlapping(const timeline &t)
{
    std::set<std::uint32_t> streams;
    Intervals everything;
    for (auto &k : t.kernels) streams.insert(k.stream), everything.push_back(Interval(k.begin, k.end));
    // Time in which exactly one stream runs: what would be lost of the union without it.
    const std::uint64_t all = unionLength(everything);
    std::uint64_t alone = 0;
    for (std::uint32_t s : streams)
    {
        Intervals others;
        for (auto &k : t.kernels)
            if (k.stream != s) others.push_back(Interval(k.begin, k.end));
        alone += all - unionLength(others);
    }
    return all - alone;
}

int most_waiting(const timeline &t)
{
    int most = 0;
    for (auto &a : t.kernels)
    {
        int n = 0;
        for (auto &b : t.kernels) n += b.launched <= a.launched && a.launched < b.begin;
        most = std::max(most, n);
    }
    return most;
}

}
