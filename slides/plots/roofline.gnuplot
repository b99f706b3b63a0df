# The roofline of an H200, and the labs' kernels on it: all measured, throughput.tsv and ceilings.tsv.
load here.'/style.gnuplot'
set logscale xy
set xrange [0.08:3000]
set yrange [3e10:2e14]
set xlabel 'arithmetic intensity, FLOP per byte'
set ylabel 'FLOP/s'
set ytics ('100 G' 1e11, '1 T' 1e12, '10 T' 1e13, '100 T' 1e14)
set key bottom right
figure(file, test, column) = real(system(sprintf("awk -F'\t' '%s { print %s; exit }' '%s/%s'", test, column, data, file)))
bandwidth = figure('ceilings.tsv', '$1 == 4294967296 && $2 == "copy"', '$3')
peak = figure('throughput.tsv', '$2 ~ /^device_fma/', '$4 / $5')
points = "< awk -F'\t' '$4 > 0 && $2 !~ /4096x4096/ && $2 ~ /^(gelu|softmax|forward|backward|sgemm)\\// { sub(/\\/.*/, \"\", $2); print $4 / $3 \"\t\" $4 / $5 \"\t\" $2 }' '".data."/throughput.tsv' | sort -g"
plot (x * bandwidth < peak ? x * bandwidth : peak) linecolor rgb grey linewidth 3 \
       title sprintf('%.2f TB/s copied, %.0f TFLOP/s in FP32 multiply-adds', bandwidth * 1e-12, peak * 1e-12), \
     points using 1:2 with points pointtype 7 pointsize 1 linecolor rgb blue title 'kernels of labs 04 to 06', \
     '' using 1:2:3 every 2::1 with labels right offset -1,0.6 textcolor rgb blue notitle, \
     '' using 1:2:3 every 2 with labels left offset 1,-0.6 textcolor rgb blue notitle
