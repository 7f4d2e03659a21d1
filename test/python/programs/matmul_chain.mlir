// Two products, one after the other.

func.func @matmul_chain(
  %a: tensor<10x7xf32>, %b: tensor<7x9xf32>, %c: tensor<9x11xf32>
) -> tensor<10x11xf32> {
  %ab = array.matmul %a, %b : tensor<10x7xf32>, tensor<7x9xf32> -> tensor<10x9xf32>
  %out = array.matmul %ab, %c : tensor<10x9xf32>, tensor<9x11xf32> -> tensor<10x11xf32>
  func.return %out : tensor<10x11xf32>
}
