// LayerNorm and a linear layer, with the variance in two passes and as E[x^2] - E[x]^2.

func.func @two_pass(%x: tensor<10x8xf32>, %w: tensor<8x11xf32>) -> tensor<10x11xf32> {
  %normed = array.layer_norm %x eps 1.000000e-05 : tensor<10x8xf32>
  %out = array.matmul %normed, %w : tensor<10x8xf32>, tensor<8x11xf32> -> tensor<10x11xf32>
  func.return %out : tensor<10x11xf32>
}

func.func @one_pass(%x: tensor<10x8xf32>, %w: tensor<8x11xf32>) -> tensor<10x11xf32> {
  %total = array.reduce sum %x axes [1] keepdims : tensor<10x8xf32> -> tensor<10x1xf32>
  %squared = array.elementwise (%a = %x) : tensor<10x8xf32> -> tensor<10x8xf32> {
    %square = arith.mulf %a, %a : f32
    array.yield %square : f32
  }
  %squares = array.reduce sum %squared axes [1] keepdims : tensor<10x8xf32> -> tensor<10x1xf32>
  %mean = array.elementwise (%a = %total) : tensor<10x1xf32> -> tensor<10x1xf32> {
    %part = arith.constant 1.250000e-01 : f32
    %mean = arith.mulf %a, %part : f32
    array.yield %mean : f32
  }
  %var = array.elementwise (%a = %squares, %b = %mean)
    : tensor<10x1xf32>, tensor<10x1xf32> -> tensor<10x1xf32> {
    %part = arith.constant 1.250000e-01 : f32
    %mean_square = arith.mulf %a, %part : f32
    %square_mean = arith.mulf %b, %b : f32
    %var = arith.subf %mean_square, %square_mean : f32
    array.yield %var : f32
  }
  %rstd = array.elementwise (%a = %var) : tensor<10x1xf32> -> tensor<10x1xf32> {
    %eps = arith.constant 1.000000e-05 : f32
    %padded = arith.addf %a, %eps : f32
    %rstd = math.rsqrt %padded : f32
    array.yield %rstd : f32
  }
  %normed = array.elementwise (%a = %x, %b = %mean, %c = %rstd)
    : tensor<10x8xf32>, tensor<10x1xf32>, tensor<10x1xf32> -> tensor<10x8xf32> {
    %centred = arith.subf %a, %b : f32
    %normed = arith.mulf %centred, %c : f32
    array.yield %normed : f32
  }
  %out = array.matmul %normed, %w : tensor<10x8xf32>, tensor<8x11xf32> -> tensor<10x11xf32>
  func.return %out : tensor<10x11xf32>
}
