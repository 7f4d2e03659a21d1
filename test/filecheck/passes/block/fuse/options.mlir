// Two products have two snapshots: the first stores A B, the last repeats it for every block of columns of C.

// RUN: bb-opt %s -p "array-to-block,block-fuse" | filecheck %s --check-prefixes=CHECK,LAST
// RUN: bb-opt %s -p "array-to-block,block-fuse{snapshot=last check=true}" | filecheck %s --check-prefixes=CHECK,LAST
// RUN: bb-opt %s -p "array-to-block,block-fuse{snapshot=1}" | filecheck %s --check-prefixes=CHECK,LAST
// RUN: bb-opt %s -p "array-to-block,block-fuse{snapshot=0}" | filecheck %s --check-prefixes=CHECK,FIRST
// RUN: bb-opt %s -p "array-to-block,block-fuse{extend=false}" | filecheck %s --check-prefixes=CHECK,FIRST
// RUN: bb-opt %s -p "array-to-block,block-fuse{snapshot=best-traffic}" | filecheck %s --check-prefixes=CHECK,FIRST
// RUN: bb-opt %s -p "array-to-block,block-fuse{snapshot=all}" | filecheck %s --check-prefix=ALL
// RUN: bb-opt %s -p "array-to-block,block-fuse{snapshot=all budget=1}" | filecheck %s --check-prefix=ALL
// RUN: bb-opt %s -p "array-to-block,block-fuse{snapshot=all extend=false}" | filecheck %s --check-prefix=ONE
// RUN: bb-opt %s -p "array-to-block,block-fuse{whole=L snapshot=all}" | filecheck %s --check-prefix=WHOLE
// RUN: bb-opt %s -p "array-to-block,block-fuse{whole=M,K,N,L}" | filecheck %s --check-prefix=BLOCK

// CHECK-LABEL: func.func @products(
//  LAST-SAME: bb.snapshot = {number = 1 : i64, path = ["extend the map over N into L"]
// FIRST-SAME: bb.snapshot = {number = 0 : i64, path = []

// CHECK:            = block.map @M
// LAST-NEXT:          block.map @L
// LAST-NEXT:            block.map @N
// LAST-NEXT:              block.map @K
// LAST-COUNT-2:             block.load
// LAST-NEXT:                block.dot
// LAST:                   block.load
// LAST-NEXT:              block.dot
// LAST:                 block.store
// FIRST-NEXT:         block.map @N
// FIRST-NEXT:           block.map @K
// FIRST-COUNT-2:          block.load
// FIRST-NEXT:             block.dot
// FIRST:                block.store
// FIRST:              block.map @L
// FIRST-NEXT:           block.map @N
// FIRST-COUNT-2:          block.load
// FIRST-NEXT:             block.dot
// FIRST:                block.store
// CHECK-NOT:        block.map
// CHECK:          block.assemble

// ALL-LABEL: func.func @products_snapshot0(
// ALL-SAME:      number = 0 : i64, path = [], bytes = [[B:[0-9]+]] : i64, flops = [[F:[0-9]+]] : i64
// ALL-LABEL: func.func @products_snapshot1(
// ALL-SAME:      number = 1 : i64, path = ["extend the map over N into L"], bytes = {{[0-9]+}} : i64
// ALL-NOT:   func.func

// ONE-LABEL: func.func @products_snapshot0(
// ONE-NOT:   func.func

// With all columns of C in one block nothing is repeated, and there is one snapshot.
// WHOLE-LABEL: func.func @products_snapshot0(
// WHOLE-SAME:      L = #block.dim<{{[0-9]+}}, whole>
// WHOLE:           block.map @M
// WHOLE-NEXT:        block.map @N
// WHOLE-NEXT:          block.map @K
// WHOLE-NOT:       block.map
// WHOLE-NOT:   func.func

// BLOCK-LABEL: func.func @products(
// BLOCK-NOT:       block.map
// BLOCK:           %a_1 = block.load %A
// BLOCK-NEXT:      %b_1 = block.load %B
// BLOCK-NEXT:      %ab = block.dot %a_1, %b_1
// BLOCK:           %c_1 = block.load %C
// BLOCK-NEXT:      %out = block.dot %ab, %c_1
// BLOCK-NEXT:      %out_1 = block.store %out
// BLOCK-NOT:       block.map
func.func @products(%a: tensor<130x70xf32>, %b: tensor<70x90xf32>, %c: tensor<90x640xf32>) -> tensor<130x640xf32> {
  %ab = array.matmul %a, %b : tensor<130x70xf32>, tensor<70x90xf32> -> tensor<130x90xf32>
  %out = array.matmul %ab, %c : tensor<130x90xf32>, tensor<90x640xf32> -> tensor<130x640xf32>
  func.return %out : tensor<130x640xf32>
}
