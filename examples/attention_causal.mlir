// Causal self-attention over several heads: query i sees the keys j <= i.
//
//   out[h] = softmax(mask(q[h] k[h]^T / sqrt(D))) v[h]
//
//   q, k, v [H, S, D]    H heads, a sequence of S positions, head width D

func.func @attention_causal(
  %q: tensor<4x150x48xf32>,
  %k: tensor<4x150x48xf32>,
  %v: tensor<4x150x48xf32>
) -> tensor<4x150x48xf32> {
  %out = array.attention %q, %k, %v causal
    : tensor<4x150x48xf32>, tensor<4x150x48xf32>, tensor<4x150x48xf32> -> tensor<4x150x48xf32>
  func.return %out : tensor<4x150x48xf32>
}
