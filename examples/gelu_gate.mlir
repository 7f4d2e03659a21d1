// Bias, GELU and a gate, all element-wise:
//
//   out = gelu(x + bias) * gate                          gelu(z) = z (1 + erf(z / sqrt(2))) / 2
//
//   x, gate [M, N]    M rows of N features
//   bias    [N]

func.func @gelu_gate(
  %x: tensor<140x72xf32>,
  %bias: tensor<72xf32>,
  %gate: tensor<140x72xf32>
) -> tensor<140x72xf32> {
  %biased = array.elementwise (%a = %x, %b = %bias)
    : tensor<140x72xf32>, tensor<72xf32> -> tensor<140x72xf32> {
    %sum = arith.addf %a, %b : f32
    array.yield %sum : f32
  }
  %activated = array.gelu exact %biased : tensor<140x72xf32>
  %out = array.elementwise (%a = %activated, %b = %gate)
    : tensor<140x72xf32>, tensor<140x72xf32> -> tensor<140x72xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  func.return %out : tensor<140x72xf32>
}
