// Scaled dot-product attention over several heads:
//
//   out[h] = softmax(q[h] k[h]^T / sqrt(D)) v[h]
//
//   q    [H, M, D]    H heads, M queries of width D
//   k, v [H, N, D]    N keys and values

func.func @attention_heads(
  %q: tensor<4x150x48xf32>,
  %k: tensor<4x170x48xf32>,
  %v: tensor<4x170x48xf32>
) -> tensor<4x150x48xf32> {
  %out = array.attention %q, %k, %v
    : tensor<4x150x48xf32>, tensor<4x170x48xf32>, tensor<4x170x48xf32> -> tensor<4x150x48xf32>
  func.return %out : tensor<4x150x48xf32>
}
