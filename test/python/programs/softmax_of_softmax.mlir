// A softmax of a linear function of a softmax: attention whose output asks a second set of keys.

func.func @through_products(
  %q: tensor<10x6xf32>,
  %k: tensor<9x6xf32>,
  %v: tensor<9x7xf32>,
  %k_second: tensor<11x7xf32>,
  %v_second: tensor<11x5xf32>
) -> tensor<10x5xf32> {
  %scores = array.matmul %q, %k transpose_b : tensor<10x6xf32>, tensor<9x6xf32> -> tensor<10x9xf32>
  %probs = array.softmax %scores axis 1 : tensor<10x9xf32>
  %values = array.matmul %probs, %v : tensor<10x9xf32>, tensor<9x7xf32> -> tensor<10x7xf32>
  %scores_second = array.matmul %values, %k_second transpose_b
    : tensor<10x7xf32>, tensor<11x7xf32> -> tensor<10x11xf32>
  %probs_second = array.softmax %scores_second axis 1 : tensor<10x11xf32>
  %out = array.matmul %probs_second, %v_second
    : tensor<10x11xf32>, tensor<11x5xf32> -> tensor<10x5xf32>
  func.return %out : tensor<10x5xf32>
}

// The same probabilities through two softmaxes at once. The second needs the first one's whole sum, and making
// the exponentials again would repeat a contraction: one list stays, private to an iteration over rows.

func.func @direct(%q: tensor<10x6xf32>, %k: tensor<9x6xf32>, %v: tensor<9x7xf32>) -> tensor<10x7xf32> {
  %scores = array.matmul %q, %k transpose_b : tensor<10x6xf32>, tensor<9x6xf32> -> tensor<10x9xf32>
  %once = array.softmax %scores axis 1 : tensor<10x9xf32>
  %twice = array.softmax %once axis 1 : tensor<10x9xf32>
  %out = array.matmul %twice, %v : tensor<10x9xf32>, tensor<9x7xf32> -> tensor<10x7xf32>
  func.return %out : tensor<10x7xf32>
}
