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

// PTX: the first match decides, so longer names come first, and special registers before the instructions that move
// them.
constexpr advice ptx[] = {
    {"%laneid", "the linear thread index % 32"},
    {"%warpid", "the linear thread index / 32"},
    {"%lanemask_lt", "(1u << lane) - 1"},
    {"%globaltimer", "clock64()"},
    {"%clock64", "clock64()"},
    {"%clock", "clock()"},
    {"cp.async.bulk",
     "__pipeline_memcpy_async (cuda_pipeline.h): the tensor memory accelerator (TMA) is not simulated"},
    {"cp.async.wait", "__pipeline_wait_prior (cuda_pipeline.h)"},
    {"cp.async.commit_group", "__pipeline_commit (cuda_pipeline.h)"},
    {"cp.async", "__pipeline_memcpy_async (cuda_pipeline.h)"},
    {"wgmma", "wmma::mma_sync (mma.h)"},
    {"tcgen05", "wmma::mma_sync (mma.h)"},
    {"ldmatrix", "wmma::load_matrix_sync (mma.h)"},
    {"stmatrix", "wmma::store_matrix_sync (mma.h)"},
    {"mma.sync", "wmma::mma_sync (mma.h)"},
    {"wmma.", "wmma::mma_sync (mma.h)"},
    {"mbarrier", "__syncthreads()"},
    {"bar.warp.sync", "__syncwarp()"},
    {"barrier.cluster", "__syncthreads(): thread-block clusters are not simulated"},
    {"barrier.sync", "__syncthreads() or a cooperative group"},
    {"bar.sync", "__syncthreads() or a cooperative group"},
    {"ld.global.nc", "__ldg"},
    {"ld.global.ca", "__ldca"},
    {"ld.global.cg", "__ldcg"},
    {"ld.global.cs", "__ldcs"},
    {"ld.global.lu", "__ldlu"},
    {"ld.global.cv", "__ldcv"},
    {"st.global.wb", "__stwb"},
    {"st.global.cg", "__stcg"},
    {"st.global.cs", "__stcs"},
    {"st.global.wt", "__stwt"},
    {"membar.cta", "__threadfence_block()"},
    {"membar.sys", "__threadfence_system()"},
    {"membar", "__threadfence()"},
    {"fence", "__threadfence()"},
    {"cvta", "the pointer itself"},
    {"prefetch", "nothing: omit the hint"},
    {"createpolicy", "nothing: omit the hint"},
    {"discard", "nothing: omit the hint"},
    {"redux.sync", "__reduce_add_sync and its like"},
    {"shfl.sync", "__shfl_sync and its like"},
    {"vote.sync", "__ballot_sync and its like"},
    {"match.", "__match_any_sync"},
    {"activemask", "__activemask()"},
    {"nanosleep", "__nanosleep"},
    {"atom.", "atomicAdd and its like"},
    {"red.", "atomicAdd and its like"},
    {"ld.", "a pointer"},
    {"st.", "a pointer"},
    {"prmt", "__byte_perm"},
    {"dp4a", "__dp4a"},
    {"mul.hi", "__umulhi or __mulhi"},
    {"popc", "__popc"},
    {"clz", "__clz"},
    {"brev", "__brev"},
    {"ex2.approx", "exp2f"},
    {"lg2.approx", "__log2f"},
    {"tanh.approx", "tanhf"},
    {"rsqrt", "rsqrtf"},
    {"sqrt", "sqrtf"},
    {"rcp", "__frcp_rn"},
    {"fma.", "fmaf"},
    {"cvt", "a conversion of C++ or cuda_fp16.h"},
    {"trap", "__trap()"},
    {"exit", "return"},
};

constexpr std::string_view
    clusters = "thread-block clusters are not simulated; use a grid of single blocks",
    tensor_memory =
        "the tensor memory accelerator (TMA) is not simulated; use "
        "__pipeline_memcpy_async (cuda_pipeline.h) or plain loads",
    textures = "textures and surfaces are not simulated; read the array through a pointer",
    modules = "kernels loaded or compiled at run time are not simulated; launch the kernel with <<<>>>";

constexpr std::string_view own_mark =
    "only functions that report their own accesses to the simulated device may use this; leave it out";

constexpr advice names[] = {
    {"SIM_QUIET", own_mark},
    {"SIM_UNHOOKED", own_mark},
    {"SIM_UNCOUNTED", own_mark},
    {"SIM_UNOBSERVED", own_mark},
    {"SIM_CALLED_HERE", own_mark},
    {"__cluster_dims__", clusters},
    {"cluster_group", clusters},
    {"this_cluster", clusters},
    {"cudaLaunchAttributeClusterDimension", clusters},
    {"CUtensorMap", tensor_memory},
    {"cuTensorMapEncodeTiled", tensor_memory},
    {"cuTensorMapEncodeIm2col", tensor_memory},
    {"cp_async_bulk_tensor_1d_global_to_shared", tensor_memory},
    {"cp_async_bulk_tensor_2d_global_to_shared", tensor_memory},
    {"cp_async_bulk_tensor_3d_global_to_shared", tensor_memory},
    {"cp_async_bulk_global_to_shared", tensor_memory},
    {"cp_async_bulk_shared_to_global", tensor_memory},
    {"cudaTextureObject_t", textures},
    {"cudaSurfaceObject_t", textures},
    {"cudaCreateTextureObject", textures},
    {"cudaCreateSurfaceObject", textures},
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

// By how the name of the header begins.
constexpr advice libraries[] = {{"cufft", "cuFFT"},       {"cusparse", "cuSPARSE"}, {"cudnn", "cuDNN"},
                                {"cusolver", "cuSOLVER"}, {"nccl", "NCCL"},         {"cutlass/", "CUTLASS"},
                                {"cute/", "CuTe"},        {"nvrtc", "NVRTC"}};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The place of a name in assembler text: not within a longer one.
std::size_t find_name(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1))
    if (at == 0 || (!is_word(text[at - 1]) && text[at - 1] != '.')) return at;
  return std::string_view::npos;
}

/// PTX writes an instruction's type after a dot, as in mov.u32, and declares registers by .reg. x86 assembly does
/// neither.
bool looks_like_ptx(std::string_view text) {
  if (find_name(text, ".reg") != std::string_view::npos) return true;
  bool at_start = true;  // of an instruction
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (at_start && std::islower(static_cast<unsigned char>(text[i]))) {
      while (i < text.size() && is_word(text[i])) ++i;
      if (i + 1 < text.size() && text[i] == '.' && std::islower(static_cast<unsigned char>(text[i + 1]))) return true;
      at_start = false;
    }
    if (i >= text.size()) break;
    if (is_one_of(text.substr(i, 1), {";", "{", "\n"}))
      at_start = true;
    else if (!std::isspace(static_cast<unsigned char>(text[i])))
      at_start = false;
  }
  return false;
}

class search {
 public:
  search(const std::string& source, const std::vector<token>& tokens)
      : source_(source), tokens_(tokens), places_(places_of(source, tokens)) {}

  std::vector<edit> run() {
    refuse_pasted_marks();
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (text(i) == "#" && tokens_[i].directive != (i == 0 ? 0 : tokens_[i - 1].directive)) {
        i = directive(i);
        continue;
      }
      if (tokens_[i].kind != 'i') continue;
      if (is_one_of(text(i), {"asm", "__asm", "__asm__"}))
        i = assembler(i);
      else
        name(i);
    }
    return std::move(edits_);
  }

 private:
  std::string_view text(std::size_t i) const {
    if (i >= tokens_.size()) return {};
    return std::string_view(source_).substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin);
  }

  /// Looks into #include, leaves #define for the loop, skips the others. Returns the last token it has dealt with.
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
    if (is_one_of(text(i), {"texture", "surface"}) && text(i + 1) == "<" && !declares(text(i))) refuse(i, textures);
    if (text(i) == "cuda" && text(i + 1) == "::" && text(i + 2) == "ptx")
      refuse(i, "cuda::ptx is not simulated; use the functions of CUDA C++");
  }
  /// A mark whose pieces are all in the file: ## joins them, or a backslash at the end of a line.
  void refuse_pasted_marks() {
    std::set<std::string_view> pieces;
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (tokens_[i].kind == 'i') pieces.insert(text(i));
    for (const advice& n : names) {
      if (n.instead != own_mark) continue;
      std::vector<bool> reached(n.what.size() + 1);  // by pieces, one after the other
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

  /// asm volatile("..." : ...), to its closing parenthesis.
  std::size_t assembler(std::size_t begin) {
    std::size_t i = begin + 1;
    while (is_one_of(text(i), {"volatile", "__volatile__", "__volatile", "goto", "inline", "__inline__"})) ++i;
    if (text(i) != "(") return begin;
    std::string code;
    bool literal = true;  // not made by a macro
    for (++i; i < tokens_.size() && text(i) != ":" && text(i) != "::" && text(i) != ")"; ++i) {
      literal &= tokens_[i].kind == 's';
      if (tokens_[i].kind == 's') code += contents(text(i));
    }
    int depth = 1;
    for (; i < tokens_.size(); ++i)
      if ((depth += (text(i) == "(") - (text(i) == ")")) == 0) break;
    if (i == tokens_.size()) return begin;
    const bool empty = literal && code.find_first_not_of(" \t\n") == std::string::npos;
    if (empty || !(places_[begin].in_device_code || looks_like_ptx(code))) return i;

    std::string message = "inline PTX is not simulated; rewrite it in CUDA C++";
    for (const advice& p : ptx)
      if (find_name(code, p.what) != std::string_view::npos) {
        message = "inline PTX (" + std::string(p.what.substr(0, p.what.find_last_not_of('.') + 1)) +
                  ") is not simulated; use " + std::string(p.instead);
        break;
      }
    const std::size_t at = tokens_[begin].begin, length = tokens_[i].end - at;
    std::string replacement = refusal(message);
    for (auto n = std::count(source_.begin() + static_cast<std::ptrdiff_t>(at),
                             source_.begin() + static_cast<std::ptrdiff_t>(at + length), '\n');
         n > 0; --n)
      replacement += tokens_[begin].directive ? "\\\n" : "\n";
    edits_.push_back({at, length, replacement});
    return i;
  }

  static std::string contents(std::string_view literal) {
    const std::size_t open = literal.find_first_of("\"'");
    literal = literal.substr(open + 1, literal.size() - std::min(literal.size(), open + 2));
    std::string result;
    for (std::size_t i = 0; i < literal.size(); ++i) {
      if (literal[i] == '\\' && i + 1 < literal.size()) {
        ++i;
        result += is_one_of(literal.substr(i, 1), {"n", "t", "r"}) ? '\n' : literal[i];
      } else if (literal[i] == '%' && i + 1 < literal.size() && literal[i + 1] == '%') {
        // %% stands for one
      } else {
        result += literal[i];
      }
    }
    return result;
  }

  const std::string& source_;
  const std::vector<token>& tokens_;
  std::vector<place> places_;
  std::vector<edit> edits_;
};

}  // namespace

std::vector<edit> refusals(const std::string& source, const std::vector<token>& tokens) {
  return search(source, tokens).run();
}

}  // namespace sim
