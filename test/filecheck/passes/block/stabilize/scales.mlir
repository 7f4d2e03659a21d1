// RUN: bb-opt %s -p "array-decompose,array-to-block,block-fuse{extend=false},block-stabilize" --pseudo-code --split-input-file | filecheck %s
// RUN: bb-opt %s -p "array-decompose,array-to-block,block-shapes,block-fuse{extend=false},block-stabilize" --pseudo-code --split-input-file | filecheck %s --check-prefix=WHOLE
// RUN: bb-opt %s -p "array-decompose,array-to-block,block-fuse,block-stabilize" --verify-each --split-input-file -o /dev/null

// Σx² overflows in f32 from 1.8e19 on, so the same loop also sums the squares of x times 2^-80. The epsilon gets the
// square of the scale (never 0), and the scales of x and of its reciprocal root cancel.
// CHECK-LABEL: rms_norm(
// CHECK:               squares  += row_sum(x²)
// CHECK-NEXT:          scaled    = 8.271806e-25 * where(abs(x) > 262144, x, 0)
// CHECK-NEXT:          squares2 += row_sum(scaled²)
// CHECK-NEXT:      scale{{ +}}= where(268435456 * squares < inf, 1, 8.271806e-25)
// CHECK:           = where(268435456 * squares < inf, squares, squares2) / 40
// CHECK-NEXT:      add         = mean_square + where(1e-5 * scale² == 0, 1.1754944e-38, 1e-5 * scale²)
// CHECK-NEXT:      rstd        = rsqrt(add)
// CHECK:               store n[m, nn] = row_scale(row_scale(load x[m, nn], scale), rstd)
func.func @rms_norm(%x: tensor<24x40xf32>) -> tensor<24x40xf32> {
  %n = array.rms_norm %x eps 1.0e-5 : tensor<24x40xf32>
  func.return %n : tensor<24x40xf32>
}

// -----

// With a small epsilon, the squares of small numbers must not vanish either.
// CHECK-LABEL: no_epsilon(
// CHECK:           squares3 += row_sum(scaled2²)
// CHECK:           scale{{ +}}= where(squares >= 7.888609e-31, {{.*}}, 1.20892582e24)
func.func @no_epsilon(%x: tensor<24x40xf32>) -> tensor<24x40xf32> {
  %n = array.rms_norm %x eps 0.0 : tensor<24x40xf32>
  func.return %n : tensor<24x40xf32>
}

// -----

// Squares of widened f16 numbers neither overflow nor vanish in f32.
// CHECK-LABEL: narrow(
// CHECK-NOT:   scaled
func.func @narrow(%x: tensor<24x40xf16>) -> tensor<24x40xf16> {
  %n = array.rms_norm %x eps 1.0e-5 : tensor<24x40xf16>
  func.return %n : tensor<24x40xf16>
}

// -----

// No root is taken: a scale could not cancel.
// CHECK-LABEL: sum_of_squares(
// CHECK-NOT:   scaled
func.func @sum_of_squares(%x: tensor<24x40xf32>) -> tensor<24xf32> {
  %square = array.elementwise (%a = %x) : tensor<24x40xf32> -> tensor<24x40xf32> {
    %b = arith.mulf %a, %a : f32
    array.yield %b : f32
  }
  %sum = array.reduce sum %square axes [1] : tensor<24x40xf32> -> tensor<24xf32>
  func.return %sum : tensor<24xf32>
}

// -----

// A whole row is shifted by its own mean, which lies between its elements; the mean of what is left is subtracted, too.
// CHECK-LABEL: layer_norm(
// WHOLE-LABEL: layer_norm(
// WHOLE:           largest  = row_max(x)
// WHOLE-NEXT:      smallest = row_min(x)
// WHOLE:           minus_mean{{ +}}= -min(max(row_sum(x) / 40, smallest), largest)
// WHOLE:           left{{ +}}= row_shift(x, minus_mean)
// WHOLE:           store n[m, N] =
func.func @layer_norm(%x: tensor<24x40xf32>) -> tensor<24x40xf32> {
  %n = array.layer_norm %x eps 1.0e-5 : tensor<24x40xf32>
  func.return %n : tensor<24x40xf32>
}
