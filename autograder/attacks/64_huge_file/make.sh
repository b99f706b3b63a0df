#!/bin/sh
set -e
truncate -s 1G "$1/column_sums.cpp"
