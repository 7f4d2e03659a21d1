// Normalisations alone: two passes over each row.

func.func @layer_norm(%x: tensor<10x9xf32>, %gamma: tensor<9xf32>, %beta: tensor<9xf32>) -> tensor<10x9xf32> {
  %out = array.layer_norm %x scale(%gamma : tensor<9xf32>) shift(%beta : tensor<9xf32>) eps 1.000000e-05
    : tensor<10x9xf32>
  func.return %out : tensor<10x9xf32>
}

func.func @rms_norm(%x: tensor<10x9xf32>, %gamma: tensor<9xf32>) -> tensor<10x9xf32> {
  %out = array.rms_norm %x scale(%gamma : tensor<9xf32>) eps 1.000000e-05 : tensor<10x9xf32>
  func.return %out : tensor<10x9xf32>
}
