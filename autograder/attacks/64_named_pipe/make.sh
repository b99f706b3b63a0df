#!/bin/sh
set -e
rm "$1/column_sums.cpp"; mkfifo "$1/column_sums.cpp"
