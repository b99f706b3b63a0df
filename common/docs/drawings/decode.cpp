// Lab 10: the launches of a token, the cache and who writes where, heads that share keys, and where a token's bytes
// are.
#include <fmt/format.h>

#include <array>

#include "drawing.hpp"

namespace drawings {
namespace {

constexpr const char* lab10 = "10_decode";

drawing token() {
  drawing d(lab10, "README.md", "token", "A token, launch by launch",
            "A token: embed, then for each layer seven launches: norm with qkv, rotate with append, attend, join, out "
            "plus x, norm with gate and up, down plus x. Then norm with logits. Five of the steps read weights, two "
            "the cache.");
  const double w = 150, h = 24, x = margin + 60;
  double y = 40;
  struct step {
    const char *words, *role, *reads;
  };
  const auto row = [&](const step& s) {
    d.label(x, y, w, h, s.role, s.words);
    d.text(x + w + 14, y + 16, s.reads, "mute");
    y += h + 8;
  };
  row({"embed", "used", "one row"});
  const double top = y;
  for (const step& s : std::array<step, 7>{{{"norm, qkv", "used", "weights"},
                                            {"rotate, append", "shared", "one token"},
                                            {"attend", "shared", "K and V"},
                                            {"join", "time", "parts"},
                                            {"out, + x", "used", "weights"},
                                            {"norm, gate, up", "used", "weights"},
                                            {"down, + x", "used", "weights"}}})
    row(s);
  d.line(x - 12, top, x - 12, y - 8, "pen");
  d.text(x - 20, (top + y) / 2, "layer", "", at::end);
  row({"norm, logits", "used", "weights"});
  d.legend(y + 10, {{"used", "weights"}, {"shared", "cache"}, {"time", "neither"}});
  return d;
}

drawing cache() {
  constexpr int capacity = 12, now = 6;
  drawing d(lab10, "README.md", "cache", "One layer's keys",
            fmt::format("The keys of one layer, 2 heads with room for {} tokens each. The tokens 0 to {} are there; "
                        "token {} is appended once per head; the places after it hold nothing. A head's keys lie one "
                        "after the other.",
                        capacity, now - 1, now));
  const double cell = 24, left = margin + 46, y = 52;
  for (int head = 0; head < 2; ++head) {
    const double top = y + head * 40;
    d.text(margin, top + 17, fmt::format("head {}", head));
    for (int p = 0; p < capacity; ++p)
      d.box(left + p * cell, top, cell - 2, 24, p < now ? "used" : p == now ? "time" : "idle");
  }
  const double middle = left + now * cell + (cell - 2) / 2;
  d.text(middle, y + 88, fmt::format("*position = {}", now), "time-text", at::middle);
  d.text(margin, y + 116, "Each cell: `size` numbers. V looks the same.", "mute");
  d.legend(y + 134, {{"used", "earlier tokens"}, {"time", "this one"}, {"idle", "not yet"}});
  return d;
}

drawing groups() {
  drawing d(lab10, "README.md", "shared_keys", "Heads that share keys",
            "8 query heads, 2 K/V heads. Query heads 0 to 3 use K/V head 0, 4 to 7 use K/V head 1. A block loads a key "
            "once and computes four scores.");
  const double w = 34, y = 46;
  for (int h = 0; h < 8; ++h) {
    const double x = margin + 4 + h * (w + 7) + h / 4 * 8;
    d.label(x, y, w, 24, "reg", fmt::format("q{}", h));
    const double middle = margin + 4 + (h / 4 * 4 + 1.5) * (w + 7) + h / 4 * 8 + w / 2;
    d.line(x + w / 2, y + 24, middle, y + 62);
    if (h % 4 == 0) d.label(middle - 62, y + 62, 124, 26, "shared", fmt::format("K, V head {}", h / 4));
  }
  d.text(margin, y + 116, "A key is loaded once, and multiplied by four queries.", "mute");
  return d;
}

/// Llama 3.2 1B, in bf16.
drawing bytes() {
  constexpr double layers = 16, width = 2048, heads = 32, kv_heads = 8, size = 64, hidden = 8192, vocabulary = 128'256;
  constexpr double weights = 2 * (vocabulary * width + layers * ((heads + 2 * kv_heads) * size * width +
                                                                 width * heads * size + 3 * hidden * width));
  constexpr double a_token = 4 * layers * kv_heads * size, per_unit = 7.2e9 / inner;
  drawing d(lab10, "SEEN.md", "bytes", "What a token reads",
            fmt::format("Bytes that a token of Llama 3.2 1B reads: always {:.2f} GB of weights, and {:.2f} GB of cache "
                        "at position 4,096, {:.2f} GB at 131,072.",
                        weights * 1e-9, 4096 * a_token * 1e-9, 131'072 * a_token * 1e-9));
  double y = 46;
  for (const double position : {0.0, 4096.0, 32'768.0, 131'072.0}) {
    const double of_cache = position * a_token;
    d.text(
        margin, y,
        fmt::format("position {}: {:.2f} GB", grouped(static_cast<long long>(position)), (weights + of_cache) * 1e-9));
    d.box(margin, y + 8, weights / per_unit, 20, "used");
    if (of_cache > 0) d.box(margin + weights / per_unit, y + 8, of_cache / per_unit, 20, "shared");
    y += 54;
  }
  d.legend(y - 6, {{"used", "weights"}, {"shared", "cache"}});
  return d;
}

}  // namespace

void decode(drawing_list& to) {
  for (const auto make : {token, cache, groups, bytes}) to.push_back(make());
}

}  // namespace drawings
