cat >> "$1/transpose.cu" <<'END'

#include <cublas_v2.h>

cublasStatus_t unused = cublasSetStream(nullptr, nullptr);
END
