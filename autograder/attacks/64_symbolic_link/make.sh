#!/bin/sh
set -e
ln -sf /etc/passwd "$1/column_sums.cpp"
