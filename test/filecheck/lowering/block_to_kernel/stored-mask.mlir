// RUN: bb-opt %s -p "array-decompose,array-to-block,block-shapes,block-to-kernel{lanes=cols}" | filecheck %s
// RUN: bb-opt %s -p "array-decompose,array-to-block,block-shapes,block-to-kernel{lanes=rows}" | filecheck %s

// A mask that is an array of its own is loaded into a tile. One sweep puts 0 in place of what it hides, the other
// makes numbers of it.
// CHECK-LABEL: kernel.func @masked_kernel1
//       CHECK: kernel.load %[[MASK:.*]], %{{.*}} : !kernel.tile<M x K x i1, scratch, lanes = {{.*}}>, !kernel.cursor<M x K x i1>
//       CHECK: kernel.sweep [M, K] (%{{.*}} = %[[MASK]], %{{.*}} = %p_1) -> (each %{{.*}})
//       CHECK: kernel.sweep [M, K] (%{{.*}} = %[[MASK]]) -> (each %seen) : {{.*}} attributes {careful}
//       CHECK: kernel.contract %{{.*}}, %{{.*}}, %{{.*}} keeps %seen
func.func @masked(%p: tensor<20x12xf32>, %v: tensor<12x9xf32>, %m: tensor<20x12xi1>) -> tensor<20x9xf32> {
  %o = array.masked_matmul %p, %v keeps (%k = %m) : tensor<20x12xf32>, tensor<12x9xf32>, tensor<20x12xi1> -> tensor<20x9xf32> {
    array.yield %k : i1
  }
  func.return %o : tensor<20x9xf32>
}
