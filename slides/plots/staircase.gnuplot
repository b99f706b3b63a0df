# The staircase of lab 07, computed: how much of the device works, for one block a multiprocessor.
load here.'/style.gnuplot'
set xrange [256:4352]
set yrange [0:1.05]
set samples 4097
set xlabel 'n, for a product of n x n matrices'
set ylabel 'useful work / places in all waves'
set key bottom right
tiles(n, m, k) = ceil(n / m) * ceil(n / k)
used(n, m, k, places) = (n * n) / (m * k) / (places * ceil(tiles(n, m, k) / places))
plot used(x, 256., 128., 108.) linecolor rgb orange linewidth 2 title 'A100: 108 multiprocessors, falls at 1793', \
     used(x, 256., 128., 132.) linecolor rgb blue linewidth 2 title 'H200: 132, falls at 2049'
