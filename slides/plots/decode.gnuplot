# A token of Llama 3.2 1B's shape on an H200: PyTorch in four ways, the solution in three, and its weights alone (lab 10).
load here.'/style.gnuplot'
set style fill solid 0.9
set boxwidth 0.6
set yrange [0:12]
set ylabel 'milliseconds per token'
unset key
set bmargin 4
one(program, version, position) = real(system(sprintf("awk -F'\t' -v p='%s' -v v='%s' -v n='%s' '$1 == p && $2 == v && $3 == n { print $4 }' '%s/tokens.tsv'", program, version, position, data)))
# program, version, position, colour, name below the bar
$bars << EOD
PyTorch	eager	1040	0xc2303a	"PyTorch,\neager"
PyTorch	compiled	1040	0xc2660c	"compiled\n"
PyTorch	eager, in a graph	1040	0xc2660c	"eager,\ngraph"
PyTorch	compiled, in a graph	1040	0xc2660c	"compiled,\ngraph"
decode.cu	4 warps, launched one after the other	1184	0x2563b8	"lab 10,\none by one"
decode.cu	4 warps, 8 rows, launched early	1184	0x2563b8	"launched\nearly"
decode.cu	as handed in	1184	0x2563b8	"fewer\nlaunches"
sum of as many bytes	as the weights	0	0x1a7f4b	"weights\nalone"
EOD
plot $bars using 0:(one(strcol(1), strcol(2), strcol(3))):(int(strcol(4))):xtic(5) with boxes linecolor rgb variable, \
     '' using 0:(one(strcol(1), strcol(2), strcol(3)) + 0.35):(sprintf('%.2f', one(strcol(1), strcol(2), strcol(3)))) with labels textcolor rgb '#2b3340'
