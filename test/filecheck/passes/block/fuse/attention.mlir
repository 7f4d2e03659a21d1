// RUN: bb-opt %s -p "array-decompose,array-to-block,block-fuse" | filecheck %s

// Flash attention comes out of the laws: one nest, no list, no maximum (`block-stabilize` brings one back as a pivot).

// As one operator.
// CHECK-LABEL: func.func @composite(
//      CHECK: %Out = block.map @M (%Q_m = %Q) -> (stack)
// CHECK-NEXT:   %Out_m = block.map @L (%V_l = %V) -> (stack)
// CHECK-NEXT:     %sum, %out = block.map @N (%K_n = %K, %V_ln = %V_l) -> (sum, sum)
// CHECK-NEXT:       %scores = block.map @K (%Q_mk = %Q_m, %K_nk = %K_n) -> (sum)
// CHECK-NEXT:         %q_1 = block.load %Q_mk
// CHECK-NEXT:         %k_1 = block.load %K_nk
// CHECK-NEXT:         %scores_1 = block.dot %q_1, %k_1
// CHECK-NEXT:         block.yield %scores_1
// CHECK-NEXT:       }
// CHECK-NEXT:       %scaled = block.linear 1/8 * %scores
// CHECK-NEXT:       %exp = block.elementwise (%shifted = %scaled)
// CHECK-NEXT:         %0 = math.exp %shifted
// CHECK-NEXT:         block.yield %0
// CHECK-NEXT:       }
// CHECK-NEXT:       %sum_1 = block.row_sum %exp
// CHECK-NEXT:       %v_1 = block.load %V_ln
// CHECK-NEXT:       %out_1 = block.dot %exp, %v_1
// CHECK-NEXT:       block.yield %sum_1, %out_1
// CHECK-NEXT:     }
// CHECK-NEXT:     %1 = block.monomial %sum ** -1
// CHECK-NEXT:     %out_2 = block.row_scale %out, %1
// CHECK-NEXT:     %out_3 = block.store %out_2
// CHECK-NEXT:     block.yield %out_3
// CHECK-NEXT:   }
// CHECK-NEXT:   block.yield %Out_m
// CHECK-NEXT: }
// CHECK-NEXT: %out_4 = block.assemble %Out [M, L]
// CHECK-NEXT: func.return %out_4
// CHECK-NEXT: }
func.func @composite(
  %q: tensor<160x64xf32>,
  %k: tensor<192x64xf32>,
  %v: tensor<192x96xf32>
) -> tensor<160x96xf32> {
  %out = array.attention %q, %k, %v
    : tensor<160x64xf32>, tensor<192x64xf32>, tensor<192x96xf32> -> tensor<160x96xf32>
  func.return %out : tensor<160x96xf32>
}

// In core operators, with the maximum that makes it numerically safe: the same program.
// CHECK-LABEL: func.func @decomposed(
//      CHECK: %Out = block.map @M (%Q_m = %Q) -> (stack)
// CHECK-NEXT:   %Out_m = block.map @L (%V_l = %V) -> (stack)
// CHECK-NEXT:     %sum, %out = block.map @N (%K_n = %K, %V_ln = %V_l) -> (sum, sum)
// CHECK-NEXT:       %products = block.map @K (%Q_mk = %Q_m, %K_nk = %K_n) -> (sum)
// CHECK-NEXT:         %q_1 = block.load %Q_mk
// CHECK-NEXT:         %k_1 = block.load %K_nk
// CHECK-NEXT:         %products_1 = block.dot %q_1, %k_1
// CHECK-NEXT:         block.yield %products_1
// CHECK-NEXT:       }
// CHECK-NEXT:       %scores = block.linear 1/8 * %products
// CHECK-NEXT:       %weights = block.elementwise (%shifted = %scores)
// CHECK-NEXT:         %0 = math.exp %shifted
// CHECK-NEXT:         block.yield %0
// CHECK-NEXT:       }
// CHECK-NEXT:       %sum_1 = block.row_sum %weights
// CHECK-NEXT:       %v_1 = block.load %V_ln
// CHECK-NEXT:       %out_1 = block.dot %weights, %v_1
// CHECK-NEXT:       block.yield %sum_1, %out_1
// CHECK-NEXT:     }
// CHECK-NEXT:     %1 = block.monomial %sum ** -1
// CHECK-NEXT:     %out_2 = block.row_scale %out, %1
// CHECK-NEXT:     %out_3 = block.store %out_2
// CHECK-NEXT:     block.yield %out_3
// CHECK-NEXT:   }
// CHECK-NEXT:   block.yield %Out_m
// CHECK-NEXT: }
// CHECK-NEXT: %out_4 = block.assemble %Out [M, L]
// CHECK-NEXT: func.return %out_4
// CHECK-NEXT: }
func.func @decomposed(
  %q: tensor<160x64xf32>,
  %k: tensor<192x64xf32>,
  %v: tensor<192x96xf32>
) -> tensor<160x96xf32> {
  %products = array.matmul %q, %k transpose_b : tensor<160x64xf32>, tensor<192x64xf32> -> tensor<160x192xf32>
  %scale = array.constant dense<1.250000e-01> : tensor<f32>
  %scores = array.elementwise (%product = %products, %factor = %scale)
    : tensor<160x192xf32>, tensor<f32> -> tensor<160x192xf32> {
    %score = arith.mulf %product, %factor : f32
    array.yield %score : f32
  }

  // Softmax over the keys, its maximum subtracted.
  %max = array.reduce max %scores axes [1] : tensor<160x192xf32> -> tensor<160xf32>
  %max_column = array.reshape %max : tensor<160xf32> -> tensor<160x1xf32>
  %shifted = array.elementwise (%a = %scores, %b = %max_column)
    : tensor<160x192xf32>, tensor<160x1xf32> -> tensor<160x192xf32> {
    %difference = arith.subf %a, %b : f32
    array.yield %difference : f32
  }
  %weights = array.elementwise (%a = %shifted) : tensor<160x192xf32> -> tensor<160x192xf32> {
    %exp = math.exp %a : f32
    array.yield %exp : f32
  }
  %sum = array.reduce sum %weights axes [1] : tensor<160x192xf32> -> tensor<160xf32>
  %sum_column = array.reshape %sum : tensor<160xf32> -> tensor<160x1xf32>
  %probs = array.elementwise (%a = %weights, %b = %sum_column)
    : tensor<160x192xf32>, tensor<160x1xf32> -> tensor<160x192xf32> {
    %quotient = arith.divf %a, %b : f32
    array.yield %quotient : f32
  }

  %out = array.matmul %probs, %v : tensor<160x192xf32>, tensor<192x96xf32> -> tensor<160x96xf32>
  func.return %out : tensor<160x96xf32>
}
