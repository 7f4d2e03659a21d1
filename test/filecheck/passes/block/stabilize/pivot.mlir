// RUN: bb-opt %s -p array-decompose,array-to-block,block-fuse,block-stabilize --pseudo-code | filecheck %s
// RUN: bb-opt %s -p "array-decompose,array-to-block,block-fuse,block-stabilize{pivot=false}" --pseudo-code | filecheck %s --check-prefix=WITHOUT
// RUN: bb-opt %s -p array-decompose,array-to-block,block-fuse,block-stabilize | filecheck %s --check-prefix=IR
// RUN: bb-opt %s -p array-decompose,array-to-block,block-fuse,block-stabilize --verify-each -o /dev/null

// WITHOUT-NOT: first
// WITHOUT-NOT: pivot

// The statistics are those of numbers near the mean of the row's first block, where the mean is large.
// IR-LABEL:   func.func @layer_norm
// IR-SAME:    bb.stabilized
// IR:           %first = block.first %X_m : !block.list<N, block<M x N x f32>>
// IR-NEXT:      %first_1 = block.load %first : !block.block<M x N x f32, global>
// Beside them are the statistics of the numbers times 2^-80, for rows whose squares overflow.
// CHECK-LABEL: layer_norm(
// CHECK:       forall m in M:
// CHECK-NEXT:      x           = load x[m, first N]
// CHECK-NEXT:      width       = row_sum(full_like(x, 1))
// CHECK-NEXT:      shift       = -row_sum(x) / width
// CHECK-NEXT:      centred     = row_shift(x, shift)
// CHECK-NEXT:      spread      = row_sum(abs(centred))
// CHECK-NEXT:      left        = row_sum(centred)
// CHECK-NEXT:      minus_mean  = where(abs(shift) > min(4 * spread / width, 1e16), shift - left / width, 0)
// CHECK-NEXT:      scaled      = 8.271806e-25 * where(abs(x) > 262144, x, 0)
// CHECK:           minus_mean2 =
// CHECK-NEXT:      total = squares = total2 = squares2 = 0
// CHECK-NEXT:      for nn in N:
// CHECK-NEXT:          x2        = load x[m, nn]
// CHECK-NEXT:          shifted   = row_shift(x2, minus_mean)
// CHECK-NEXT:          total    += row_sum(shifted)
// CHECK-NEXT:          squares  += row_sum(shifted²)
// CHECK-NEXT:          shifted2  = row_shift(8.271806e-25 * where(abs(x2) > 262144, x2, 0), minus_mean2)
// CHECK-NEXT:          total2   += row_sum(shifted2)
// CHECK-NEXT:          squares2 += row_sum(shifted2²)
// CHECK-NEXT:      scale       = where(268435456 * squares < inf, 1, 8.271806e-25)
// CHECK-NEXT:      pivot       = where(268435456 * squares < inf, minus_mean, minus_mean2)
// CHECK-NEXT:      neg         = -where(268435456 * squares < inf, total, total2) / 40
// CHECK-NEXT:      mean_square = where(268435456 * squares < inf, squares, squares2) / 40
// CHECK-NEXT:      neg2        = neg²
// CHECK-NEXT:      t           = mean_square - neg2
// CHECK-NEXT:      var         = where(isnan(sqrt(t)), where(neg2 < inf, 0, mean_square), t)
// CHECK-NEXT:      add         = var + where(1e-5 * scale² == 0, 1.1754944e-38, 1e-5 * scale²)
// CHECK-NEXT:      rstd        = rsqrt(add)
// CHECK-NEXT:      forall nn in N:
// CHECK-NEXT:          centred3 = row_shift(row_shift(row_scale(load x[m, nn], scale), pivot), neg)
// CHECK-NEXT:          store n[m, nn] = row_scale(centred3, rstd)
func.func @layer_norm(%x: tensor<24x40xf32>) -> tensor<24x40xf32> {
  %n = array.layer_norm %x eps 1.0e-5 : tensor<24x40xf32>
  func.return %n : tensor<24x40xf32>
}

// The contraction reads shifted blocks, too.
// CHECK-LABEL: layer_norm_matmul(
// CHECK:           pivot = where(
// CHECK:               x2{{ +}}= row_shift(row_scale(load x[m, {{[a-z]+}}], scale), pivot)
// CHECK:               {{.*}} += dot(x2, {{.*}})
func.func @layer_norm_matmul(%x: tensor<24x40xf32>, %w: tensor<40x12xf32>) -> tensor<24x12xf32> {
  %n = array.layer_norm %x eps 1.0e-5 : tensor<24x40xf32>
  %y = array.matmul %n, %w : tensor<24x40xf32>, tensor<40x12xf32> -> tensor<24x12xf32>
  func.return %y : tensor<24x12xf32>
}

// An RMSNorm changes with a shift, and so does a sum with the input itself.
// CHECK-LABEL: rms_norm(
// CHECK-NOT:   pivot
func.func @rms_norm(%x: tensor<24x40xf32>) -> tensor<24x40xf32> {
  %n = array.rms_norm %x eps 1.0e-5 : tensor<24x40xf32>
  func.return %n : tensor<24x40xf32>
}

// CHECK-LABEL: residual(
// CHECK-NOT:   pivot
func.func @residual(%x: tensor<24x40xf32>) -> tensor<24x40xf32> {
  %n = array.layer_norm %x eps 1.0e-5 : tensor<24x40xf32>
  %y = array.elementwise (%a = %n, %b = %x) : tensor<24x40xf32>, tensor<24x40xf32> -> tensor<24x40xf32> {
    %c = arith.addf %a, %b : f32
    array.yield %c : f32
  }
  func.return %y : tensor<24x40xf32>
}
