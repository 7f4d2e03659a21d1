// Attention with powers of 2 for exponentials.

func.func @attention_base_2(%q: tensor<10x6xf32>, %k: tensor<9x6xf32>, %v: tensor<9x7xf32>)
    -> tensor<10x7xf32> {
  %products = array.matmul %q, %k transpose_b : tensor<10x6xf32>, tensor<9x6xf32> -> tensor<10x9xf32>
  %scores = array.elementwise (%a = %products) : tensor<10x9xf32> -> tensor<10x9xf32> {
    %factor = arith.constant 2.500000e-01 : f32
    %score = arith.mulf %a, %factor : f32
    array.yield %score : f32
  }
  %max = array.reduce max %scores axes [1] keepdims : tensor<10x9xf32> -> tensor<10x1xf32>
  %weights = array.elementwise (%a = %scores, %b = %max)
    : tensor<10x9xf32>, tensor<10x1xf32> -> tensor<10x9xf32> {
    %shifted = arith.subf %a, %b : f32
    %power = math.exp2 %shifted : f32
    array.yield %power : f32
  }
  %sum = array.reduce sum %weights axes [1] keepdims : tensor<10x9xf32> -> tensor<10x1xf32>
  %probs = array.elementwise (%a = %weights, %b = %sum)
    : tensor<10x9xf32>, tensor<10x1xf32> -> tensor<10x9xf32> {
    %quotient = arith.divf %a, %b : f32
    array.yield %quotient : f32
  }
  %out = array.matmul %probs, %v : tensor<10x9xf32>, tensor<9x7xf32> -> tensor<10x7xf32>
  func.return %out : tensor<10x7xf32>
}
