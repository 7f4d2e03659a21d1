// Grouped-query attention: 16 query heads share 4 key and value heads, four to each.
//
//   out[h] = softmax(q[h] k[h / 4]^T / sqrt(D)) v[h / 4]
//
//   q [H, M, D]    H = 16 query heads, M queries of width D
//   k [G, N, D]    G = 4 key heads, N keys
//   v [G, N, L]    G = 4 value heads, N values of width L

func.func @attention_gqa(
  %q: tensor<16x112x32xf32>,
  %k: tensor<4x136x32xf32>,
  %v: tensor<4x136x40xf32>
) -> tensor<16x112x40xf32> {
  %out = array.attention %q, %k, %v
    : tensor<16x112x32xf32>, tensor<4x136x32xf32>, tensor<4x136x40xf32> -> tensor<16x112x40xf32>
  func.return %out : tensor<16x112x40xf32>
}
