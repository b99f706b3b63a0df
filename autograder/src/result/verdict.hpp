// The words of a verdict, one list for terminal, report, JSON and expected.toml.
#pragma once

#include <string>

namespace grading {

enum class verdict {
  pass,
  too_slow,
  wrong,
  wasteful,  ///< a counter misses its bar: more traffic than allowed
  build_error,
  crash,
  timeout,
  inconclusive,  ///< the machine was too noisy to say which points; the result has the least and the most
  not_assessed,  ///< this machine cannot say
  not_answered,  ///< not all predictions are made
  pending,       ///< what is right so far is, and the rest waits for a function that does not pass yet
};

std::string name_of(verdict v);                  ///< "TOO SLOW"
verdict verdict_named(const std::string& name);  ///< throws std::invalid_argument, which lists the names
bool is_assessed(verdict v);                     ///< whether the item's points count in "out of"

}  // namespace grading
