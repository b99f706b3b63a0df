// One size after the other, each with all its values, until none changes; plain arrays, indices instead of sizes.
#include "tune.hpp"

#define SHARED_BYTES(c) ((int)(2 * (c).bk * ((c).bm + (c).bn) * sizeof(float)))

static int registers_of(int tm, int tn) {
  int r = tm * tn + 2 * (tm + tn) + 32;
  while (r % 8 != 0) r++;
  return r;
}

bool lab06::fits(const configuration& c, const limits& of) {
  const int threads = (c.bm / c.tm) * (c.bn / c.tn), registers = registers_of(c.tm, c.tn);
  if (threads % 32 != 0) return false;
  if (threads > 1024) return false;
  if (registers > 255) return false;
  if (threads * registers > of.registers) return false;
  return SHARED_BYTES(c) <= of.shared_bytes;
}

lab06::configuration lab06::tune(const limits& of, int most, double (*time)(const configuration&)) {
  static double seconds[4][4][4][4][4];  // 0: not measured
  for (double* s = &seconds[0][0][0][0][0]; s != &seconds[3][3][3][3][3] + 1; s++) *s = 0;
  const auto sizes = [](const int* i) {
    return configuration{sides[i[0]], sides[i[1]], depths[i[2]], thread_sides[i[3]], thread_sides[i[4]]};
  };
  const auto measured = [&](const int* i) -> double& { return seconds[i[0]][i[1]][i[2]][i[3]][i[4]]; };

  int best[5] = {2, 2, 0, 2, 2};  // 128 x 128 x 8, 8 x 8 per thread
  measured(best) = time(sizes(best));
  most--;
  for (int unchanged = 0, which = 0; unchanged < 5; which = (which + 1) % 5) {
    unchanged++;
    int next[5] = {best[0], best[1], best[2], best[3], best[4]};
    for (next[which] = 0; next[which] < 4; next[which]++) {
      if (measured(next) == 0) {
        if (most == 0 || !fits(sizes(next), of)) continue;
        measured(next) = time(sizes(next));
        most--;
      }
      if (measured(next) < measured(best)) {
        best[which] = next[which];
        unchanged = 0;
      }
    }
  }
  return sizes(best);
}
