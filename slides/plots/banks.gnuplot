# Wavefronts a shared load by the pitch of the tile whose column is read, as an H200 counted them (lab 03).
load here.'/style.gnuplot'
set style fill solid 0.9
set boxwidth 0.6
set logscale y 2
set yrange [0.8:48]
set ylabel 'wavefronts a load'
set xlabel 'pitch of the tile, floats'
unset key
rows = "< awk -F'\t' '$2 ~ /^read_tile_columns/ { sub(/.*\\//, \"\", $2); print $2 \"\t\" 1 + $7 / $8 }' '".data."/counters.tsv'"
plot rows using 0:2:xtic(1) with boxes linecolor rgb blue, \
     '' using 0:($2 * 1.15):2 with labels textcolor rgb blue
