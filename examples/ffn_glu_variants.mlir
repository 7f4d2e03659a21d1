// Five gated feed-forward layers that differ in the activation of their gate:
//
//   out = (act(x w_gate) * (x w_up)) w_down
//
//   glu       act = sigmoid
//   bilinear  act = identity
//   reglu     act = relu
//   geglu     act = gelu, tanh form
//   swiglu    act = silu
//
//   x            [M, D]    M rows of D features
//   w_gate, w_up [D, F]    F hidden features
//   w_down       [F, D]

func.func @glu(
  %x: tensor<110x48xf32>,
  %w_gate: tensor<48x72xf32>,
  %w_up: tensor<48x72xf32>,
  %w_down: tensor<72x48xf32>
) -> tensor<110x48xf32> {
  %gate = array.matmul %x, %w_gate : tensor<110x48xf32>, tensor<48x72xf32> -> tensor<110x72xf32>
  %up = array.matmul %x, %w_up : tensor<110x48xf32>, tensor<48x72xf32> -> tensor<110x72xf32>
  %opened = array.sigmoid %gate : tensor<110x72xf32>
  %hidden = array.elementwise (%g = %opened, %u = %up)
    : tensor<110x72xf32>, tensor<110x72xf32> -> tensor<110x72xf32> {
    %product = arith.mulf %g, %u : f32
    array.yield %product : f32
  }
  %out = array.matmul %hidden, %w_down : tensor<110x72xf32>, tensor<72x48xf32> -> tensor<110x48xf32>
  func.return %out : tensor<110x48xf32>
}

func.func @bilinear(
  %x: tensor<110x48xf32>,
  %w_gate: tensor<48x72xf32>,
  %w_up: tensor<48x72xf32>,
  %w_down: tensor<72x48xf32>
) -> tensor<110x48xf32> {
  %gate = array.matmul %x, %w_gate : tensor<110x48xf32>, tensor<48x72xf32> -> tensor<110x72xf32>
  %up = array.matmul %x, %w_up : tensor<110x48xf32>, tensor<48x72xf32> -> tensor<110x72xf32>
  %hidden = array.elementwise (%g = %gate, %u = %up)
    : tensor<110x72xf32>, tensor<110x72xf32> -> tensor<110x72xf32> {
    %product = arith.mulf %g, %u : f32
    array.yield %product : f32
  }
  %out = array.matmul %hidden, %w_down : tensor<110x72xf32>, tensor<72x48xf32> -> tensor<110x48xf32>
  func.return %out : tensor<110x48xf32>
}

func.func @reglu(
  %x: tensor<110x48xf32>,
  %w_gate: tensor<48x72xf32>,
  %w_up: tensor<48x72xf32>,
  %w_down: tensor<72x48xf32>
) -> tensor<110x48xf32> {
  %gate = array.matmul %x, %w_gate : tensor<110x48xf32>, tensor<48x72xf32> -> tensor<110x72xf32>
  %up = array.matmul %x, %w_up : tensor<110x48xf32>, tensor<48x72xf32> -> tensor<110x72xf32>
  %opened = array.relu %gate : tensor<110x72xf32>
  %hidden = array.elementwise (%g = %opened, %u = %up)
    : tensor<110x72xf32>, tensor<110x72xf32> -> tensor<110x72xf32> {
    %product = arith.mulf %g, %u : f32
    array.yield %product : f32
  }
  %out = array.matmul %hidden, %w_down : tensor<110x72xf32>, tensor<72x48xf32> -> tensor<110x48xf32>
  func.return %out : tensor<110x48xf32>
}

func.func @geglu(
  %x: tensor<110x48xf32>,
  %w_gate: tensor<48x72xf32>,
  %w_up: tensor<48x72xf32>,
  %w_down: tensor<72x48xf32>
) -> tensor<110x48xf32> {
  %gate = array.matmul %x, %w_gate : tensor<110x48xf32>, tensor<48x72xf32> -> tensor<110x72xf32>
  %up = array.matmul %x, %w_up : tensor<110x48xf32>, tensor<48x72xf32> -> tensor<110x72xf32>
  %opened = array.gelu tanh %gate : tensor<110x72xf32>
  %hidden = array.elementwise (%g = %opened, %u = %up)
    : tensor<110x72xf32>, tensor<110x72xf32> -> tensor<110x72xf32> {
    %product = arith.mulf %g, %u : f32
    array.yield %product : f32
  }
  %out = array.matmul %hidden, %w_down : tensor<110x72xf32>, tensor<72x48xf32> -> tensor<110x48xf32>
  func.return %out : tensor<110x48xf32>
}

func.func @swiglu(
  %x: tensor<110x48xf32>,
  %w_gate: tensor<48x72xf32>,
  %w_up: tensor<48x72xf32>,
  %w_down: tensor<72x48xf32>
) -> tensor<110x48xf32> {
  %gate = array.matmul %x, %w_gate : tensor<110x48xf32>, tensor<48x72xf32> -> tensor<110x72xf32>
  %up = array.matmul %x, %w_up : tensor<110x48xf32>, tensor<48x72xf32> -> tensor<110x72xf32>
  %opened = array.silu %gate : tensor<110x72xf32>
  %hidden = array.elementwise (%g = %opened, %u = %up)
    : tensor<110x72xf32>, tensor<110x72xf32> -> tensor<110x72xf32> {
    %product = arith.mulf %g, %u : f32
    array.yield %product : f32
  }
  %out = array.matmul %hidden, %w_down : tensor<110x72xf32>, tensor<72x48xf32> -> tensor<110x48xf32>
  func.return %out : tensor<110x48xf32>
}
