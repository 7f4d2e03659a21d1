// RMSNorm, then the gated feed-forward layer SwiGLU:
//
//   y = x / sqrt(mean(x^2) + eps) * gamma
//   out = (silu(y w_gate) * (y w_up)) w_down
//
//   x            [M, D]    M rows of D features
//   gamma        [D]
//   w_gate, w_up [D, F]    F hidden features
//   w_down       [F, D]

func.func @rmsnorm_ffn_swiglu(
  %x: tensor<130x64xf32>,
  %gamma: tensor<64xf32>,
  %w_gate: tensor<64x96xf32>,
  %w_up: tensor<64x96xf32>,
  %w_down: tensor<96x64xf32>
) -> tensor<130x64xf32> {
  %y = array.rms_norm %x scale(%gamma : tensor<64xf32>) eps 1.000000e-06 : tensor<130x64xf32>
  %gate = array.matmul %y, %w_gate : tensor<130x64xf32>, tensor<64x96xf32> -> tensor<130x96xf32>
  %up = array.matmul %y, %w_up : tensor<130x64xf32>, tensor<64x96xf32> -> tensor<130x96xf32>
  %opened = array.silu %gate : tensor<130x96xf32>
  %hidden = array.elementwise (%g = %opened, %u = %up)
    : tensor<130x96xf32>, tensor<130x96xf32> -> tensor<130x96xf32> {
    %product = arith.mulf %g, %u : f32
    array.yield %product : f32
  }
  %out = array.matmul %hidden, %w_down : tensor<130x96xf32>, tensor<96x64xf32> -> tensor<130x64xf32>
  func.return %out : tensor<130x64xf32>
}
