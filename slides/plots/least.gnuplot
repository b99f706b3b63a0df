# Four programs on an H200: the time that the roofline allows at least, and the time measured (the opening).
load here.'/style.gnuplot'
set style fill solid 0.9
set xrange [0:27]
set yrange [4.5:-0.5]
set xlabel 'milliseconds'
set lmargin 27
set key at graph 1, graph 0.42 right samplen 1.5
set grid noytics xtics
unset border
set border 1
field(file, test, column) = 1e3 * real(system(sprintf("awk -F'\t' '%s { print $%d }' '%s/%s.tsv'", test, column, data, file)))
ceiling(name) = field('throughput', sprintf('$2 == "%s"', name), 6)
token(version) = 1e-3 * field('tokens', sprintf('$1 == "PyTorch" && $2 == "%s"', version), 4)
bandwidth = 4.25e12
array name = ['product in FP32', 'one token, PyTorch eager', 'copy of 4 GiB', 'product in bf16', 'token, compiled, graph']
array measured = [ceiling('sgemm/8192x8192x8192'), token('eager'), ceiling('transpose/32768x32768'), ceiling('gemm_pipelined/8192x8192x8192'), token('compiled, in a graph')]
array least = [2e3 * 8192**3 / 66.9e12, 0.004, 2e3 * 2**32 / bandwidth, 2e3 * 8192**3 / 989e12, 0.004]
set for [i = 1:5] label name[i] at graph -0.01, first i - 1 right
set for [i = 1:5] label sprintf('%.2f', measured[i]) at measured[i] + 0.3, i - 1 left textcolor rgb blue
set ytics format '' scale 0
# The copy takes a hair less than the formula says with its rate rounded to 4.25 TB/s.
rest(i) = measured[i] > least[i] ? measured[i] - least[i] : 0
plot least using (least[$1] / 2):($1 - 1):(least[$1] / 2):(0.28) with boxxyerror linecolor rgb blue title 'at least, by the formula', \
     measured using (least[$1] + rest($1) / 2):($1 - 1):(rest($1) / 2):(0.28) with boxxyerror linecolor rgb '#b9cdea' title 'measured'
