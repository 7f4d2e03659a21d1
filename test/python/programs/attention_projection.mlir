// Attention of several heads, merged and projected:
//
//   out = sum over h of softmax(q[h] k[h]^T / sqrt(D)) v[h] w[h]
//
// The scores wait for nothing, but the projection needs every head.

func.func @attention_projection(
  %q: tensor<2x10x6xf32>,
  %k: tensor<2x9x6xf32>,
  %v: tensor<2x9x7xf32>,
  %w: tensor<14x11xf32>
) -> tensor<10x11xf32> {
  %heads = array.attention %q, %k, %v
    : tensor<2x10x6xf32>, tensor<2x9x6xf32>, tensor<2x9x7xf32> -> tensor<2x10x7xf32>
  %rows = array.transpose %heads perm [1, 0, 2] : tensor<2x10x7xf32> -> tensor<10x2x7xf32>
  %merged = array.reshape %rows : tensor<10x2x7xf32> -> tensor<10x14xf32>
  %out = array.matmul %merged, %w : tensor<10x14xf32>, tensor<14x11xf32> -> tensor<10x11xf32>
  func.return %out : tensor<10x11xf32>
}
