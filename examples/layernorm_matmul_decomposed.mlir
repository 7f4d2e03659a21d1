// The LayerNorm and linear layer of layernorm_matmul.mlir in core operators, as a framework emits it:
//
//   mean = sum(x) * (1 / K)                              K = 64
//   var = sum((x - mean)^2) * (1 / K)
//   out = ((x - mean) * rsqrt(var + eps) * gamma + beta) w + bias
//
//   x [M, K]    gamma, beta [K]    w [K, N]    bias [N]

func.func @layernorm_matmul_decomposed(
  %x: tensor<150x64xf32>,
  %gamma: tensor<64xf32>,
  %beta: tensor<64xf32>,
  %w: tensor<64x96xf32>,
  %bias: tensor<96xf32>
) -> tensor<150x96xf32> {
  %per_feature = array.constant dense<1.562500e-02> : tensor<f32>
  %eps = array.constant dense<1.000000e-05> : tensor<f32>

  %total = array.reduce sum %x axes [1] keepdims : tensor<150x64xf32> -> tensor<150x1xf32>
  %mean = array.elementwise (%a = %total, %b = %per_feature)
    : tensor<150x1xf32>, tensor<f32> -> tensor<150x1xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %centred = array.elementwise (%a = %x, %b = %mean)
    : tensor<150x64xf32>, tensor<150x1xf32> -> tensor<150x64xf32> {
    %difference = arith.subf %a, %b : f32
    array.yield %difference : f32
  }
  %squared = array.elementwise (%a = %centred) : tensor<150x64xf32> -> tensor<150x64xf32> {
    %square = arith.mulf %a, %a : f32
    array.yield %square : f32
  }
  %squares = array.reduce sum %squared axes [1] keepdims : tensor<150x64xf32> -> tensor<150x1xf32>
  %var = array.elementwise (%a = %squares, %b = %per_feature)
    : tensor<150x1xf32>, tensor<f32> -> tensor<150x1xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %padded = array.elementwise (%a = %var, %b = %eps) : tensor<150x1xf32>, tensor<f32> -> tensor<150x1xf32> {
    %sum = arith.addf %a, %b : f32
    array.yield %sum : f32
  }
  %rstd = array.elementwise (%a = %padded) : tensor<150x1xf32> -> tensor<150x1xf32> {
    %root = math.rsqrt %a : f32
    array.yield %root : f32
  }

  %normed = array.elementwise (%a = %centred, %b = %rstd)
    : tensor<150x64xf32>, tensor<150x1xf32> -> tensor<150x64xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %scaled = array.elementwise (%a = %normed, %b = %gamma)
    : tensor<150x64xf32>, tensor<64xf32> -> tensor<150x64xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %shifted = array.elementwise (%a = %scaled, %b = %beta)
    : tensor<150x64xf32>, tensor<64xf32> -> tensor<150x64xf32> {
    %sum = arith.addf %a, %b : f32
    array.yield %sum : f32
  }

  %projected = array.matmul %shifted, %w : tensor<150x64xf32>, tensor<64x96xf32> -> tensor<150x96xf32>
  %out = array.elementwise (%a = %projected, %b = %bias)
    : tensor<150x96xf32>, tensor<96xf32> -> tensor<150x96xf32> {
    %sum = arith.addf %a, %b : f32
    array.yield %sum : f32
  }
  func.return %out : tensor<150x96xf32>
}
