// Log-softmax along the rows: x - max(x) - log(sum(exp(x - max(x)))).

func.func @log_softmax(%x: tensor<10x9xf32>) -> tensor<10x9xf32> {
  %max = array.reduce max %x axes [1] keepdims : tensor<10x9xf32> -> tensor<10x1xf32>
  %shifted = array.elementwise (%a = %x, %b = %max)
    : tensor<10x9xf32>, tensor<10x1xf32> -> tensor<10x9xf32> {
    %difference = arith.subf %a, %b : f32
    array.yield %difference : f32
  }
  %weights = array.elementwise (%a = %shifted) : tensor<10x9xf32> -> tensor<10x9xf32> {
    %exp = math.exp %a : f32
    array.yield %exp : f32
  }
  %sum = array.reduce sum %weights axes [1] keepdims : tensor<10x9xf32> -> tensor<10x1xf32>
  %log = array.elementwise (%a = %sum) : tensor<10x1xf32> -> tensor<10x1xf32> {
    %log = math.log %a : f32
    array.yield %log : f32
  }
  %out = array.elementwise (%a = %shifted, %b = %log)
    : tensor<10x9xf32>, tensor<10x1xf32> -> tensor<10x9xf32> {
    %difference = arith.subf %a, %b : f32
    array.yield %difference : f32
  }
  func.return %out : tensor<10x9xf32>
}
