// RUN: bb-opt %s --split-input-file -p "array-decompose,array-to-block,block-fuse,block-stabilize" --pseudo-code | filecheck %s
// RUN: bb-opt %s --split-input-file -p "array-decompose,array-to-block,block-fuse{whole=N},block-stabilize" --pseudo-code | filecheck %s --check-prefix WHOLE

// In one whole block, the softmax keeps its own maximum, and gets no second one; a row of -inf gives 0.
//       WHOLE:softmax(x[M, N]) -> probs[M, N]
//       WHOLE:forall m in M:
//  WHOLE-NEXT:    x     = load x[m, N]
//  WHOLE-NEXT:    top   = row_max(x)
//  WHOLE-NEXT:    e     = exp(row_shift(x, -where(top == -inf, 0, top)))
//  WHOLE-NEXT:    total = row_sum(e)
//  WHOLE-NEXT:    store probs[m, N] = row_scale(e, where(total == 0, 0, 1 / total))
func.func @softmax(%x: tensor<10x9xf32>) -> tensor<10x9xf32> {
  %probs = array.softmax %x axis 1 : tensor<10x9xf32>
  func.return %probs : tensor<10x9xf32>
}

// -----

// So does a maximum that a loop of its own has found.
//       CHECK:softmax_of_a_vector(x[N]) -> probs[N]
//       CHECK:top = -inf
//  CHECK-NEXT:for n in N:
//  CHECK-NEXT:    top = max(top, row_max(load x[n]))
//  CHECK-NEXT:total = 0
//  CHECK-NEXT:for n in N:
//   CHECK-NOT:row_max
//       CHECK:    total += row_sum(exp(load x[n] - where(top == -inf, 0, top)))
//       CHECK: * where(total == 0, 0, 1 / total)
//       WHOLE:softmax_of_a_vector(
func.func @softmax_of_a_vector(%x: tensor<9xf32> {bb.dims = ["N"]}) -> tensor<9xf32> {
  %probs = array.softmax %x axis 0 : tensor<9xf32>
  func.return %probs : tensor<9xf32>
}

// -----

// An exponential in a sigmoid saturates as it should: nothing changes.
//       CHECK:gates(x[N, M]) -> (silu[N, M], sigmoid[N, M])
//       CHECK:forall n in N, m in M:
//  CHECK-NEXT:    x = load x[n, m]
//  CHECK-NEXT:    div = sigmoid(x)
//   CHECK-NOT:row_max
//       CHECK:    store silu[n, m] = x * div
//       WHOLE:gates(
func.func @gates(%x: tensor<10x9xf32> {bb.dims = ["N", "M"]}) -> (tensor<10x9xf32>, tensor<10x9xf32>) {
  %silu = array.silu %x : tensor<10x9xf32>
  %sigmoid = array.sigmoid %x : tensor<10x9xf32>
  func.return %silu, %sigmoid : tensor<10x9xf32>, tensor<10x9xf32>
}
