// LayerNorm with gamma and beta, then a linear layer with bias:
//
//   out = ((x - mean(x)) / sqrt(var(x) + eps) * gamma + beta) w + bias
//
//   x           [M, K]    M rows of K features
//   gamma, beta [K]
//   w           [K, N]    bias [N]

func.func @layernorm_matmul(
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
