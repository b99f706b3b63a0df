# The staircase of lab 07 as an H200 has it: a kernel with one tile and one block a multiprocessor, and the solution's model.
load here.'/style.gnuplot'
set xrange [256:4352]
set yrange [0:*]
set xlabel 'n, for a product of n x n matrices'
set ylabel 'TFLOP/s'
set key bottom right
rows(tile) = "< awk -F'\t' '$1 == \"".tile."\"' '".data."/staircase.tsv'"
rate(n, seconds) = 2e-12 * n ** 3 / seconds
plot rows('128 x 128') using 2:(rate($2, $4)) with lines linecolor rgb grey linewidth 3 title 'modelled: 128 x 128', \
     '' using 2:(rate($2, $3)) with points pointtype 7 pointsize 0.7 linecolor rgb blue title 'measured', \
     rows('256 x 128') using 2:(rate($2, $4)) with lines linecolor rgb grey linewidth 1 title 'modelled: 256 x 128', \
     '' using 2:(rate($2, $3)) with points pointtype 7 pointsize 0.7 linecolor rgb orange title 'measured'
