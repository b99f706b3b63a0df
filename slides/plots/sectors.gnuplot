# Sectors per request by access pattern, as an H200's counters saw lab 03's kernels: loads, of the transpose its stores.
load here.'/style.gnuplot'
set style fill solid 0.9
set boxwidth 0.6
set yrange [0:36]
set ylabel 'sectors per request'
set xtics rotate by 30 right
set bmargin 5.5
unset key
# case in the results, "load" or "store", its name below the bar
$bars << EOD
copy_offset/0	load	in[i]
copy_offset/1	load	in[i + 1]
copy_offset/8	load	in[i + 8]
copy_strided/2	load	in[2 i]
copy_strided/3	load	in[3 i]
copy_strided/8	load	in[8 i]
copy_strided/32	load	in[32 i]
sigmoid_thread_per_row/1024x1024	load	thread per row
sigmoid_thread_per_column/1024x1024	load	thread per column
transpose_naive/1024x1024	store	naive transpose
copy_vectorized/1048576	load	float4
EOD
seen(name, side) = real(system(sprintf("awk -F'\t' -v c='%s' '$2 == c { print $%d / $%d }' '%s/counters.tsv'", \
                                       name, side eq 'load' ? 4 : 6, side eq 'load' ? 3 : 5, data)))
plot $bars using 0:(seen(strcol(1), strcol(2))):xtic(3) with boxes linecolor rgb blue, \
     '' using 0:(seen(strcol(1), strcol(2)) + 1.3):(sprintf('%.0f', seen(strcol(1), strcol(2)))) with labels textcolor rgb blue
