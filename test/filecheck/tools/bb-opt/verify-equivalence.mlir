// RUN: bb-opt %s -p array-decompose,array-to-block,block-fuse --verify-equivalence=%s 2>&1 | filecheck %s
// RUN: bb-opt %s -p "array-decompose,array-to-block,block-fuse{snapshot=all}" --verify-equivalence=%s -o %t 2>&1 | filecheck %s --check-prefix=ALL
// RUN: sed "s/arith.subf/arith.addf/" %s > %t.sign && not bb-opt %s --verify-equivalence=%t.sign -o %t 2>&1 | filecheck %s --check-prefix=SIGN
// RUN: sed "s/@shifted/@other/" %s > %t.name && not bb-opt %s --verify-equivalence=%t.name -o %t 2>&1 | filecheck %s --check-prefix=NAME
// RUN: sed "s/tensor</tensr</" %s > %t.bad && not bb-opt %s --verify-equivalence=%t.bad 2>&1 | filecheck %s --check-prefix=BAD
// RUN: not bb-opt %s --verify-equivalence=%t.none 2>&1 | filecheck %s --check-prefix=NONE

// The program itself goes to standard output, verdicts go to standard error.
// CHECK-DAG: 'softmax' and 'softmax' of '{{.*}}verify-equivalence.mlir': equal, with an error probability of {{[0-9]e-[0-9]+$}}
// CHECK-DAG: 'shifted' and 'shifted' of '{{.*}}': equal, {{.*}}; the results depend on which elements maxima and comparisons pick
// CHECK-DAG: builtin.module {

// ALL: 'softmax_snapshot0' and 'softmax' of '{{.*}}': equal
// ALL: 'softmax_snapshot1' and 'softmax' of '{{.*}}': equal
// ALL: 'shifted_snapshot0' and 'shifted' of '{{.*}}': equal

// SIGN:      'softmax' and 'softmax' of '{{.*}}.sign': equal
// SIGN-NEXT: verify-equivalence.mlir: error: 'shifted' and 'shifted' of '{{.*}}.sign': different: result 0 at [0, 0] (54 of 54 elements differ)

// NAME: error: '{{.*}}.name' has no function 'shifted' to compare with; it has softmax, other
// NAME: error: function 'other' of '{{.*}}.name' has no counterpart

// BAD: bb-opt: error: cannot compare with '{{.*}}.bad': {{.*}}.bad:{{[0-9]+}}:{{[0-9]+}}: error: {{.*}}
// NONE: bb-opt: error: {{.*}}verify-equivalence{{.*}}.none

func.func @softmax(%x: tensor<6x9xf32>) -> tensor<6x9xf32> {
  %y = array.softmax %x axis 1 : tensor<6x9xf32>
  func.return %y : tensor<6x9xf32>
}

func.func @shifted(%x: tensor<6x9xf32>) -> tensor<6x9xf32> {
  %max = array.reduce max %x axes [1] keepdims : tensor<6x9xf32> -> tensor<6x1xf32>
  %y = array.elementwise (%a = %x, %b = %max) : tensor<6x9xf32>, tensor<6x1xf32> -> tensor<6x9xf32> {
    %0 = arith.subf %a, %b : f32
    array.yield %0 : f32
  }
  func.return %y : tensor<6x9xf32>
}
