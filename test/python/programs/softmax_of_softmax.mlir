// Attention whose probabilities go through a second softmax.

func.func @softmax_of_softmax(
  %q: tensor<10x6xf32>, %k: tensor<9x6xf32>, %v: tensor<9x7xf32>
) -> tensor<10x7xf32> {
  %scores = array.matmul %q, %k transpose_b : tensor<10x6xf32>, tensor<9x6xf32> -> tensor<10x9xf32>
  %once = array.softmax %scores axis 1 : tensor<10x9xf32>
  %twice = array.softmax %once axis 1 : tensor<10x9xf32>
  %out = array.matmul %twice, %v : tensor<10x9xf32>, tensor<9x7xf32> -> tensor<10x7xf32>
  func.return %out : tensor<10x7xf32>
}
