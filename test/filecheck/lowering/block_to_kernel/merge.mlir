// RUN: bb-opt %s --pipeline cpu | filecheck %s
// RUN: bb-opt %s --pipeline cpu | bb-opt | filecheck %s

// Two parts of the keys: the maximum of both, and what either has summed, faded to it.
// CHECK-LABEL: kernel.func @decode_kernel1(
// CHECK:         kernel.for @N {
// CHECK:           kernel.contract %[[OUT:[a-z_0-9]+]], %{{.*}}, %{{.*}} scale
// CHECK-NEXT:    } merge (%[[TOP2:[a-z_0-9]+]] = %[[TOP:[a-z_0-9]+]], %[[SUM2:[a-z_0-9]+]] = %[[SUM:[a-z_0-9]+]], %[[OUT2:[a-z_0-9]+]] = %[[OUT]]) :
// CHECK-NEXT:      %[[FADE:[a-z_0-9]+]] = kernel.tile : !kernel.tile<M x f32, scratch>
// CHECK-NEXT:      %[[UNIT:[a-z_0-9]+]] = kernel.tile : !kernel.tile<M x f32, scratch>
// CHECK-NEXT:      kernel.sweep [M] (%{{.*}} = %[[TOP]], %{{.*}} = %[[TOP2]], %{{.*}} = %[[SUM]], %{{.*}} = %[[SUM2]]) -> (each %[[TOP]], each %[[FADE]], each %[[UNIT]], each %[[SUM]])
// CHECK:           kernel.sweep [M, L] (%{{.*}} = %[[OUT]], %{{.*}} = %[[OUT2]], %{{.*}} = %[[FADE]], %{{.*}} = %[[UNIT]]) -> (each %[[OUT]])
// CHECK-NEXT:        %[[KEPT:[a-z_0-9]+]] = arith.mulf
// CHECK-NEXT:        %[[NEW:[a-z_0-9]+]] = arith.mulf
// CHECK-NEXT:        arith.addf %[[KEPT]], %[[NEW]]
func.func @decode(%q: tensor<1x64xf32>, %k: tensor<?x64xf32>, %v: tensor<?x64xf32>) -> tensor<1x64xf32> {
  %out = array.attention %q, %k, %v : tensor<1x64xf32>, tensor<?x64xf32>, tensor<?x64xf32> -> tensor<1x64xf32>
  func.return %out : tensor<1x64xf32>
}

// Sums and extremes.
// CHECK-LABEL: kernel.func @product_kernel1(
// CHECK:         kernel.contract accumulate %[[ACC:[a-z_0-9]+]], %
// CHECK-NEXT:    } merge (%[[OTHER:[a-z_0-9]+]] = %[[ACC]]) :
// CHECK-NEXT:      kernel.sweep [M, N] (%{{.*}} = %[[ACC]], %{{.*}} = %[[OTHER]]) -> (each %[[ACC]])
// CHECK-NEXT:        arith.addf
func.func @product(%x: tensor<64x1024xf32>, %w: tensor<1024x64xf32>) -> tensor<64x64xf32> {
  %out = array.matmul %x, %w : tensor<64x1024xf32>, tensor<1024x64xf32> -> tensor<64x64xf32>
  func.return %out : tensor<64x64xf32>
}
// CHECK-LABEL: kernel.func @smallest_kernel1(
// CHECK:         } merge (%[[OTHER:[a-z_0-9]+]] = %[[LEAST:[a-z_0-9]+]]) :
// CHECK-NEXT:      kernel.sweep [M] (%{{.*}} = %[[LEAST]], %{{.*}} = %[[OTHER]]) -> (each %[[LEAST]])
// CHECK-NEXT:        arith.minimumf
func.func @smallest(%x: tensor<3x100000xf32>) -> tensor<3xf32> {
  %out = array.reduce min %x axes [1] : tensor<3x100000xf32> -> tensor<3xf32>
  func.return %out : tensor<3xf32>
}

// Iterations that only write blocks of their own have nothing to unite. Those of an inner loop are not shared out.
// CHECK-LABEL: kernel.func @norm_kernel1(
// CHECK:         } merge (%{{.*}} = %{{.*}}) :
// CHECK:         kernel.for @N {
// CHECK:           kernel.store
// CHECK-NEXT:    } merge () {
// CHECK-NEXT:    }
func.func @norm(%x: tensor<1x100000xf32>, %g: tensor<100000xf32>) -> tensor<1x100000xf32> {
  %out = array.rms_norm %x scale(%g : tensor<100000xf32>) eps 1.0e-6 : tensor<1x100000xf32>
  func.return %out : tensor<1x100000xf32>
}
// CHECK-LABEL: kernel.func @total_kernel1(
// CHECK:         kernel.for @M {
// CHECK-NEXT:      kernel.for @N {
// CHECK:         } merge (%{{.*}} = %{{.*}}) : !kernel.tile<f32, scratch> {
func.func @total(%x: tensor<1024x1024xf32>) -> tensor<f32> {
  %out = array.reduce sum %x axes [0, 1] : tensor<1024x1024xf32> -> tensor<f32>
  func.return %out : tensor<f32>
}
