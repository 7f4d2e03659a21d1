// RUN: bb-opt %s -p "array-decompose,array-to-block,block-fuse" | filecheck %s

// RMSNorm and a SwiGLU layer of three products in one nest.

// As operators.
// CHECK-LABEL: func.func @composite(
//      CHECK: %Out = block.map @M (%X_m = %X) -> (stack)
// CHECK-NEXT:   %Out_m = block.map @L (%W_down_l = %W_down) -> (stack)
// CHECK-NEXT:     %out = block.map @K (%W_up_k = %W_up, %W_gate_k = %W_gate, %W_down_lk = %W_down_l) -> (sum)
// CHECK-NEXT:       %sum, %up, %gate = block.map @N (%X_mn = %X_m, %Gamma_n = %Gamma, %W_up_kn = %W_up_k, %W_gate_kn = %W_gate_k) -> (sum, sum, sum)
// CHECK-NEXT:         %x_1 = block.load %X_mn
// CHECK-NEXT:         %square = block.mul %x_1, %x_1
// CHECK-NEXT:         %sum_1 = block.row_sum %square
// CHECK-NEXT:         %gamma_1 = block.load %Gamma_n
// CHECK-NEXT:         %0 = block.col_scale %x_1, %gamma_1
// CHECK-NEXT:         %w_up_1 = block.load %W_up_kn
// CHECK-NEXT:         %up_1 = block.dot %0, %w_up_1
// CHECK-NEXT:         %w_gate_1 = block.load %W_gate_kn
// CHECK-NEXT:         %gate_1 = block.dot %0, %w_gate_1
// CHECK-NEXT:         block.yield %sum_1, %up_1, %gate_1
// CHECK-NEXT:       }
// CHECK-NEXT:       %mean_square = block.linear 1/64 * %sum
// CHECK-NEXT:       %add = block.elementwise (%mean_square_1 = %mean_square)
// CHECK-NEXT:         %1 = arith.constant {{.*}}1.000000e-06
// CHECK-NEXT:         %2 = arith.addf %mean_square_1, %1
// CHECK-NEXT:         block.yield %2
// CHECK-NEXT:       }
// CHECK-NEXT:       %rstd = block.elementwise (%add_1 = %add)
// CHECK-NEXT:         %3 = math.rsqrt %add_1
// CHECK-NEXT:         block.yield %3
// CHECK-NEXT:       }
// CHECK-NEXT:       %gate_2 = block.row_scale %gate, %rstd
// CHECK-NEXT:       %4 = block.linear -1 * %gate
// CHECK-NEXT:       %neg = block.row_scale %4, %rstd
// CHECK-NEXT:       %exp = block.elementwise (%neg_1 = %neg)
// CHECK-NEXT:         %5 = math.exp %neg_1
// CHECK-NEXT:         block.yield %5
// CHECK-NEXT:       }
// CHECK-NEXT:       %add_2 = block.elementwise (%exp_1 = %exp)
// CHECK-NEXT:         %6 = arith.constant 1.000000e+00
// CHECK-NEXT:         %7 = arith.addf %6, %exp_1
// CHECK-NEXT:         block.yield %7
// CHECK-NEXT:       }
// CHECK-NEXT:       %div = block.monomial %add_2 ** -1
// CHECK-NEXT:       %opened = block.mul %gate_2, %div
// CHECK-NEXT:       %up_2 = block.row_scale %up, %rstd
// CHECK-NEXT:       %hidden = block.mul %opened, %up_2
// CHECK-NEXT:       %w_down_1 = block.load %W_down_lk
// CHECK-NEXT:       %out_1 = block.dot %hidden, %w_down_1
// CHECK-NEXT:       block.yield %out_1
// CHECK-NEXT:     }
// CHECK-NEXT:     %out_2 = block.store %out
// CHECK-NEXT:     block.yield %out_2
// CHECK-NEXT:   }
// CHECK-NEXT:   block.yield %Out_m
// CHECK-NEXT: }
// CHECK-NEXT: %out_3 = block.assemble %Out [M, L]
// CHECK-NEXT: func.return %out_3
// CHECK-NEXT: }
func.func @composite(
  %x: tensor<130x64xf32>,
  %gamma: tensor<64xf32>,
  %w_gate: tensor<64x96xf32>,
  %w_up: tensor<64x96xf32>,
  %w_down: tensor<96x64xf32>
) -> tensor<130x64xf32> {
  %y = array.rms_norm %x scale(%gamma : tensor<64xf32>) eps 1.000000e-06 : tensor<130x64xf32>
  %gate = array.matmul %y, %w_gate : tensor<130x64xf32>, tensor<64x96xf32> -> tensor<130x96xf32>
  %up = array.matmul %y, %w_up : tensor<130x64xf32>, tensor<64x96xf32> -> tensor<130x96xf32>
  %opened = array.silu %gate : tensor<130x96xf32>
  %hidden = array.elementwise (%g = %opened, %u = %up)
    : tensor<130x96xf32>, tensor<130x96xf32> -> tensor<130x96xf32> {
    %product = arith.mulf %g, %u : f32
    array.yield %product : f32
  }
  %out = array.matmul %hidden, %w_down : tensor<130x96xf32>, tensor<96x64xf32> -> tensor<130x64xf32>
  func.return %out : tensor<130x64xf32>
}

// In core operators: the same program.
// CHECK-LABEL: func.func @decomposed(
//      CHECK: %Out = block.map @M (%X_m = %X) -> (stack)
// CHECK-NEXT:   %Out_m = block.map @L (%W_down_l = %W_down) -> (stack)
// CHECK-NEXT:     %out = block.map @K (%W_up_k = %W_up, %W_gate_k = %W_gate, %W_down_lk = %W_down_l) -> (sum)
// CHECK-NEXT:       %squares, %up, %gate = block.map @N (%X_mn = %X_m, %Gamma_n = %Gamma, %W_up_kn = %W_up_k, %W_gate_kn = %W_gate_k) -> (sum, sum, sum)
// CHECK-NEXT:         %x_1 = block.load %X_mn
// CHECK-NEXT:         %squared = block.mul %x_1, %x_1
// CHECK-NEXT:         %squares_1 = block.row_sum %squared
// CHECK-NEXT:         %gamma_1 = block.load %Gamma_n
// CHECK-NEXT:         %0 = block.col_scale %x_1, %gamma_1
// CHECK-NEXT:         %w_up_1 = block.load %W_up_kn
// CHECK-NEXT:         %up_1 = block.dot %0, %w_up_1
// CHECK-NEXT:         %w_gate_1 = block.load %W_gate_kn
// CHECK-NEXT:         %gate_1 = block.dot %0, %w_gate_1
// CHECK-NEXT:         block.yield %squares_1, %up_1, %gate_1
// CHECK-NEXT:       }
// CHECK-NEXT:       %mean_square = block.linear 1/64 * %squares
// CHECK-NEXT:       %padded = block.elementwise (%mean_square_1 = %mean_square)
// CHECK-NEXT:         %1 = arith.constant 1.000000e-06
// CHECK-NEXT:         %2 = arith.addf %mean_square_1, %1
// CHECK-NEXT:         block.yield %2
// CHECK-NEXT:       }
// CHECK-NEXT:       %rrms = block.elementwise (%padded_1 = %padded)
// CHECK-NEXT:         %3 = math.rsqrt %padded_1
// CHECK-NEXT:         block.yield %3
// CHECK-NEXT:       }
// CHECK-NEXT:       %4 = block.linear -1 * %gate
// CHECK-NEXT:       %negated = block.row_scale %4, %rrms
// CHECK-NEXT:       %exp = block.elementwise (%negated_1 = %negated)
// CHECK-NEXT:         %5 = math.exp %negated_1
// CHECK-NEXT:         block.yield %5
// CHECK-NEXT:       }
// CHECK-NEXT:       %denominator = block.elementwise (%exp_1 = %exp)
// CHECK-NEXT:         %6 = arith.constant 1.000000e+00
// CHECK-NEXT:         %7 = arith.addf %6, %exp_1
// CHECK-NEXT:         block.yield %7
// CHECK-NEXT:       }
// CHECK-NEXT:       %logistic = block.monomial %denominator ** -1
// CHECK-NEXT:       %gate_2 = block.row_scale %gate, %rrms
// CHECK-NEXT:       %opened = block.mul %gate_2, %logistic
// CHECK-NEXT:       %up_2 = block.row_scale %up, %rrms
// CHECK-NEXT:       %hidden = block.mul %opened, %up_2
// CHECK-NEXT:       %w_down_1 = block.load %W_down_lk
// CHECK-NEXT:       %out_1 = block.dot %hidden, %w_down_1
// CHECK-NEXT:       block.yield %out_1
// CHECK-NEXT:     }
// CHECK-NEXT:     %out_2 = block.store %out
// CHECK-NEXT:     block.yield %out_2
// CHECK-NEXT:   }
// CHECK-NEXT:   block.yield %Out_m
// CHECK-NEXT: }
// CHECK-NEXT: %out_3 = block.assemble %Out [M, L]
// CHECK-NEXT: func.return %out_3
// CHECK-NEXT: }
func.func @decomposed(
  %x: tensor<130x64xf32>,
  %gamma: tensor<64xf32>,
  %w_gate: tensor<64x96xf32>,
  %w_up: tensor<64x96xf32>,
  %w_down: tensor<96x64xf32>
) -> tensor<130x64xf32> {
  %per_feature = array.constant dense<1.562500e-02> : tensor<f32>
  %eps = array.constant dense<1.000000e-06> : tensor<f32>

  %squared = array.elementwise (%a = %x) : tensor<130x64xf32> -> tensor<130x64xf32> {
    %square = arith.mulf %a, %a : f32
    array.yield %square : f32
  }
  %squares = array.reduce sum %squared axes [1] : tensor<130x64xf32> -> tensor<130xf32>
  %squares_column = array.reshape %squares : tensor<130xf32> -> tensor<130x1xf32>
  %mean_square = array.elementwise (%a = %squares_column, %b = %per_feature)
    : tensor<130x1xf32>, tensor<f32> -> tensor<130x1xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %padded = array.elementwise (%a = %mean_square, %b = %eps)
    : tensor<130x1xf32>, tensor<f32> -> tensor<130x1xf32> {
    %sum = arith.addf %a, %b : f32
    array.yield %sum : f32
  }
  %rrms = array.elementwise (%a = %padded) : tensor<130x1xf32> -> tensor<130x1xf32> {
    %root = math.rsqrt %a : f32
    array.yield %root : f32
  }
  %normed = array.elementwise (%a = %x, %b = %rrms)
    : tensor<130x64xf32>, tensor<130x1xf32> -> tensor<130x64xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %y = array.elementwise (%a = %normed, %b = %gamma)
    : tensor<130x64xf32>, tensor<64xf32> -> tensor<130x64xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }

  %gate = array.matmul %y, %w_gate : tensor<130x64xf32>, tensor<64x96xf32> -> tensor<130x96xf32>
  %logistic = array.elementwise (%a = %gate) : tensor<130x96xf32> -> tensor<130x96xf32> {
    %one = arith.constant 1.000000e+00 : f32
    %negated = arith.negf %a : f32
    %exp = math.exp %negated : f32
    %denominator = arith.addf %one, %exp : f32
    %quotient = arith.divf %one, %denominator : f32
    array.yield %quotient : f32
  }
  %opened = array.elementwise (%a = %gate, %b = %logistic)
    : tensor<130x96xf32>, tensor<130x96xf32> -> tensor<130x96xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %up = array.matmul %y, %w_up : tensor<130x64xf32>, tensor<64x96xf32> -> tensor<130x96xf32>
  %hidden = array.elementwise (%a = %opened, %b = %up)
    : tensor<130x96xf32>, tensor<130x96xf32> -> tensor<130x96xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %out = array.matmul %hidden, %w_down : tensor<130x96xf32>, tensor<96x64xf32> -> tensor<130x64xf32>
  func.return %out : tensor<130x64xf32>
}
