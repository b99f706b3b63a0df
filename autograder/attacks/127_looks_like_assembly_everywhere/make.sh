# The file includes itself, so the preprocessor's output is 20 times as long.
cd "$1"
{
  echo '#ifdef INSIDE'
  echo '[[maybe_unused]] static const char* NAME(__LINE__, COUNT) = R"x(;'
  yes '# asm("-")' | head -n 18000
  echo ')x";'
  echo '#else'
  echo '#define INSIDE'
  echo '#define JOINED(line, count) text_##line##_##count'
  echo '#define NAME(line, count) JOINED(line, count)'
  for count in $(seq 20); do
    printf '#define COUNT %d\n#include __FILE__\n#undef COUNT\n' "$count"
  done
  cat accounting.cpp
  echo '#endif'
} >whole.cpp
mv whole.cpp accounting.cpp
