#!/bin/sh
set -e
ln "$1/column_sums.cpp" "$1/second"
