// Softmax along the rows, the row maximum subtracted first:
//
//   probs = exp(x - max(x)) / sum(exp(x - max(x)))
//
//   x [M, N]    M rows of N logits

func.func @softmax(%x: tensor<150x96xf32>) -> tensor<150x96xf32> {
  %probs = array.softmax %x axis 1 : tensor<150x96xf32>
  func.return %probs : tensor<150x96xf32>
}
