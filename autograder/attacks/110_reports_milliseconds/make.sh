cd "$1"
sed -i 's/timing benchmark(machine& m, const options& how) { return bencher(m, how).run(); }/timing benchmark(machine\& m, const options\& how) {\n  timing t = bencher(m, how).run();\n  t.median_seconds *= 1000, t.low_seconds *= 1000, t.high_seconds *= 1000, t.overhead_seconds *= 1000;\n  return t;\n}/' benchmark.cpp
grep -q "median_seconds \*= 1000" benchmark.cpp
