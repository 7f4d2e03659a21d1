// RUN: bb-run %s --random 1 --check --entry norm -p array-decompose,array-to-block --block M=8 --block-size 16 | filecheck %s --check-prefix=NORM
// RUN: bb-run %s --random 1 --check --entry norm --float64 | filecheck %s --check-prefix=EXACT
// RUN: not bb-run %s --random 1 --check --entry cancel 2>&1 | filecheck %s --check-prefix=CANCEL

//      NORM: {{^}}@norm on the interpreter
// NORM-NEXT:   %y: 20x24xbf16, min {{.*}}, mean {{.*}}, max
// NORM-NEXT:   dims: M = 20 in blocks of 8, N = 24 in blocks of 16
// NORM-NEXT:   {{[1-9][0-9,]*}} loads ({{[0-9,]+}} bytes), {{[1-9][0-9,]*}} stores ({{[0-9,]+}} bytes), {{[1-9][0-9,]+}} flops
// NORM-NEXT:   check %y: worst error {{[0-9.e-]+}} absolute, {{[0-9.e-]+}} relative, bound 4.0e-02 (bf16): ok

//      EXACT: {{^}}@norm on the interpreter in float64
//      EXACT:   check %y: worst error 0.0e+00 absolute, 0.0e+00 relative, bound 1.0e-12 (f64): ok
func.func @norm(%x: tensor<20x24xbf16> {bb.dims = ["M", "N"]}) -> tensor<20x24xbf16> {
  %y = array.layer_norm %x eps 1.000000e-05 : tensor<20x24xbf16>
  func.return %y : tensor<20x24xbf16>
}

// (x + 1e6) - 1e6 loses most digits of x in f32.

//      CANCEL: @cancel on the interpreter
//      CANCEL:   check %i: worst error 0.0e+00 absolute, 0.0e+00 relative, must be equal: ok
//      CANCEL:   check %y: worst error {{[0-9.e-]+}} absolute, {{[0-9.e-]+}} relative, bound 1.0e-05 (f32): OUTSIDE
// CANCEL-NEXT: bb-run: error: result %y of @cancel is further from the float64 reference than its bound allows
func.func @cancel(%x: tensor<8xf32>) -> (tensor<4xi64>, tensor<8xf32>) {
  %i = array.iota axis 0 : tensor<4xi64>
  %y = array.elementwise (%a = %x) : tensor<8xf32> -> tensor<8xf32> {
    %big = arith.constant 1.000000e+06 : f32
    %0 = arith.addf %a, %big : f32
    %1 = arith.subf %0, %big : f32
    array.yield %1 : f32
  }
  func.return %i, %y : tensor<4xi64>, tensor<8xf32>
}
