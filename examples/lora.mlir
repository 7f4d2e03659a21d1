// A linear layer with a low-rank adapter (LoRA), scaled by alpha / R = 2:
//
//   out = x w + 2 (x a) b
//
//   x [M, K]    M rows of K features
//   w [K, N]    the frozen weight
//   a [K, R]    b [R, N]    the adapter, of rank R

func.func @lora(
  %x: tensor<120x64xf32>,
  %w: tensor<64x80xf32>,
  %a: tensor<64x8xf32>,
  %b: tensor<8x80xf32>
) -> tensor<120x80xf32> {
  %base = array.matmul %x, %w : tensor<120x64xf32>, tensor<64x80xf32> -> tensor<120x80xf32>
  %down = array.matmul %x, %a : tensor<120x64xf32>, tensor<64x8xf32> -> tensor<120x8xf32>
  %up = array.matmul %down, %b : tensor<120x8xf32>, tensor<8x80xf32> -> tensor<120x80xf32>
  %out = array.elementwise (%y = %base, %z = %up)
    : tensor<120x80xf32>, tensor<120x80xf32> -> tensor<120x80xf32> {
    %alpha = arith.constant 2.000000e+00 : f32
    %scaled = arith.mulf %z, %alpha : f32
    %sum = arith.addf %y, %scaled : f32
    array.yield %sum : f32
  }
  func.return %out : tensor<120x80xf32>
}
