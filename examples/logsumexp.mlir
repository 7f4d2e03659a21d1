// The logarithm of the sum of exponentials of each row, safe for large logits:
//
//   out = max(x) + log(sum(exp(x - max(x))))
//
//   x [M, N]    M rows of N logits

func.func @logsumexp(%x: tensor<130x90xf32>) -> tensor<130xf32> {
  %max = array.reduce max %x axes [1] keepdims : tensor<130x90xf32> -> tensor<130x1xf32>
  %weights = array.elementwise (%a = %x, %b = %max)
    : tensor<130x90xf32>, tensor<130x1xf32> -> tensor<130x90xf32> {
    %shifted = arith.subf %a, %b : f32
    %exp = math.exp %shifted : f32
    array.yield %exp : f32
  }
  %sum = array.reduce sum %weights axes [1] keepdims : tensor<130x90xf32> -> tensor<130x1xf32>
  %column = array.elementwise (%a = %sum, %b = %max)
    : tensor<130x1xf32>, tensor<130x1xf32> -> tensor<130x1xf32> {
    %log = math.log %a : f32
    %total = arith.addf %b, %log : f32
    array.yield %total : f32
  }
  %out = array.reshape %column : tensor<130x1xf32> -> tensor<130xf32>
  func.return %out : tensor<130xf32>
}
