# Lab 06's ladder: sectors that 256 x 256 x 256 loads, rung by rung, as an H200 counted them.
load here.'/style.gnuplot'
set style fill solid 0.9
set boxwidth 0.6
set logscale y
set yrange [1e4:6e7]
set ytics ('10 k' 1e4, '100 k' 1e5, '1 M' 1e6, '10 M' 1e7)
set ylabel 'sectors loaded'
set xtics rotate by 30 right
set bmargin 4.5
unset key
rows = "< awk -F'\t' '$2 ~ /^sgemm/ { sub(/^sgemm_?/, \"\", $2); sub(/\\/.*/, \"\", $2); print ($2 == \"\" ? \"sgemm\" : $2) \"\t\" $4 }' '".data."/counters.tsv'"
plot rows using 0:2:xtic(1) with boxes linecolor rgb blue, \
     '' using 0:($2 * 1.5):($2 < 1e6 ? sprintf('%.0f k', $2 / 1e3) : sprintf('%.1f M', $2 / 1e6)) with labels textcolor rgb blue
