// Two gated feed-forward layers, each normalised first.

func.func @ffn_chain(
  %x: tensor<10x6xf32>,
  %gate_0: tensor<6x9xf32>, %up_0: tensor<6x9xf32>, %down_0: tensor<9x6xf32>,
  %gate_1: tensor<6x9xf32>, %up_1: tensor<6x9xf32>, %down_1: tensor<9x6xf32>
) -> tensor<10x6xf32> {
  %normed_0 = array.rms_norm %x eps 1.000000e-06 : tensor<10x6xf32>
  %g_0 = array.matmul %normed_0, %gate_0 : tensor<10x6xf32>, tensor<6x9xf32> -> tensor<10x9xf32>
  %u_0 = array.matmul %normed_0, %up_0 : tensor<10x6xf32>, tensor<6x9xf32> -> tensor<10x9xf32>
  %opened_0 = array.silu %g_0 : tensor<10x9xf32>
  %hidden_0 = array.elementwise (%a = %opened_0, %b = %u_0)
    : tensor<10x9xf32>, tensor<10x9xf32> -> tensor<10x9xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %y = array.matmul %hidden_0, %down_0 : tensor<10x9xf32>, tensor<9x6xf32> -> tensor<10x6xf32>

  %normed_1 = array.rms_norm %y eps 1.000000e-06 : tensor<10x6xf32>
  %g_1 = array.matmul %normed_1, %gate_1 : tensor<10x6xf32>, tensor<6x9xf32> -> tensor<10x9xf32>
  %u_1 = array.matmul %normed_1, %up_1 : tensor<10x6xf32>, tensor<6x9xf32> -> tensor<10x9xf32>
  %opened_1 = array.silu %g_1 : tensor<10x9xf32>
  %hidden_1 = array.elementwise (%a = %opened_1, %b = %u_1)
    : tensor<10x9xf32>, tensor<10x9xf32> -> tensor<10x9xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  %out = array.matmul %hidden_1, %down_1 : tensor<10x9xf32>, tensor<9x6xf32> -> tensor<10x6xf32>
  func.return %out : tensor<10x6xf32>
}
