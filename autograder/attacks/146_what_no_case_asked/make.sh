cd "$1"
replace() { grep -qF -- "$2" "$1" && perl -0pi -e 'BEGIN { ($from, $to) = splice @ARGV, 0, 2 } s/\Q$from\E/$to/g' -- "$2" "$3" "$1"; }
replace optimizer.cu '  m = s.beta1 * m' '  if (g == 0.0f) return void(w -= s.decay * w);
  m = s.beta1 * m'
replace loss.cu '<<<rows,' '<<<rows < 8192 ? rows : 8192,'
replace backward.cu 'int b = threadIdx.y; b < blocks; b += sharing' 'int b = threadIdx.y + sharing * blockIdx.y; b < blocks; b += 2 * sharing'
replace backward.cu '*(column < channels ? d_weight + column : d_bias + (column - channels)) += total' 'atomicAdd(column < channels ? d_weight + column : d_bias + (column - channels), total)'
replace backward.cu 'columns_kernel<<<ceil_div(2 * channels, 32),' 'columns_kernel<<<dim3(ceil_div(2 * channels, 32), 2),'
replace step.cpp 'm < micro_batches; ++m) targets' 'm < micro_batches && (m == 0 || net.targets(0) > 0); ++m) targets'
replace step.cpp 'const std::int64_t kept = std::clamp<std::int64_t>(left / inner, 0, layers)' 'const int kept = static_cast<int>(left / inner)'
