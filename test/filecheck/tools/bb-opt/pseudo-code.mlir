// RUN: bb-opt %s --pseudo-code | filecheck %s --strict-whitespace --match-full-lines
// RUN: bb-opt %s -p array-to-block --pseudo-code | filecheck %s --check-prefix=BLOCKS --strict-whitespace --match-full-lines
// RUN: bb-opt %s -p array-to-block,cse --pseudo-code --print-between-passes 2>&1 | filecheck %s --check-prefix=BETWEEN
// RUN: bb-opt %s --split-input-file --pseudo-code | filecheck %s

// All functions of a program, with a blank line between them.

//       CHECK:double(x[4, 6]) -> y[4, 6]
// CHECK-EMPTY:
//  CHECK-NEXT:y = 2 * x
// CHECK-EMPTY:
//  CHECK-NEXT:maximum(x[4, 6]) -> y[4]
// CHECK-EMPTY:
//  CHECK-NEXT:y = max(x, axes=[1])

//       BLOCKS:double(x[M, N]) -> y[M, N]
//  BLOCKS-NEXT:    where M = 4, N = 6
// BLOCKS-EMPTY:
//  BLOCKS-NEXT:forall m in M, n in N:
//  BLOCKS-NEXT:    store y[m, n] = 2 * load x[m, n]
// BLOCKS-EMPTY:
//  BLOCKS-NEXT:maximum(x[M, N]) -> y[M]
//  BLOCKS-NEXT:    where M = 4, N = 6
// BLOCKS-EMPTY:
//  BLOCKS-NEXT:forall m in M:
//  BLOCKS-NEXT:    forall n in N:
//  BLOCKS-NEXT:        store Parts[n] = row_max(load x[m, n])
//  BLOCKS-NEXT:    store y[m] = max over n in N of load Parts[n]

// BETWEEN: // IR after 'array-to-block', before 'cse':
// BETWEEN-NEXT: double(x[M, N]) -> y[M, N]

func.func @double(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %y = array.elementwise (%p = %x) : tensor<4x6xf32> -> tensor<4x6xf32> {
    %two = arith.constant 2.0 : f32
    %0 = arith.mulf %p, %two : f32
    array.yield %0 : f32
  }
  func.return %y : tensor<4x6xf32>
}

func.func @maximum(%x: tensor<4x6xf32>) -> tensor<4xf32> {
  %y = array.reduce max %x axes [1] : tensor<4x6xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
