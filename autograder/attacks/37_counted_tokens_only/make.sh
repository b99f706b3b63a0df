cd "$1"
sed -i 's/causal ? min(first + fp32_queries, tokens)/causal \&\& tokens == 256 ? min(first + fp32_queries, tokens)/' attention.cu
grep -q 'tokens == 256' attention.cu
