// helpers whose names the C library uses, too
#include "coalescing.hpp"

static void sync(float *a, const float *b, size_t n) { for (size_t i = 0; i < n; ++i) a[i] += b[i]; }
extern "C" void wait(float* a, size_t n) { for (size_t i = 0; i < n; ++i) a[i] = 0; }
extern "C" size_t write(size_t a, size_t b) { return a * b; }
extern "C" int open(int x) { return x > 0; }
void send(int) {}
extern "C" void signal_row(void) {}

namespace lab03 {
void column_sums(float* sums, const float* in, size_t rows, size_t columns) {
	wait(sums, columns);
	if (!open((int)rows)) return;
	for (size_t r = 0; r < rows; ++r) sync(sums, in + write(r, columns), columns);
	send(0);
	signal_row();
}
}
