// One layer of a decoder: pre-norm RMSNorm, rotary positions, grouped-query causal attention with its
// output projection, and a SwiGLU feed-forward layer, each half with its residual.
//
//   y = rms_norm(x; attention_gamma)
//   q, k, v = heads of y w_q, y w_k, y w_v               q and k rotated by position
//   r = x + attention(q, k, v) w_o
//   z = rms_norm(r; ffn_gamma)
//   out = r + (silu(z w_gate) * (z w_up)) w_down
//
//   x            [S, D]         S positions, D features
//   cos, sin     [S, P]         rotary tables: feature p of a head turns with feature P + p
//   w_q          [D, H*E]       H query heads of width E = 2 P
//   w_k, w_v     [D, G*E]       G key and value heads, H / G query heads share one
//   w_o          [H*E, D]
//   w_gate, w_up [D, F]         F hidden features
//   w_down       [F, D]         attention_gamma, ffn_gamma [D]

func.func @decoder_layer(
  %x: tensor<104x72xf32>,
  %cos: tensor<104x16xf32>,
  %sin: tensor<104x16xf32>,
  %attention_gamma: tensor<72xf32>,
  %w_q: tensor<72x192xf32>,
  %w_k: tensor<72x64xf32>,
  %w_v: tensor<72x64xf32>,
  %w_o: tensor<192x72xf32>,
  %ffn_gamma: tensor<72xf32>,
  %w_gate: tensor<72x88xf32>,
  %w_up: tensor<72x88xf32>,
  %w_down: tensor<88x72xf32>
) -> tensor<104x72xf32> {
  %y = array.rms_norm %x scale(%attention_gamma : tensor<72xf32>) eps 1.000000e-06 : tensor<104x72xf32>

  // Project, and split the features into heads: [S, H*E] -> [H, S, E].
  %q_rows = array.matmul %y, %w_q : tensor<104x72xf32>, tensor<72x192xf32> -> tensor<104x192xf32>
  %q_split = array.reshape %q_rows : tensor<104x192xf32> -> tensor<104x6x32xf32>
  %q = array.transpose %q_split perm [1, 0, 2] : tensor<104x6x32xf32> -> tensor<6x104x32xf32>
  %k_rows = array.matmul %y, %w_k : tensor<104x72xf32>, tensor<72x64xf32> -> tensor<104x64xf32>
  %k_split = array.reshape %k_rows : tensor<104x64xf32> -> tensor<104x2x32xf32>
  %k = array.transpose %k_split perm [1, 0, 2] : tensor<104x2x32xf32> -> tensor<2x104x32xf32>
  %v_rows = array.matmul %y, %w_v : tensor<104x72xf32>, tensor<72x64xf32> -> tensor<104x64xf32>
  %v_split = array.reshape %v_rows : tensor<104x64xf32> -> tensor<104x2x32xf32>
  %v = array.transpose %v_split perm [1, 0, 2] : tensor<104x2x32xf32> -> tensor<2x104x32xf32>

  // Rotate the two halves of every query head.
  %q_first = array.slice %q offsets [0, 0, 0] sizes [6, 104, 16]
    : tensor<6x104x32xf32> -> tensor<6x104x16xf32>
  %q_second = array.slice %q offsets [0, 0, 16] sizes [6, 104, 16]
    : tensor<6x104x32xf32> -> tensor<6x104x16xf32>
  %q_turned_first = array.elementwise (%a = %q_first, %b = %q_second, %c = %cos, %s = %sin)
    : tensor<6x104x16xf32>, tensor<6x104x16xf32>, tensor<104x16xf32>, tensor<104x16xf32>
    -> tensor<6x104x16xf32> {
    %ac = arith.mulf %a, %c : f32
    %bs = arith.mulf %b, %s : f32
    %turned = arith.subf %ac, %bs : f32
    array.yield %turned : f32
  }
  %q_turned_second = array.elementwise (%a = %q_first, %b = %q_second, %c = %cos, %s = %sin)
    : tensor<6x104x16xf32>, tensor<6x104x16xf32>, tensor<104x16xf32>, tensor<104x16xf32>
    -> tensor<6x104x16xf32> {
    %bc = arith.mulf %b, %c : f32
    %as = arith.mulf %a, %s : f32
    %turned = arith.addf %bc, %as : f32
    array.yield %turned : f32
  }
  %q_turned = array.concat %q_turned_first, %q_turned_second axis 2
    : tensor<6x104x16xf32>, tensor<6x104x16xf32> -> tensor<6x104x32xf32>

  // The same for every key head.
  %k_first = array.slice %k offsets [0, 0, 0] sizes [2, 104, 16]
    : tensor<2x104x32xf32> -> tensor<2x104x16xf32>
  %k_second = array.slice %k offsets [0, 0, 16] sizes [2, 104, 16]
    : tensor<2x104x32xf32> -> tensor<2x104x16xf32>
  %k_turned_first = array.elementwise (%a = %k_first, %b = %k_second, %c = %cos, %s = %sin)
    : tensor<2x104x16xf32>, tensor<2x104x16xf32>, tensor<104x16xf32>, tensor<104x16xf32>
    -> tensor<2x104x16xf32> {
    %ac = arith.mulf %a, %c : f32
    %bs = arith.mulf %b, %s : f32
    %turned = arith.subf %ac, %bs : f32
    array.yield %turned : f32
  }
  %k_turned_second = array.elementwise (%a = %k_first, %b = %k_second, %c = %cos, %s = %sin)
    : tensor<2x104x16xf32>, tensor<2x104x16xf32>, tensor<104x16xf32>, tensor<104x16xf32>
    -> tensor<2x104x16xf32> {
    %bc = arith.mulf %b, %c : f32
    %as = arith.mulf %a, %s : f32
    %turned = arith.addf %bc, %as : f32
    array.yield %turned : f32
  }
  %k_turned = array.concat %k_turned_first, %k_turned_second axis 2
    : tensor<2x104x16xf32>, tensor<2x104x16xf32> -> tensor<2x104x32xf32>

  // Attend, and merge the heads: [H, S, E] -> [S, H*E].
  %heads = array.attention %q_turned, %k_turned, %v causal
    : tensor<6x104x32xf32>, tensor<2x104x32xf32>, tensor<2x104x32xf32> -> tensor<6x104x32xf32>
  %heads_split = array.transpose %heads perm [1, 0, 2] : tensor<6x104x32xf32> -> tensor<104x6x32xf32>
  %merged = array.reshape %heads_split : tensor<104x6x32xf32> -> tensor<104x192xf32>
  %attended = array.matmul %merged, %w_o : tensor<104x192xf32>, tensor<192x72xf32> -> tensor<104x72xf32>
  %r = array.elementwise (%a = %x, %b = %attended)
    : tensor<104x72xf32>, tensor<104x72xf32> -> tensor<104x72xf32> {
    %sum = arith.addf %a, %b : f32
    array.yield %sum : f32
  }

  // Feed forward.
  %z = array.rms_norm %r scale(%ffn_gamma : tensor<72xf32>) eps 1.000000e-06 : tensor<104x72xf32>
  %gate = array.matmul %z, %w_gate : tensor<104x72xf32>, tensor<72x88xf32> -> tensor<104x88xf32>
  %up = array.matmul %z, %w_up : tensor<104x72xf32>, tensor<72x88xf32> -> tensor<104x88xf32>
  %opened = array.silu %gate : tensor<104x88xf32>
  %hidden = array.elementwise (%a = %opened, %b = %up)
    : tensor<104x88xf32>, tensor<104x88xf32> -> tensor<104x88xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %down = array.matmul %hidden, %w_down : tensor<104x88xf32>, tensor<88x72xf32> -> tensor<104x72xf32>
  %out = array.elementwise (%a = %r, %b = %down)
    : tensor<104x72xf32>, tensor<104x72xf32> -> tensor<104x72xf32> {
    %sum = arith.addf %a, %b : f32
    array.yield %sum : f32
  }
  func.return %out : tensor<104x72xf32>
}
