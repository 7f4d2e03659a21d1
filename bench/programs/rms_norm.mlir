// RMSNorm of rows:
//
//   out = x / sqrt(mean(x^2) + eps) * gamma
//
//   x     [M, N]    M rows of N features
//   gamma [N]

func.func @rms_norm(%x: tensor<150x96xf32>, %gamma: tensor<96xf32>) -> tensor<150x96xf32> {
  %out = array.rms_norm %x scale(%gamma : tensor<96xf32>) eps 1.000000e-06 : tensor<150x96xf32>
  func.return %out : tensor<150x96xf32>
}
