// The RMSNorm and SwiGLU layer of rmsnorm_ffn_swiglu.mlir in core operators, as a framework emits it:
//
//   y = x * rsqrt(sum(x^2) * (1 / D) + eps) * gamma      D = 64
//   gate = y w_gate
//   out = (gate * logistic(gate) * (y w_up)) w_down      logistic(z) = 1 / (1 + exp(-z))
//
//   x [M, D]    gamma [D]    w_gate, w_up [D, F]    w_down [F, D]

func.func @rmsnorm_ffn_swiglu_decomposed(
  %x: tensor<130x64xf32>,
  %gamma: tensor<64xf32>,
  %w_gate: tensor<64x96xf32>,
  %w_up: tensor<64x96xf32>,
  %w_down: tensor<96x64xf32>
) -> tensor<130x64xf32> {
  %per_feature = array.constant dense<1.562500e-02> : tensor<f32>
  %eps = array.constant dense<1.000000e-06> : tensor<f32>

  %squared = array.elementwise (%a = %x) : tensor<130x64xf32> -> tensor<130x64xf32> {
    %square = arith.mulf %a, %a : f32
    array.yield %square : f32
  }
  %squares = array.reduce sum %squared axes [1] : tensor<130x64xf32> -> tensor<130xf32>
  %squares_column = array.reshape %squares : tensor<130xf32> -> tensor<130x1xf32>
  %mean_square = array.elementwise (%a = %squares_column, %b = %per_feature)
    : tensor<130x1xf32>, tensor<f32> -> tensor<130x1xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %padded = array.elementwise (%a = %mean_square, %b = %eps)
    : tensor<130x1xf32>, tensor<f32> -> tensor<130x1xf32> {
    %sum = arith.addf %a, %b : f32
    array.yield %sum : f32
  }
  %rrms = array.elementwise (%a = %padded) : tensor<130x1xf32> -> tensor<130x1xf32> {
    %root = math.rsqrt %a : f32
    array.yield %root : f32
  }
  %normed = array.elementwise (%a = %x, %b = %rrms)
    : tensor<130x64xf32>, tensor<130x1xf32> -> tensor<130x64xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %y = array.elementwise (%a = %normed, %b = %gamma)
    : tensor<130x64xf32>, tensor<64xf32> -> tensor<130x64xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }

  %gate = array.matmul %y, %w_gate : tensor<130x64xf32>, tensor<64x96xf32> -> tensor<130x96xf32>
  %logistic = array.elementwise (%a = %gate) : tensor<130x96xf32> -> tensor<130x96xf32> {
    %one = arith.constant 1.000000e+00 : f32
    %negated = arith.negf %a : f32
    %exp = math.exp %negated : f32
    %denominator = arith.addf %one, %exp : f32
    %quotient = arith.divf %one, %denominator : f32
    array.yield %quotient : f32
  }
  %opened = array.elementwise (%a = %gate, %b = %logistic)
    : tensor<130x96xf32>, tensor<130x96xf32> -> tensor<130x96xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %up = array.matmul %y, %w_up : tensor<130x64xf32>, tensor<64x96xf32> -> tensor<130x96xf32>
  %hidden = array.elementwise (%a = %opened, %b = %up)
    : tensor<130x96xf32>, tensor<130x96xf32> -> tensor<130x96xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %out = array.matmul %hidden, %w_down : tensor<130x96xf32>, tensor<96x64xf32> -> tensor<130x64xf32>
  func.return %out : tensor<130x64xf32>
}
