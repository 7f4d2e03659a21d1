// Softmax as one operator, and without its maximum, which fusion removes.

func.func @safe(%x: tensor<10x9xf32>) -> tensor<10x9xf32> {
  %probs = array.softmax %x axis 1 : tensor<10x9xf32>
  func.return %probs : tensor<10x9xf32>
}

func.func @unsafe(%x: tensor<10x9xf32>) -> tensor<10x9xf32> {
  %weights = array.elementwise (%a = %x) : tensor<10x9xf32> -> tensor<10x9xf32> {
    %exp = math.exp %a : f32
    array.yield %exp : f32
  }
  %sum = array.reduce sum %weights axes [1] keepdims : tensor<10x9xf32> -> tensor<10x1xf32>
  %probs = array.elementwise (%a = %weights, %b = %sum)
    : tensor<10x9xf32>, tensor<10x1xf32> -> tensor<10x9xf32> {
    %quotient = arith.divf %a, %b : f32
    array.yield %quotient : f32
  }
  func.return %probs : tensor<10x9xf32>
}
