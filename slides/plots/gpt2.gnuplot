# Where a forward pass of GPT-2 124M spends its time on an H200, B = 4, T = 64: each block's share in four passes (lab 08).
load here.'/style.gnuplot'
set style data histograms
set style histogram rowstacked
set style fill solid 0.9 border rgb 'white'
set boxwidth 0.7
set yrange [0:112]
set ylabel '% of the GPU time'
set grid noxtics
set key outside right center reverse Left samplen 1 invert
set lmargin 8
set bmargin 4
# The pass in gpt2.json, its name below the bar
$passes << EOD
eigen	"Eigen,\nFP32"
fp32	"CUDA,\nFP32"
tf32	"CUDA,\nTF32"
bf16	"CUDA,\nbf16"
EOD
# milliseconds of the blocks whose names match, in one pass
sum(pass, blocks) = real(system(sprintf("awk -F'\t' -v p='%s' '$1 == \"B4 T64\" && $2 == p && $3 ~ /%s/ { s += $4 } END { print s / 1e3 }' '%s/blocks.tsv'", \
                                        pass, blocks, data)))
share(blocks) = 100 * sum(strcol(1), blocks) / sum(strcol(1), '.')
set format y '%.0f'
plot $passes using (share('^attention')):xtic(2) linecolor rgb red title 'attention', \
     '' using (share('^MLP')) linecolor rgb blue title 'MLP', \
     '' using (share('LayerNorm|residual')) linecolor rgb orange title 'norms, residuals', \
     '' using (share('^logits')) linecolor rgb green title 'logits', \
     '' using (share('^embedding')) linecolor rgb grey title 'embedding', \
     '' using 0:(105):(sprintf('%.3g ms', sum(strcol(1), '.'))) with labels textcolor rgb '#2b3340' notitle
