// RUN: bb-opt %s -p array-decompose,array-to-block,block-fuse,block-stabilize --verify-each | filecheck %s
// RUN: bb-opt %s -p "array-decompose,array-to-block,block-fuse{snapshot=all}" --verify-each --verify-seed 5 | filecheck %s --check-prefix=ALL
// RUN: not bb-opt %s -p cse --verify-seed 5 2>&1 | filecheck %s --check-prefix=SEED
// RUN: not bb-opt %s -p cse --verify-each --verify-seed -5 2>&1 | filecheck %s --check-prefix=NUMBER
// RUN: bb-opt %s -p cse --verify-each 2>&1 | filecheck %s --check-prefix=REPORT

// CHECK: func.func @softmax
// CHECK: func.func @scalar
// ALL: func.func @softmax_snapshot0
// ALL: func.func @softmax_snapshot1
// SEED: bb-opt: error: --verify-seed belongs to --verify-each, which is not given
// NUMBER: bb-opt: error: argument --verify-seed: {{.*}}
// REPORT: verify-each.mlir:[[# @LINE + 5]]:1: warning: 'func.func' @scalar is not checked by --verify-each:
func.func @softmax(%x: tensor<10x14xf32>) -> tensor<10x14xf32> {
  %probs = array.softmax %x axis 1 : tensor<10x14xf32>
  func.return %probs : tensor<10x14xf32>
}
func.func @scalar(%a: i32) -> i32 {
  func.return %a : i32
}
