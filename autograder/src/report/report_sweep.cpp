// The report's sweeps: where a case launches one kernel with many sizes of grid, its modelled time over the number of
// blocks, drawn by gnuplot. A wave more shows as a step.
#include <fmt/format.h>

#include <map>

#include "lab/plot.hpp"
#include "report/html.hpp"
#include "report/report_parts.hpp"

namespace grading {
namespace {

constexpr std::size_t fewest = 6;  // sizes of grid; fewer show no shape

/// Seconds by blocks; empty where the launches are of several kernels.
std::map<double, double> sweep_of(const profiled_case& p) {
  std::map<double, double> seconds;
  for (const lab::launch_record& l : p.launches) {
    if (l.kernel != p.launches.front().kernel) return {};
    seconds[static_cast<double>(l.grid[0]) * l.grid[1] * l.grid[2]] = l.modelled_seconds;
  }
  return seconds;
}

std::string script_of(const std::map<double, double>& sweep) {
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

std::string sweeps_part(const result& r) {
  std::string out;
  for (const profiled_case& p : r.profiles) {
    const std::map<double, double> sweep = sweep_of(p);
    if (sweep.size() < fewest) continue;
    const std::string svg = lab::drawn_by_gnuplot(script_of(sweep));
    if (svg.empty()) continue;  // the roofline says that gnuplot is missing
    out += fmt::format("<h3>Sweep: {}</h3>", escaped(p.case_id)) + svg;
  }
  return out;
}

}  // namespace grading
