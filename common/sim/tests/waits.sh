#!/bin/sh
# waits.sh COMPILER FLAG SIMCC LIBSIM FOLDER: whether the scheduler sees which kernels wait where it and they are built by
# this compiler with this flag, in whole and in sampled launches.
set -e
compiler=$1 flag=$2 simcc=$3 library=$4 folder=$5
sim=$(dirname "$0")/..
mkdir -p "$folder"
CXX=$compiler $simcc "$sim/tests/waits_test.cu" -std=c++20 "$flag" -c -o "$folder/waits_test.o" "-I$sim/../include"
$compiler -std=gnu++20 "$flag" -c "$sim/src/scheduler.cpp" -o "$folder/scheduler.o" "-I$sim/include" "-I$sim/../include"
# Before the library: what it has of the scheduler is then left out.
$compiler "$folder"/*.o "$library" -o "$folder/waits_test" -lgtest_main -lgtest -lboost_context -lfmt -ldw -ltomlplusplus \
  -lpthread
for sample in 1 2; do
  SIM_SAMPLE=$sample "$folder/waits_test" --gtest_filter=-*Count*  # they take longer without optimisation
done
