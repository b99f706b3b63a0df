#!/bin/sh
: > "$1/-fplugin=evil.so"
: > "$1/@options"
: > "$1/\$(touch owned).cpp"
