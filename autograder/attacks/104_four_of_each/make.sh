cd "$1"
sed -i 's/for (int i = 0; i < n; ++i)/for (int i = 0; i < 4 + 0 * n; ++i)/' analysis.cpp
[ "$(grep -c '0 \* n' analysis.cpp)" = 2 ]
