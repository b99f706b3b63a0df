#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <vector>

#include "recomputation.hpp"

#define FOR(i, a, b) for (long i = (a); i < (long)(b); i++)

namespace lab05 {
typedef struct {
  int64_t kept, extra;
  int from, which;
} state;
typedef std::vector<state> states;

static void prune(states& s) {
  std::sort(s.begin(), s.end(), [](const state& a, const state& b) {
    return a.kept != b.kept ? a.kept < b.kept : a.extra < b.extra;
  });
  size_t n = 0;
  FOR(i, 0, s.size()) if (!n || s[i].extra < s[n - 1].extra) s[n++] = s[i];
  s.resize(n);
}

void choose_checkpoints(uint8_t* keep, const int64_t* bytes, const int64_t* flops, size_t layers, int64_t budget) {
  const int L = (int)layers;
  std::vector<int64_t> runs{0};
  FOR(i, 0, L) {
    int64_t s = 0;
    FOR(j, i, L) {
      s += bytes[j];
      if (s > budget) break;
      runs.push_back(s);
    }
  }
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  int64_t best = INT64_MAX;
  for (int64_t most : runs) {
    /* f[j]: layer j - 1 is kept (f[0]: none yet); f[L + 1]: the end */
    std::vector<states> f(L + 2);
    f[0].push_back({0, 0, -1, -1});
    FOR(j, 1, L + 2) {
      int64_t run = 0, extra = 0;
      for (long i = j - 1; i >= 0; i--) {
        FOR(q, 0, f[i].size()) {
          const int64_t kept = f[i][q].kept + (j <= L ? bytes[j - 1] : 0);
          if (kept + most <= budget && f[i][q].extra + extra < best)
            f[j].push_back({kept, f[i][q].extra + extra, (int)i, (int)q});
        }
        if (i == 0) break;
        run += bytes[i - 1];
        extra += flops[i - 1];
        if (run > most) break;
      }
      prune(f[j]);
    }
    if (f[L + 1].empty() || f[L + 1].back().extra >= best) continue;
    best = f[L + 1].back().extra;
    memset(keep, 0, layers);
    int j = L + 1, q = (int)f[L + 1].size() - 1;
    while (j > 0) {
      const state s = f[j][q];
      if (j <= L) keep[j - 1] = 1;
      j = s.from, q = s.which;
    }
  }
}
}  // namespace lab05
