// Attention of one new query a head to the keys and values that are cached:
//
//   out[h] = softmax(q[h] k[h]^T / sqrt(D)) v[h]
//
//   q    [H, 1, D]    H heads of width D
//   k, v [H, N, D]    N keys and values

func.func @attention_decode(
  %q: tensor<4x1x48xf32>,
  %k: tensor<4x170x48xf32>,
  %v: tensor<4x170x48xf32>
) -> tensor<4x1x48xf32> {
  %out = array.attention %q, %k, %v
    : tensor<4x1x48xf32>, tensor<4x170x48xf32>, tensor<4x170x48xf32> -> tensor<4x1x48xf32>
  func.return %out : tensor<4x1x48xf32>
}
