// The attention of attention.mlir in core operators, as a framework emits it:
//
//   scores = q k^T * (1 / sqrt(D))          D = 64
//   weights = exp(scores - max(scores))
//   out = (weights / sum(weights)) v
//
//   q [M, D]    k [N, D]    v [N, L]

func.func @attention_decomposed(
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
