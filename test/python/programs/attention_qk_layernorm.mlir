// Attention whose queries and keys are layer-normalised first, with a gain.

func.func @attention_qk_layernorm(
  %q: tensor<10x6xf32>,
  %k: tensor<9x6xf32>,
  %v: tensor<9x7xf32>,
  %q_gamma: tensor<6xf32>,
  %k_gamma: tensor<6xf32>
) -> tensor<10x7xf32> {
  %q_normed = array.layer_norm %q scale(%q_gamma : tensor<6xf32>) eps 1.000000e-05 : tensor<10x6xf32>
  %k_normed = array.layer_norm %k scale(%k_gamma : tensor<6xf32>) eps 1.000000e-05 : tensor<9x6xf32>
  %out = array.attention %q_normed, %k_normed, %v
    : tensor<10x6xf32>, tensor<9x6xf32>, tensor<9x7xf32> -> tensor<10x7xf32>
  func.return %out : tensor<10x7xf32>
}
