#include "refuse.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string_view>

namespace sim {
namespace {

struct advice {
  std::string_view what, instead;
};

constexpr std::string_view
    im2col = "tensor maps of images are not simulated; use cuTensorMapEncodeTiled",
    mipmaps = "mipmapped textures are not simulated; use an array of one level",
    references = "CUDA 12 removed texture and surface references; use texture and surface objects",
    modules = "kernels loaded or compiled at run time are not simulated; launch the kernel with <<<>>>";

constexpr std::string_view own_mark =
    "only functions that report their own accesses to the simulated device may use this; leave it out";

constexpr advice names[] = {
    {"SIM_QUIET", own_mark},
    {"SIM_UNHOOKED", own_mark},
    {"SIM_UNCOUNTED", own_mark},
    {"SIM_UNOBSERVED", own_mark},
    {"SIM_CALLED_HERE", own_mark},
    {"cuTensorMapEncodeIm2col", im2col},
    {"cuTensorMapEncodeIm2colWide", im2col},
    {"cudaMipmappedArray_t", mipmaps},
    {"cudaMallocMipmappedArray", mipmaps},
    {"cuModuleLoad", modules},
    {"cuModuleLoadData", modules},
    {"cuModuleLoadDataEx", modules},
    {"cuModuleLoadFatBinary", modules},
    {"cuLibraryLoadData", modules},
    {"cuLibraryLoadFromFile", modules},
    {"cudaLibraryLoadData", modules},
    {"cudaLibraryLoadFromFile", modules},
    {"nvrtcCreateProgram", modules},
};

// By the beginning of the header's name.
constexpr advice libraries[] = {{"cudnn", "cuDNN"},
                                {"cusolverSp", "cuSOLVER for sparse matrices"},
                                {"cusolverRf", "cuSOLVER for sparse matrices"},
                                {"cusolverMg", "cuSOLVER on several devices"},
                                {"cutlass/", "CUTLASS"},
                                {"cute/", "CuTe"},
                                {"nvrtc", "NVRTC"},
                                {"cublasXt", "cuBLAS on several devices"},
                                {"cupti_events", "CUPTI's Event API"},
                                {"cupti_metrics", "CUPTI's Metric API"},
                                {"cupti_pc", "CUPTI's PC Sampling API"},
                                {"cupti_pm", "CUPTI's PM Sampling API"},
                                {"cupti_sass", "CUPTI's SASS Metrics API"},
                                {"nvperf", "Nsight's metrics library"}};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}
class search : token_view {
 public:
  using token_view::token_view;

  std::vector<edit> run() {
    refuse_pasted_marks();
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (text(i) == "#" && tokens_[i].directive != (i == 0 ? 0 : tokens_[i - 1].directive)) {
        i = directive(i);
        continue;
      }
      if (tokens_[i].kind == 'i') name(i);
    }
    return std::move(edits_);
  }

 private:
  /// Checks #include, leaves #define to the loop, skips other directives. Returns the last token processed.
  std::size_t directive(std::size_t hash) {
    if (text(hash + 1) == "define") return hash + 1;
    std::size_t last = hash;
    while (last + 1 < tokens_.size() && tokens_[last + 1].directive == tokens_[hash].directive) ++last;
    if (text(hash + 1) == "include" && hash + 2 <= last) {
      const std::size_t begin = tokens_[hash + 2].begin;
      const std::string_view header = std::string_view(source_).substr(begin + 1, tokens_[last].end - begin - 1);
      for (const advice& l : libraries)
        if (header.starts_with(l.what))
          edits_.push_back({tokens_[hash].begin, tokens_[last].end - tokens_[hash].begin,
                            "#pragma GCC error \"" + std::string(l.instead) +
                                " is not simulated; write the kernel yourself, or run this on a GPU\""});
    }
    return last;
  }

  void name(std::size_t i) {
    if (i > 0 && is_one_of(text(i - 1), {".", "->", "struct", "class", "enum", "namespace", "using"})) return;
    for (const advice& n : names)
      if (text(i) == n.what) return refuse(i, n.instead);
    if (is_one_of(text(i), {"texture", "surface"}) && text(i + 1) == "<" && !declares(text(i))) refuse(i, references);
  }
  /// Refuses marks whose pieces are all in the file, to be joined by ## or by a backslash at a line's end.
  void refuse_pasted_marks() {
    std::set<std::string_view> pieces;
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (tokens_[i].kind == 'i') pieces.insert(text(i));
    for (const advice& n : names) {
      if (n.instead != own_mark) continue;
      std::vector<bool> reached(n.what.size() + 1);  // by pieces in order
      reached[0] = true;
      for (std::size_t from = 0; from < n.what.size(); ++from)
        for (std::size_t length = 1; reached[from] && from + length <= n.what.size(); ++length)
          if (pieces.contains(n.what.substr(from, length))) reached[from + length] = true;
      if (reached[n.what.size()] && !pieces.contains(n.what)) return refuse(0, own_mark);
    }
  }
  void refuse(std::size_t i, std::string_view message) {
    edits_.push_back({tokens_[i].begin, 0, refusal(std::string(message)) + " "});
  }
  bool declares(std::string_view type) const {
    for (std::size_t i = 1; i < tokens_.size(); ++i)
      if (text(i) == type && is_one_of(text(i - 1), {"struct", "class", "using"})) return true;
    return false;
  }

  std::vector<edit> edits_;
};

}  // namespace

std::vector<edit> refusals(const std::string& source, const std::vector<token>& tokens) {
  return search(source, tokens).run();
}

}  // namespace sim
