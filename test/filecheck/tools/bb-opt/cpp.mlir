// RUN: bb-opt %s --pipeline cpu -t cpp | filecheck %s
// RUN: bb-opt %s --pipeline cpu-unfused -t cpp | filecheck %s --check-prefix=UNFUSED
// RUN: not bb-opt %s -t cpp 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not bb-opt %s --pipeline cpu -t cpp --pseudo-code 2>&1 | filecheck %s --check-prefix=FORMS
// RUN: not bb-opt %s --pipeline cpu -t cpp --explain 2>&1 | filecheck %s --check-prefix=EXPLAIN

//      CHECK: #include <bb/cpu.hpp>
// CHECK-NEXT: #include <bb/kernel.hpp>
//      CHECK: // kernel softmax_kernel1
// CHECK-NEXT: extern "C" BB_EXPORT int bbk_softmax_kernel1(const bb::Array* arrays, const bb::idx* extents, int threads) {
//      CHECK:   // at {{.*}}cpp.mlir:{{\d+:\d+}}
//  CHECK-NOT: // kernel

// UNFUSED: // kernel softmax_kernel1
// UNFUSED: // kernel softmax_kernel2
// UNFUSED: // kernel softmax_kernel5

// NONE: cpp.mlir: error: the program has no kernels to print as C++; block-to-kernel, or --pipeline cpu, makes them
// FORMS: bb-opt: error: -t cpp and --pseudo-code are two forms of output; ask for one
// EXPLAIN: bb-opt: error: -t cpp and --explain are two forms of output; ask for one
func.func @softmax(%x: tensor<30x20xf32>) -> tensor<30x20xf32> {
  %y = array.softmax %x axis 1 : tensor<30x20xf32>
  func.return %y : tensor<30x20xf32>
}
