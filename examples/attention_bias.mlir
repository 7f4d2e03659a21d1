// Attention with a pair bias and a key mask, shaped like the row attention of an Evoformer block:
// every row of an alignment attends within itself, all rows share one bias per head.
//
//   out[b, h] = softmax(q[b, h] k[b, h]^T / sqrt(D) + pair_bias[h] + key_mask[b]) v[b, h]
//
//   q         [B, H, M, D]    B alignment rows, H heads, M queries of width D
//   k, v      [B, H, N, D]    N keys and values
//   pair_bias [H, M, N]       shared by the rows
//   key_mask  [B, N]          0 keeps a key, -inf hides it

func.func @attention_bias(
  %q: tensor<6x4x100x32xf32>,
  %k: tensor<6x4x120x32xf32>,
  %v: tensor<6x4x120x32xf32>,
  %pair_bias: tensor<4x100x120xf32>,
  %key_mask: tensor<6x120xf32>
) -> tensor<6x4x100x32xf32> {
  %key_bias = array.reshape %key_mask : tensor<6x120xf32> -> tensor<6x1x1x120xf32>
  %bias = array.elementwise (%pair = %pair_bias, %key = %key_bias)
    : tensor<4x100x120xf32>, tensor<6x1x1x120xf32> -> tensor<6x4x100x120xf32> {
    %sum = arith.addf %pair, %key : f32
    array.yield %sum : f32
  }
  %out = array.attention %q, %k, %v bias(%bias : tensor<6x4x100x120xf32>)
    : tensor<6x4x100x32xf32>, tensor<6x4x120x32xf32>, tensor<6x4x120x32xf32> -> tensor<6x4x100x32xf32>
  func.return %out : tensor<6x4x100x32xf32>
}
