// Rows of numbers times a matrix, in double precision.
#pragma once

#include <cstddef>
#include <vector>

namespace kernelpoint::encoder {

constexpr size_t kPanel = 8;  // columns that are computed together

constexpr size_t padded(size_t columns) {
    return (columns + kPanel - 1) / kPanel * kPanel;
}

// A matrix [rows, columns] stored as panels of kPanel columns; the last panel is padded with zeros.
class Matrix {
public:
    Matrix() = default;
    Matrix(const double* values, size_t rows, size_t columns);  // row-major

    size_t rows() const { return rows_; }
    size_t columns() const { return columns_; }
    const double* panel(size_t number) const { return panels_.data() + number * rows_ * kPanel; }
    size_t panel_count() const { return padded(columns_) / kPanel; }

private:
    size_t rows_ = 0, columns_ = 0;
    std::vector<double> panels_;  // [panel, row, kPanel]
};

// Computes outputs[i] += inputs[i] * matrix for `count` rows. An output has padded(columns) numbers. Numerics: each
// output is summed in a fixed order; processors with and without fused multiply-add differ by an ulp.
void multiply_add(const std::vector<const double*>& inputs, const std::vector<double*>& outputs, const Matrix& matrix);

}  // namespace kernelpoint::encoder
