#!/bin/sh
# Adds files that are not part of the hand-in; grading must ignore them.
printf 'execute_process(COMMAND touch /tmp/owned)\n' > "$1/CMakeLists.txt"
printf '[lab]\n' > "$1/rubric.toml"
mkdir -p "$1/.github/workflows" && printf 'on: push\n' > "$1/.github/workflows/grade.yml"
printf '/tmp/fake_clock.so\n' > "$1/ld.so.preload"
