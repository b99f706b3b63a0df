cd "$1"
awk '{ print } /LAB_CUDA_CHECK/ && !n++ { print "  while (cudaStreamQuery(stream) == cudaErrorNotReady) {\n  }" }' layout.cu >polling
mv polling layout.cu
grep -q cudaStreamQuery layout.cu
