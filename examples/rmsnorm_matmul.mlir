// RMSNorm with gamma, then a linear layer whose weight is stored one output feature a row:
//
//   out = (x / sqrt(mean(x^2) + eps) * gamma) w^T
//
//   x     [M, K]    M rows of K features
//   gamma [K]
//   w     [N, K]

func.func @rmsnorm_matmul(
  %x: tensor<140x80xf32>,
  %gamma: tensor<80xf32>,
  %w: tensor<56x80xf32>
) -> tensor<140x56xf32> {
  %normed = array.rms_norm %x scale(%gamma : tensor<80xf32>) eps 1.000000e-06 : tensor<140x80xf32>
  %out = array.matmul %normed, %w transpose_b : tensor<140x80xf32>, tensor<56x80xf32> -> tensor<140x56xf32>
  func.return %out : tensor<140x56xf32>
}
