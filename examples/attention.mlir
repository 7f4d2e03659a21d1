// Scaled dot-product attention, one head:
//
//   out = softmax(q k^T / sqrt(D)) v
//
//   q [M, D]    M queries of width D
//   k [N, D]    N keys
//   v [N, L]    N values of width L

func.func @attention(
  %q: tensor<160x64xf32>,
  %k: tensor<192x64xf32>,
  %v: tensor<192x96xf32>
) -> tensor<160x96xf32> {
  %out = array.attention %q, %k, %v
    : tensor<160x64xf32>, tensor<192x64xf32>, tensor<192x96xf32> -> tensor<160x96xf32>
  func.return %out : tensor<160x96xf32>
}
