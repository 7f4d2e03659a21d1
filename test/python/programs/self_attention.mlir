// Self-attention from one x: normalised, projected to queries, keys and values.

func.func @self_attention(
  %x: tensor<10x8xf32>,
  %gamma: tensor<8xf32>,
  %w_q: tensor<8x6xf32>,
  %w_k: tensor<8x6xf32>,
  %w_v: tensor<8x7xf32>
) -> tensor<10x7xf32> {
  %y = array.rms_norm %x scale(%gamma : tensor<8xf32>) eps 1.000000e-06 : tensor<10x8xf32>
  %q = array.matmul %y, %w_q : tensor<10x8xf32>, tensor<8x6xf32> -> tensor<10x6xf32>
  %k = array.matmul %y, %w_k : tensor<10x8xf32>, tensor<8x6xf32> -> tensor<10x6xf32>
  %v = array.matmul %y, %w_v : tensor<10x8xf32>, tensor<8x7xf32> -> tensor<10x7xf32>
  %out = array.attention %q, %k, %v
    : tensor<10x6xf32>, tensor<10x6xf32>, tensor<10x7xf32> -> tensor<10x7xf32>
  func.return %out : tensor<10x7xf32>
}
