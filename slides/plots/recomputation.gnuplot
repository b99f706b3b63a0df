# A chain of three sigmoids, forward and backward, on an H200: with its intermediate results stored, and computed again (lab 05).
load here.'/style.gnuplot'
set style fill solid 0.9
set boxwidth 0.5
set xrange [-0.5:1.5]
set yrange [0:2.5]
set ylabel 'milliseconds'
unset key
ms(name) = 1e3 * real(system(sprintf("awk -F'\t' -v c='%s/268435456' '$2 == c { print $5 }' '%s/throughput.tsv'", name, data)))
$bars << EOD
forward_stored	backward_stored	stored: 4 + 4 passes
forward	backward	recomputed: 2 + 3 passes
EOD
plot $bars using 0:(ms(strcol(1)) + ms(strcol(2))):xtic(3) with boxes linecolor rgb orange, \
     '' using 0:(ms(strcol(1))) with boxes linecolor rgb blue, \
     '' using 0:(0.5 * ms(strcol(1))):(sprintf('forward %.2f', ms(strcol(1)))) with labels textcolor rgb 'white', \
     '' using 0:(ms(strcol(1)) + 0.5 * ms(strcol(2))):(sprintf('backward %.2f', ms(strcol(2)))) with labels textcolor rgb 'white', \
     '' using 0:(ms(strcol(1)) + ms(strcol(2)) + 0.12):(sprintf('%.3f ms', ms(strcol(1)) + ms(strcol(2)))) with labels textcolor rgb '#2b3340'
