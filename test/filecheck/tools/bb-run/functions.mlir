// RUN: bb-run %s --random 0 | filecheck %s --strict-whitespace
// RUN: bb-run %s --random 0 --entry twice | filecheck %s --check-prefix=ENTRY
// RUN: bb-run %s --random 0 --entry hidden | filecheck %s --check-prefix=HIDDEN
// RUN: bb-run %s --random 0 --entry twice --float64 | filecheck %s --check-prefix=FLOAT64
// RUN: bb-run - --random 0 --entry twice < %s | filecheck %s --check-prefix=ENTRY

// Every public function runs, in the order of the file; private ones on demand.

//      CHECK: {{^}}@twice on the interpreter
// CHECK-NEXT: {{^}}  %double: 2x3xf32, min {{-?[0-9.]+}}, mean {{-?[0-9.]+}}, max {{-?[0-9.]+}}
//      ENTRY: @twice on the interpreter
//  ENTRY-NOT: @
//    FLOAT64: {{^}}@twice on the interpreter in float64
func.func @twice(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %double = func.call @hidden(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %double : tensor<2x3xf32>
}

//  CHECK-NOT: @hidden
//     HIDDEN: @hidden on the interpreter
// HIDDEN-NOT: @
func.func private @hidden(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %sum = array.elementwise (%a = %x) : tensor<2x3xf32> -> tensor<2x3xf32> {
    %0 = arith.addf %a, %a : f32
    array.yield %0 : f32
  }
  func.return %sum : tensor<2x3xf32>
}

// Results are named as the values that are returned, or by position where a name is missing or occurs twice.

//      CHECK: {{^}}@kinds on the interpreter
// CHECK-NEXT: {{^}}  %i: 2xi32, min 3, mean 3.5, max 4
// CHECK-NEXT: {{^}}  %1: 3xi1, {{[0-3]}} of 3 true
// CHECK-NEXT: {{^}}  %2: 3xi1, {{[0-3]}} of 3 true
// CHECK-NEXT: {{^}}  %c: 4xf32, min 0, mean 0, max 0, 1 NaN, 1 infinite
// CHECK-NEXT: {{^}}  %e: f32, min 3, mean 3, max 3
func.func @kinds(%m: tensor<3xi1>) -> (tensor<2xi32>, tensor<3xi1>, tensor<3xi1>, tensor<4xf32>, tensor<f32>) {
  %i = array.constant dense<[3, 4]> : tensor<2xi32>
  %d = array.constant dense<[-1.0, 1.0, 1.0, 0.0]> : tensor<4xf32>
  %c = array.elementwise (%x = %d) : tensor<4xf32> -> tensor<4xf32> {
    %log = math.log %x : f32
    array.yield %log : f32
  }
  %e = array.extent %m axis 0 : tensor<3xi1> -> tensor<f32>
  func.return %i, %m, %m, %c, %e : tensor<2xi32>, tensor<3xi1>, tensor<3xi1>, tensor<4xf32>, tensor<f32>
}
