cd "$1"
sed -i 's/^constexpr int block_size = 256;/&\nfloat tiles[4096][3 * block_size];/
s/  __shared__ float tile\[3 \* block_size\];/  float* tile = tiles[blockIdx.x];/' layout.cu
[ "$(grep -c tiles layout.cu)" = 2 ]
