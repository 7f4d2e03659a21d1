// RUN: bb-opt %s -p "array-decompose,array-to-block,block-fuse" | filecheck %s

// LayerNorm with gain and offset, a linear layer and its bias: one pass over the row for the statistics and the products.

// As operators.
// CHECK-LABEL: func.func @composite(
//      CHECK: %Out = block.map @M (%X_m = %X) -> (stack)
// CHECK-NEXT:   %Out_m = block.map @K (%W_k = %W, %Bias_k = %Bias) -> (stack)
// CHECK-NEXT:     %sum, %sum_1, %0, %product, %1 = block.map @N (%X_mn = %X_m, %Gamma_n = %Gamma, %Beta_n = %Beta, %W_kn = %W_k) -> (sum, sum, sum, sum, sum)
// CHECK-NEXT:       %x_1 = block.load %X_mn
// CHECK-NEXT:       %sum_2 = block.row_sum %x_1
// CHECK-NEXT:       %2 = block.mul %x_1, %x_1
// CHECK-NEXT:       %sum_3 = block.row_sum %2
// CHECK-NEXT:       %gamma_1 = block.load %Gamma_n
// CHECK-NEXT:       %beta_1 = block.load %Beta_n
// CHECK-NEXT:       %w_1 = block.load %W_kn
// CHECK-NEXT:       %w_2 = block.col_scale %w_1, %gamma_1
// CHECK-NEXT:       %product_1 = block.dot %x_1, %w_2
// CHECK-NEXT:       %3 = block.row_sum %w_2
// CHECK-NEXT:       %4 = block.col_scale %w_1, %beta_1
// CHECK-NEXT:       %5 = block.row_sum %4
// CHECK-NEXT:       block.yield %sum_2, %sum_3, %5, %product_1, %3
// CHECK-NEXT:     }
// CHECK-NEXT:     %neg = block.linear -1/64 * %sum
// CHECK-NEXT:     %6 = block.monomial %sum ** 2
// CHECK-NEXT:     %var = block.linear 1/64 * %sum_1 + -1/4096 * %6
// CHECK-NEXT:     %add = block.elementwise (%var_1 = %var)
// CHECK-NEXT:       %7 = arith.constant {{.*}}1.000000e-05
// CHECK-NEXT:       %8 = arith.addf %var_1, %7
// CHECK-NEXT:       block.yield %8
// CHECK-NEXT:     }
// CHECK-NEXT:     %rstd = block.elementwise (%add_1 = %add)
// CHECK-NEXT:       %9 = math.rsqrt %add_1
// CHECK-NEXT:       block.yield %9
// CHECK-NEXT:     }
// CHECK-NEXT:     %10 = block.outer %neg, %1
// CHECK-NEXT:     %product_2 = block.add %product, %10
// CHECK-NEXT:     %product_3 = block.row_scale %product_2, %rstd
// CHECK-NEXT:     %product_4 = block.col_shift %product_3, %0
// CHECK-NEXT:     %bias_1 = block.load %Bias_k
// CHECK-NEXT:     %out = block.col_shift %product_4, %bias_1
// CHECK-NEXT:     %out_1 = block.store %out
// CHECK-NEXT:     block.yield %out_1
// CHECK-NEXT:   }
// CHECK-NEXT:   block.yield %Out_m
// CHECK-NEXT: }
// CHECK-NEXT: %out_2 = block.assemble %Out [M, K]
// CHECK-NEXT: func.return %out_2
// CHECK-NEXT: }
func.func @composite(
  %x: tensor<150x64xf32>,
  %gamma: tensor<64xf32>,
  %beta: tensor<64xf32>,
  %w: tensor<64x96xf32>,
  %bias: tensor<96xf32>
) -> tensor<150x96xf32> {
  %normed = array.layer_norm %x scale(%gamma : tensor<64xf32>) shift(%beta : tensor<64xf32>) eps 1.000000e-05
    : tensor<150x64xf32>
  %product = array.matmul %normed, %w : tensor<150x64xf32>, tensor<64x96xf32> -> tensor<150x96xf32>
  %out = array.elementwise (%p = %product, %b = %bias)
    : tensor<150x96xf32>, tensor<96xf32> -> tensor<150x96xf32> {
    %sum = arith.addf %p, %b : f32
    array.yield %sum : f32
  }
  func.return %out : tensor<150x96xf32>
}

// In core operators: the same program.
// CHECK-LABEL: func.func @decomposed(
//      CHECK: %Out = block.map @M (%X_m = %X) -> (stack)
// CHECK-NEXT:   %Out_m = block.map @K (%W_k = %W, %Bias_k = %Bias) -> (stack)
// CHECK-NEXT:     %total, %squares, %0, %projected, %1 = block.map @N (%X_mn = %X_m, %Gamma_n = %Gamma, %Beta_n = %Beta, %W_kn = %W_k) -> (sum, sum, sum, sum, sum)
// CHECK-NEXT:       %x_1 = block.load %X_mn
// CHECK-NEXT:       %total_1 = block.row_sum %x_1
// CHECK-NEXT:       %2 = block.mul %x_1, %x_1
// CHECK-NEXT:       %squares_1 = block.row_sum %2
// CHECK-NEXT:       %gamma_1 = block.load %Gamma_n
// CHECK-NEXT:       %beta_1 = block.load %Beta_n
// CHECK-NEXT:       %w_1 = block.load %W_kn
// CHECK-NEXT:       %w_2 = block.col_scale %w_1, %gamma_1
// CHECK-NEXT:       %projected_1 = block.dot %x_1, %w_2
// CHECK-NEXT:       %3 = block.row_sum %w_2
// CHECK-NEXT:       %4 = block.col_scale %w_1, %beta_1
// CHECK-NEXT:       %5 = block.row_sum %4
// CHECK-NEXT:       block.yield %total_1, %squares_1, %5, %projected_1, %3
// CHECK-NEXT:     }
// CHECK-NEXT:     %neg = block.linear -1/64 * %total
// CHECK-NEXT:     %6 = block.monomial %total ** 2
// CHECK-NEXT:     %var = block.linear 1/64 * %squares + -1/4096 * %6
// CHECK-NEXT:     %padded = block.elementwise (%var_1 = %var)
// CHECK-NEXT:       %7 = arith.constant 1.000000e-05
// CHECK-NEXT:       %8 = arith.addf %var_1, %7
// CHECK-NEXT:       block.yield %8
// CHECK-NEXT:     }
// CHECK-NEXT:     %rstd = block.elementwise (%padded_1 = %padded)
// CHECK-NEXT:       %9 = math.rsqrt %padded_1
// CHECK-NEXT:       block.yield %9
// CHECK-NEXT:     }
// CHECK-NEXT:     %10 = block.outer %neg, %1
// CHECK-NEXT:     %projected_2 = block.add %projected, %10
// CHECK-NEXT:     %projected_3 = block.row_scale %projected_2, %rstd
// CHECK-NEXT:     %projected_4 = block.col_shift %projected_3, %0
// CHECK-NEXT:     %bias_1 = block.load %Bias_k
// CHECK-NEXT:     %out = block.col_shift %projected_4, %bias_1
// CHECK-NEXT:     %out_1 = block.store %out
// CHECK-NEXT:     block.yield %out_1
// CHECK-NEXT:   }
// CHECK-NEXT:   block.yield %Out_m
// CHECK-NEXT: }
// CHECK-NEXT: %out_2 = block.assemble %Out [M, K]
// CHECK-NEXT: func.return %out_2
// CHECK-NEXT: }
func.func @decomposed(
  %x: tensor<150x64xf32>,
  %gamma: tensor<64xf32>,
  %beta: tensor<64xf32>,
  %w: tensor<64x96xf32>,
  %bias: tensor<96xf32>
) -> tensor<150x96xf32> {
  %per_feature = array.constant dense<1.562500e-02> : tensor<f32>
  %eps = array.constant dense<1.000000e-05> : tensor<f32>

  %total = array.reduce sum %x axes [1] keepdims : tensor<150x64xf32> -> tensor<150x1xf32>
  %mean = array.elementwise (%a = %total, %b = %per_feature)
    : tensor<150x1xf32>, tensor<f32> -> tensor<150x1xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %centred = array.elementwise (%a = %x, %b = %mean)
    : tensor<150x64xf32>, tensor<150x1xf32> -> tensor<150x64xf32> {
    %difference = arith.subf %a, %b : f32
    array.yield %difference : f32
  }
  %squared = array.elementwise (%a = %centred) : tensor<150x64xf32> -> tensor<150x64xf32> {
    %square = arith.mulf %a, %a : f32
    array.yield %square : f32
  }
  %squares = array.reduce sum %squared axes [1] keepdims : tensor<150x64xf32> -> tensor<150x1xf32>
  %var = array.elementwise (%a = %squares, %b = %per_feature)
    : tensor<150x1xf32>, tensor<f32> -> tensor<150x1xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %padded = array.elementwise (%a = %var, %b = %eps) : tensor<150x1xf32>, tensor<f32> -> tensor<150x1xf32> {
    %sum = arith.addf %a, %b : f32
    array.yield %sum : f32
  }
  %rstd = array.elementwise (%a = %padded) : tensor<150x1xf32> -> tensor<150x1xf32> {
    %root = math.rsqrt %a : f32
    array.yield %root : f32
  }

  %normed = array.elementwise (%a = %centred, %b = %rstd)
    : tensor<150x64xf32>, tensor<150x1xf32> -> tensor<150x64xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %scaled = array.elementwise (%a = %normed, %b = %gamma)
    : tensor<150x64xf32>, tensor<64xf32> -> tensor<150x64xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %shifted = array.elementwise (%a = %scaled, %b = %beta)
    : tensor<150x64xf32>, tensor<64xf32> -> tensor<150x64xf32> {
    %sum = arith.addf %a, %b : f32
    array.yield %sum : f32
  }

  %projected = array.matmul %shifted, %w : tensor<150x64xf32>, tensor<64x96xf32> -> tensor<150x96xf32>
  %out = array.elementwise (%a = %projected, %b = %bias)
    : tensor<150x96xf32>, tensor<96xf32> -> tensor<150x96xf32> {
    %sum = arith.addf %a, %b : f32
    array.yield %sum : f32
  }
  func.return %out : tensor<150x96xf32>
}
