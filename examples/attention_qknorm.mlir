// Attention whose queries and keys are RMS-normalised along the head width first:
//
//   out[h] = softmax(rms_norm(q[h]; q_gamma) rms_norm(k[h]; k_gamma)^T / sqrt(D)) v[h]
//
//   q       [H, M, D]    H heads, M queries of width D
//   k, v    [H, N, D]    N keys and values
//   q_gamma [D]          k_gamma [D]

func.func @attention_qknorm(
  %q: tensor<4x108x48xf32>,
  %k: tensor<4x132x48xf32>,
  %v: tensor<4x132x48xf32>,
  %q_gamma: tensor<48xf32>,
  %k_gamma: tensor<48xf32>
) -> tensor<4x108x48xf32> {
  %q_normed = array.rms_norm %q scale(%q_gamma : tensor<48xf32>) eps 1.000000e-06 : tensor<4x108x48xf32>
  %k_normed = array.rms_norm %k scale(%k_gamma : tensor<48xf32>) eps 1.000000e-06 : tensor<4x132x48xf32>
  %out = array.attention %q_normed, %k_normed, %v
    : tensor<4x108x48xf32>, tensor<4x132x48xf32>, tensor<4x132x48xf32> -> tensor<4x108x48xf32>
  func.return %out : tensor<4x108x48xf32>
}
