#include "quantization.hpp"
#include <math.h>
#define CD(a,b) (((a)+(b)-1)/(b))
#define MIN(a,b) ((a)<(b)?(a):(b))
namespace lab07 {
std::int64_t tiles(const shape& s, const kernel& by) { return CD(s.m, by.tile_m)*CD(s.n, by.tile_n); }
int occupancy(const kernel& by, const device& on)
{
	int o = on.blocks_of_sm, w = by.threads/32, rw = CD(32*by.registers, on.register_unit)*on.register_unit;
	o = MIN(o, on.threads_of_sm/by.threads);
	if (rw) o = MIN(o, on.registers_of_sm/(w*rw));
	if (by.shared_bytes+on.reserved_bytes) o = MIN(o, on.shared_bytes_of_sm/(by.shared_bytes+on.reserved_bytes));
	return o;
}
#define PLACES ((std::int64_t)on.multiprocessors*occupancy(by, on))
std::int64_t waves(const shape& s, const kernel& by, const device& on) { return CD(tiles(s, by), PLACES); }
double utilization(const shape& s, const kernel& by, const device& on)
{
	double u = (double)s.m*(double)s.n;
	u /= (double)waves(s, by, on)*PLACES;
	return u/((double)by.tile_m*by.tile_n);
}
double seconds(const shape& s, const kernel& by, const device& on)
{
	double t1 = 2.0*by.tile_m*by.tile_n*s.k*PLACES/on.flops_per_second;
	double t2 = (double)(by.tile_m+by.tile_n)*s.k*by.element_bytes*PLACES/on.l2_bytes_per_second;
	return on.launch_seconds + waves(s, by, on)*fmax(t1, t2);
}
std::int64_t next_cliff(std::int64_t n, const kernel& by, const device& on)
{
	shape s = {n, n, 1};
	std::int64_t w = waves(s, by, on), x = n, u, v;
loop:
	/* the next x at which a tile is added */
	u = CD(x, by.tile_m)*by.tile_m+1;
	v = CD(x, by.tile_n)*by.tile_n+1;
	x = MIN(u, v);
	s.m = s.n = x;
	if (waves(s, by, on) > w) return x;
	goto loop;
}
int best_kernel(const shape& s, const kernel* k, int count, const device& on)
{
	int i, b = -1;
	double t = 0, x;
	for (i = 0; i < count; i++) {
		if (!occupancy(k[i], on)) continue;
		x = seconds(s, k[i], on);
		if (b < 0 || x < t) { b = i; t = x; }
	}
	return b;
}
}
