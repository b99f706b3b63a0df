# GELU of 2^28 floats on an H200: nine kernels, one kernel, and a copy of as many bytes (lab 04).
load here.'/style.gnuplot'
set style fill solid 0.9
set boxwidth 0.5
set yrange [0:8.6]
set ylabel 'milliseconds'
unset key
one(name, column) = 1e3 * real(system(sprintf("awk -F'\t' -v c='%s' '$2 == c { print $%d }' '%s/throughput.tsv'", name, column, data)))
$bars << EOD
gelu_unfused/268435456	5	nine kernels
gelu/268435456	5	one kernel
gelu/268435456	6	device-to-device copy
EOD
plot $bars using 0:(one(strcol(1), int($2))):xtic(3) with boxes linecolor rgb blue, \
     '' using 0:(one(strcol(1), int($2)) + 0.35):(sprintf('%.3f ms', one(strcol(1), int($2)))) with labels textcolor rgb blue
