#include "native/encoder/dense.h"

#include <algorithm>

namespace kernelpoint::encoder {

namespace {

constexpr size_t kTile = 6;  // rows whose sums stay in registers

// Sums of kTile rows over one panel, in vectors of `bytes`. A macro, because the compiler lowers vectors before it
// inlines: a function for one processor has to spell them out itself.
#define KP_TILE(name, bytes, processor)                                                                     \
    processor void name(const double* const* inputs, const double* panel, size_t depth, double* sums) {     \
        typedef double Vector __attribute__((vector_size(bytes), aligned(sizeof(double)), may_alias));      \
        constexpr size_t parts = kPanel * sizeof(double) / bytes;                                           \
        Vector sum[kTile][parts] = {};                                                                      \
        for (size_t k = 0; k < depth; k++)                                                                  \
            for (size_t j = 0; j < parts; j++) {                                                            \
                const Vector weights = reinterpret_cast<const Vector*>(panel + k * kPanel)[j];              \
                for (size_t i = 0; i < kTile; i++) sum[i][j] += inputs[i][k] * weights;                     \
            }                                                                                               \
        for (size_t i = 0; i < kTile; i++)                                                                  \
            for (size_t j = 0; j < parts; j++) reinterpret_cast<Vector*>(sums + i * kPanel)[j] = sum[i][j]; \
    }

KP_TILE(plain_tile, 16, )

#if defined(__x86_64__)
KP_TILE(avx2_tile, 32, __attribute__((target("avx2,fma"))))
KP_TILE(avx512_tile, 64, __attribute__((target("avx512f"))))

auto* fastest_tile() {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return avx512_tile;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? avx2_tile : plain_tile;
}
#else
auto* fastest_tile() {
    return plain_tile;
}
#endif

}  // namespace

Matrix::Matrix(const double* values, size_t rows, size_t columns)
    : rows_(rows), columns_(columns), panels_(rows * padded(columns)) {
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++)
            panels_[(column / kPanel * rows + row) * kPanel + column % kPanel] = values[row * columns + column];
}

void multiply_add(const std::vector<const double*>& inputs, const std::vector<double*>& outputs, const Matrix& matrix) {
    static auto* const tile = fastest_tile();
    double sums[kTile * kPanel];
    const double* rows[kTile];
    for (size_t panel = 0; panel < matrix.panel_count(); panel++) {
        for (size_t first = 0; first < inputs.size(); first += kTile) {
            const size_t count = std::min(kTile, inputs.size() - first);
            for (size_t i = 0; i < kTile; i++) rows[i] = inputs[first + std::min(i, count - 1)];
            tile(rows, matrix.panel(panel), matrix.rows(), sums);
            for (size_t i = 0; i < count; i++) {
                double* output = outputs[first + i] + panel * kPanel;
                for (size_t j = 0; j < kPanel; j++) output[j] += sums[i * kPanel + j];
            }
        }
    }
}

}  // namespace kernelpoint::encoder
