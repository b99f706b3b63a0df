// The report's drawings are gnuplot scripts, not templates: gnuplot scales axes, ticks and labels.
//
// The roofline plots bytes per second against arithmetic intensity, so that a kernel that computes nothing has a place,
// too. The CPU's ceiling and points are measured, the device's modelled.
//
// A sweep plots modelled time against the number of blocks, if a case launches one kernel with many grid sizes. Each
// wave is a step.
#include "report/drawings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "judge/advice.hpp"
#include "lab/plot.hpp"
#include "lab/statistics.hpp"

namespace grading {
namespace {

namespace fs = std::filesystem;

constexpr double no_flops = 0.03;  // where intensity 0 is drawn on the logarithmic axis
constexpr double right_edge = 30;
constexpr double smallest_case = 64 << 10;  // bytes; below that a launch costs more than the work

struct point {
  std::string name;
  double intensity = 0, gigabytes_per_second = 0, label_at = 0;
};

struct plot {
  std::vector<point> host, device;
  double host_bytes = 0, host_flops = 0;  // per second, 0: not measured
  modelled_device roof;
};

double drawn(const lab::work& w) {
  return std::clamp(w.flops > 0 ? w.arithmetic_intensity() : 0.0, no_flops, right_edge);
}

plot plot_of(const result& r, const fs::path& source) {
  plot out;
  for (const item_result& item : r.items) {
    if (item.samples.empty() || item.backends != std::vector{backend::host}) continue;
    std::vector<double> calls;
    for (const timed_pair& p : item.samples) calls.push_back(p.call_seconds);
    const lab::work ceiling = item.ceiling_rate();
    out.host_bytes = std::max(out.host_bytes, ceiling.bytes);
    out.host_flops = std::max(out.host_flops, ceiling.flops);
    // Points beyond the right edge are drawn at the edge, with their FLOP/s.
    const double bytes = std::max(item.work.bytes, item.work.flops / right_edge);
    out.host.push_back({item.id, drawn(item.work), bytes / lab::median(calls) * 1e-9});
  }
  for (const counted_case& p : r.counted) {
    double seconds = 0;
    for (const lab::launch_record& l : p.launches) seconds += l.modelled_seconds;
    if (seconds > 0 && p.work.bytes >= smallest_case)
      out.device.push_back({p.case_id, drawn(p.work), p.work.bytes / seconds * 1e-9});
  }
  if (!out.device.empty()) out.roof = read_modelled_device(source);
  return out;
}

/// Moves overlapping labels apart.
void spread_labels(std::vector<point>& points) {
  constexpr double apart = 1.5;  // a line of text, as a factor on the logarithmic axis
  std::sort(points.begin(), points.end(), [](const point& a, const point& b) {
    return std::tie(a.intensity, a.gigabytes_per_second) < std::tie(b.intensity, b.gigabytes_per_second);
  });
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].label_at = points[i].gigabytes_per_second;
    if (i > 0 && points[i - 1].intensity == points[i].intensity)
      points[i].label_at = std::max(points[i].label_at, points[i - 1].label_at * apart);
  }
}

std::string data_of(const std::vector<point>& points) {
  std::string out;
  for (const point& p : points)
    out += fmt::format("{} {} \"{}\" {}\n", p.intensity, p.gigabytes_per_second, p.name, p.label_at);
  return out + "e\n";
}

std::string roofline_script(plot p) {
  spread_labels(p.host);
  spread_labels(p.device);
  std::string out = fmt::format(R"(set terminal svg size 760,440 dynamic noenhanced font 'sans-serif,12'
set logscale xy
set xrange [{} * 0.8 : {}]
set yrange [0.1 : 20000]
set xtics ('0' {}, '0.1' 0.1, '0.3' 0.3, '1' 1, '3' 3, '10' 10, '30' 30) textcolor rgb '#7d8590'
set ytics textcolor rgb '#7d8590'
set xlabel 'arithmetic intensity, FLOP per byte' textcolor rgb '#7d8590'
set ylabel 'GB/s' textcolor rgb '#7d8590'
set border 3 linecolor rgb '#7d8590'
set tics nomirror
set key outside top center horizontal textcolor rgb '#7d8590'
)",
                                no_flops, 3 * right_edge, no_flops);  // leaves room for the last point's name
  std::vector<std::string> curves, data;
  const auto roof = [&](double bytes, double flops, const char* look, const char* title) {
    constexpr double none = 1e30;
    if (bytes > 0 || flops > 0)
      curves.push_back(fmt::format("(x * {0} < {1} ? {0} : {1} / x) * 1e-9 with lines linewidth 2 {2} title '{3}'",
                                   bytes > 0 ? bytes : none, flops > 0 ? flops : none, look, title));
  };
  roof(p.host_bytes, p.host_flops, "linecolor rgb '#2f7fd6'", "one core of this CPU: measured");
  roof(p.roof.bytes_per_second, p.roof.flops_per_second, "dashtype 2 linecolor rgb '#d9822b'", "the device: modelled");
  const auto add = [&](const std::vector<point>& points, const char* colour, const char* title, double label_y) {
    if (points.empty()) return;
    curves.push_back(fmt::format("'-' using 1:2 with points pointtype 7 pointsize 0.7 linecolor rgb '{}' title '{}'",
                                 colour, title));
    curves.push_back(fmt::format(
        "'-' using 1:4:3 with labels left offset 1,{} textcolor rgb '#7d8590' font ',10' notitle", label_y));
    data.push_back(data_of(points));
    data.push_back(data_of(points));
  };
  add(p.host, "#2f7fd6", "your host code: measured", -0.7);
  add(p.device, "#d9822b", "your kernels: modelled", 0);
  return out + fmt::format("plot {}\n{}", fmt::join(curves, ", "), fmt::join(data, ""));
}

constexpr std::size_t fewest_sizes = 6;  // fewer points show no shape

/// Seconds by blocks; empty if the launches are of several kernels.
std::map<double, double> sweep_of(const counted_case& p) {
  std::map<double, double> seconds;
  for (const lab::launch_record& l : p.launches) {
    if (l.kernel != p.launches.front().kernel) return {};
    seconds[static_cast<double>(l.grid[0]) * l.grid[1] * l.grid[2]] = l.modelled_seconds;
  }
  return seconds;
}

std::string sweep_script(const std::map<double, double>& sweep) {
  std::string out = R"(set terminal svg size 760,300 dynamic noenhanced font 'sans-serif,12'
set xlabel 'blocks of the launch' textcolor rgb '#7d8590'
set ylabel 'microseconds, modelled' textcolor rgb '#7d8590'
set xtics textcolor rgb '#7d8590'
set ytics textcolor rgb '#7d8590'
set border 3 linecolor rgb '#7d8590'
set tics nomirror
set offsets 20, 20, 0.1, 0.1
plot '-' using 1:2 with linespoints pointtype 7 pointsize 0.7 linecolor rgb '#d9822b' notitle
)";
  for (const auto& [blocks, seconds] : sweep) out += fmt::format("{} {}\n", blocks, seconds * 1e6);
  return out + "e\n";
}

}  // namespace

std::optional<drawing> roofline(const result& r, const fs::path& source) {
  const plot p = plot_of(r, source);
  if (p.host.empty() && p.device.empty()) return {};
  return drawing{p.roof.bytes_per_second > 0 ? p.roof.name : "", lab::drawn_by_gnuplot(roofline_script(p))};
}

std::vector<drawing> sweeps(const result& r) {
  std::vector<drawing> drawings;
  for (const counted_case& p : r.counted) {
    const std::map<double, double> sweep = sweep_of(p);
    if (sweep.size() < fewest_sizes) continue;
    const std::string svg = lab::drawn_by_gnuplot(sweep_script(sweep));
    if (!svg.empty()) drawings.push_back({p.case_id, svg});
  }
  return drawings;
}

}  // namespace grading
