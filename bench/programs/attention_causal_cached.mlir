// Causal attention of the last M of N positions: query i sees the keys j <= i + N - M, which is i + 184 here.
//
//   out[h] = softmax(mask(q[h] k[h]^T / sqrt(D))) v[h]
//
//   q    [H, M, D]    H heads, M queries of width D
//   k, v [H, N, D]    N keys and values

func.func @attention_causal_cached(
  %q: tensor<7x333x80xf32>,
  %k: tensor<7x517x80xf32>,
  %v: tensor<7x517x80xf32>
) -> tensor<7x333x80xf32> {
  %row = array.iota axis 0 : tensor<333x1xi32>
  %column = array.iota axis 1 : tensor<1x517xi32>
  %keep = array.elementwise (%i = %row, %j = %column)
    : tensor<333x1xi32>, tensor<1x517xi32> -> tensor<333x517xi1> {
    %earlier = arith.constant 184 : i32
    %last = arith.addi %i, %earlier : i32
    %seen = arith.cmpi sle, %j, %last : i32
    array.yield %seen : i1
  }
  %out = array.attention %q, %k, %v mask(%keep : tensor<333x517xi1>)
    : tensor<7x333x80xf32>, tensor<7x517x80xf32>, tensor<7x517x80xf32> -> tensor<7x333x80xf32>
  func.return %out : tensor<7x333x80xf32>
}
