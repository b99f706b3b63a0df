// A drawing of a handout or a step of a deck, as SVG. All drawings share one print and one set of colours, each for a
// role: bytes that are used, bytes that are wasted, shared memory, registers, time. A handout's drawing reads on a
// phone, on a dark page and in print; a deck's is wider. Both refuse text that is cut off or lies on other text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace drawings {

/// Units across; a phone of 390 pixels shows about one unit as one pixel, so no text is smaller than 11 units.
constexpr double width = 360, margin = 12, inner = width - 2 * margin;
/// A deck's drawing has no title of its own. Across a slide one unit is two pixels, and 230 units are as high as fits.
constexpr double slide_width = 560, slide_inner = slide_width - 2 * margin;

enum class at { start, middle, end };

/// Colours are named by role: used, waste, shared, reg, time, idle, free (an outline), hair (a thin grey line) and pen
/// (a dark one); those of lines and text are "used-line" and "used-text". Text: "h" is a heading, "mute" is grey, "on"
/// is white.
class drawing {
 public:
  /// For a page of the lab, or of labs/ itself if `lab` is ".", which shows it with `says` as its alternative text.
  drawing(std::string lab, std::string name, std::string title, std::string says);
  /// For a deck, which shows it as steps/NAME.svg.
  drawing(std::string name, std::string says);
  bool is_step() const { return lab.empty(); }

  void box(double x, double y, double w, double h, std::string_view role, double round = 1.5);
  /// A box with text in its middle.
  void label(double x, double y, double w, double h, std::string_view role, const std::string& words,
             std::string_view style = "on");
  void line(double x1, double y1, double x2, double y2, std::string_view role = "hair");
  void arrow(double x1, double y1, double x2, double y2, std::string_view role = "pen");
  void curve(const std::vector<std::pair<double, double>>& points, std::string_view role);
  void dot(double x, double y, double radius, std::string_view role);
  /// y: the baseline.
  void text(double x, double y, const std::string& words, std::string_view style = "", at anchor = at::start);
  void heading(double y, const std::string& words) { text(margin, y, words, "h"); }
  /// A row of small boxes with what their colours mean.
  void legend(double y, const std::vector<std::pair<std::string_view, std::string>>& entries);

  std::string svg() const;

  std::string lab, name, title, says;

 private:
  void reach(double y) { bottom_ = bottom_ < y ? y : bottom_; }
  std::string body_;
  double across_ = width, bottom_ = 0;
};

/// The SVG with the colours that all share; throws if text leaves it, lies on other text or is wider than its box.
std::string checked(std::string svg);
std::string description_of(const std::string& svg);

/// "1,234,567"
std::string grouped(long long number);

using drawing_list = std::vector<drawing>;
void course(drawing_list& to);
void opening(drawing_list& to);
void accounting(drawing_list& to);
void benchmarking(drawing_list& to);
void coalescing(drawing_list& to);
void fusion(drawing_list& to);
void recomputation(drawing_list& to);
void tiling(drawing_list& to);
void quantization(drawing_list& to);
void gpt2(drawing_list& to);
void low_precision(drawing_list& to);
void decode(drawing_list& to);
void attention(drawing_list& to);
void host(drawing_list& to);
void crashes(drawing_list& to);

}  // namespace drawings
