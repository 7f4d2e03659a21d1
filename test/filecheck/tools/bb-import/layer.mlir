// RUN: bb-import %S/Inputs/layer.onnxtxt | filecheck %s
// RUN: bb-import %S/Inputs/layer.onnxtxt --dim batch=3 -o %t.mlir && bb-opt %t.mlir | filecheck %s --check-prefix=FIXED
// RUN: bb-import %S/Inputs/layer.onnxtxt --weights %t.npz -o %t.mlir && bb-run %t.mlir --random 0 --extent batch=2 | filecheck %s --check-prefix=SHAPE
// RUN: not bb-import %S/Inputs/unsupported.onnxtxt 2>&1 | filecheck %s --check-prefix=PROBLEMS
// RUN: not bb-import %S/Inputs/layer.onnxtxt --dim rows=3 2>&1 | filecheck %s --check-prefix=DIM
// RUN: not bb-import %S/Inputs/layer.onnxtxt --weights weights.txt 2>&1 | filecheck %s --check-prefix=WEIGHTS
// RUN: not bb-import %s 2>&1 | filecheck %s --check-prefix=ENDING
// RUN: not bb-import %t.none.onnx 2>&1 | filecheck %s --check-prefix=MISSING

// The shape is that of the product: no operation is left of its arithmetic.

// CHECK:      func.func @main(%x: tensor<?x4xf32> {bb.dims = ["batch", ""]}, %weight: tensor<4x2xf32> {bb.constant}) -> tensor<?x2xf32> {
// CHECK-NEXT:   %0 = array.matmul %x, %weight : tensor<?x4xf32>, tensor<4x2xf32> -> tensor<?x2xf32>
// CHECK-NEXT:   %1 = array.elementwise (%2 = %0) : tensor<?x2xf32> -> tensor<?x2xf32> {
// CHECK-NEXT:     %3 = arith.mulf %2, %2 : f32
// CHECK-NEXT:     array.yield %3 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %1 : tensor<?x2xf32>

// FIXED: func.func @main(%x: tensor<3x4xf32>, %weight: tensor<4x2xf32> {bb.constant}) -> tensor<3x2xf32> {

// SHAPE: 2x2xf32

// PROBLEMS:      bb-import: error: TopK in y: the operator is not supported
// PROBLEMS-NEXT: bb-import: error: com.example.Odd in z: the operator is not supported

// DIM: bb-import: error: {{.*}}layer.onnxtxt has no dim 'rows'; its dims are: batch
// WEIGHTS: bb-import: error: --weights weights.txt: the file's name ends in .npz or .safetensors
// ENDING: bb-import: error: '{{.*}}layer.mlir' does not end in .onnx or .onnxtxt
// MISSING: bb-import: error: {{.*}}.none.onnx cannot be read: No such file or directory
