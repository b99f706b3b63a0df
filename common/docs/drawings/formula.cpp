#include "formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace drawings {
namespace {

template <class Of>
value each(const value& a, const value& b, Of of) {
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1)
    throw std::runtime_error(fmt::format("lists of {} and of {} numbers", a.size(), b.size()));
  value out(a.size() == 1 ? b.size() : a.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = of(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
  return out;
}

double modulo(double a, double b) { return a - b * std::floor(a / b); }
double exclusive_or(double a, double b) {
  return static_cast<double>(static_cast<unsigned>(a) ^ static_cast<unsigned>(b));
}

using one = double (*)(double);
const std::map<std::string, one> of_one = {{"floor", std::floor}, {"round", std::round}, {"exp", std::exp},
                                           {"ln", std::log},      {"log2", std::log2},   {"log10", std::log10},
                                           {"tanh", std::tanh}};
using two = double (*)(double, double);
const std::map<std::string, two> of_two = {{"min", [](double a, double b) { return std::min(a, b); }},
                                           {"max", [](double a, double b) { return std::max(a, b); }},
                                           {"less", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
                                           {"equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
                                           {"xor", exclusive_or}};
const std::map<std::string, figure> of_lists = {
    {"sum",
     [](const auto& a, const names& k) {
       const value v = value_of(a.at(0), k);
       return value{std::accumulate(v.begin(), v.end(), 0.0)};
     }},
    {"count", [](const auto& a, const names& k) { return value{static_cast<double>(value_of(a.at(0), k).size())}; }},
    {"largest",
     [](const auto& a, const names& k) {
       const value v = value_of(a.at(0), k);
       return value{*std::max_element(v.begin(), v.end())};
     }},
    {"last", [](const auto& a, const names& k) { return value{value_of(a.at(0), k).back()}; }},
    {"at",
     [](const auto& a, const names& k) {  // at(list, places)
       const value v = value_of(a.at(0), k);
       value out;
       for (const double i : value_of(a.at(1), k)) out.push_back(v.at(static_cast<std::size_t>(i)));
       return out;
     }},
    {"to",
     [](const auto& a, const names& k) {  // to(5): 0, 1, 2, 3, 4
       value v(static_cast<std::size_t>(number_in(value_of(a.at(0), k))));
       std::iota(v.begin(), v.end(), 0.0);
       return v;
     }},
    {"where",
     [](const auto& a, const names& k) {  // where(list, which): the elements for which `which` is not 0
       const value v = value_of(a.at(0), k), which = value_of(a.at(1), k);
       value out;
       for (std::size_t i = 0; i < v.size(); ++i)
         if (which.at(i) != 0) out.push_back(v[i]);
       return out;
     }},
    {"others",
     [](const auto& a, const names& k) {  // others(list, n): the numbers from 0 to n - 1 that are not in the list
       const value v = value_of(a.at(0), k);
       value out;
       for (double i = 0; i < number_in(value_of(a.at(1), k)); ++i)
         if (std::find(v.begin(), v.end(), i) == v.end()) out.push_back(i);
       return out;
     }},
    {"over", [](const auto& a, const names& k) {  // over(i, list, formula of i)
       names inner = k;
       value out;
       for (const double i : value_of(a.at(1), k)) {
         inner[a.at(0)] = {i};
         const value v = value_of(a.at(2), inner);
         out.insert(out.end(), v.begin(), v.end());
       }
       return out;
     }}};

class reader {
 public:
  reader(std::string_view text, const names& known) : text_(text), known_(known) {}
  value all() {
    value v = sum();
    if (skip() != 0) throw std::runtime_error(fmt::format("\"{}\" is too much", text_.substr(at_)));
    return v;
  }

 private:
  char skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) { return skip() == c ? (++at_, true) : false; }
  value sum() {
    value v = product();
    for (;;)
      if (take('+'))
        v = each(v, product(), [](double a, double b) { return a + b; });
      else if (take('-'))
        v = each(v, product(), [](double a, double b) { return a - b; });
      else
        return v;
  }
  value product() {
    value v = power();
    for (;;)
      if (take('*'))
        v = each(v, power(), [](double a, double b) { return a * b; });
      else if (take('/'))
        v = each(v, power(), [](double a, double b) { return a / b; });
      else if (take('%'))
        v = each(v, power(), modulo);
      else
        return v;
  }
  value power() {
    if (take('-')) return each({-1}, power(), [](double a, double b) { return a * b; });
    value v = primary();
    return take('^') ? each(v, power(), [](double a, double b) { return std::pow(a, b); }) : v;
  }
  /// The text between the bracket at `at_` and its partner.
  std::string_view inside() {
    const std::size_t begin = at_ + 1;
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      depth += text_[at_] == '(' || text_[at_] == '[' ? 1 : text_[at_] == ')' || text_[at_] == ']' ? -1 : 0;
      if (depth == 0) return text_.substr(begin, at_++ - begin);
    }
    throw std::runtime_error("a bracket without its partner");
  }
  value primary() {
    const char c = skip();
    if (c == '(') return value_of(inside(), known_);
    if (c == '[') {
      value all;
      for (const std::string& part : parts(inside(), ',')) {
        const value v = value_of(part, known_);
        all.insert(all.end(), v.begin(), v.end());
      }
      return all;
    }
    const std::size_t begin = at_;
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      std::size_t length = 0;
      const double number = std::stod(std::string(text_.substr(at_)), &length);
      at_ += length;
      return {number};
    }
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' || text_[at_] == '.'))
      ++at_;
    const std::string name(text_.substr(begin, at_ - begin));
    if (name.empty()) throw std::runtime_error("no formula");
    if (skip() == '(') return call(name, parts(inside(), ','));
    if (const auto found = known_.find(name); found != known_.end()) return found->second;
    if (name.find('.') != std::string::npos) return device_figure(name);
    return call(name, {});
  }
  value call(const std::string& name, const std::vector<std::string>& with) {
    if (const auto found = of_one.find(name); found != of_one.end()) {
      value v = value_of(with.at(0), known_);
      std::transform(v.begin(), v.end(), v.begin(), found->second);
      return v;
    }
    if (const auto found = of_two.find(name); found != of_two.end())
      return each(value_of(with.at(0), known_), value_of(with.at(1), known_), found->second);
    if (const auto found = of_lists.find(name); found != of_lists.end()) return found->second(with, known_);
    const auto found = figures().find(name);
    if (found == figures().end()) throw std::runtime_error(fmt::format("unknown name \"{}\"", name));
    return found->second(with, known_);
  }

  std::string_view text_;
  const names& known_;
  std::size_t at_ = 0;
};

}  // namespace

value value_of(std::string_view formula, const names& known) {
  try {
    return reader(formula, known).all();
  } catch (const std::out_of_range&) {
    throw std::runtime_error(fmt::format("{}: too few arguments, or a place that a list does not have", formula));
  }
}

double number_in(const value& v) {
  if (v.size() != 1) throw std::runtime_error(fmt::format("{} numbers instead of one", v.size()));
  return v[0];
}

std::vector<std::string> parts(std::string_view text, char separator) {
  std::vector<std::string> all{""};
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (c == separator && depth == 0)
      all.emplace_back();
    else if (c != ' ' || !all.back().empty())
      all.back() += c;
  }
  if (all.back().empty()) all.pop_back();
  return all;
}

}  // namespace drawings
