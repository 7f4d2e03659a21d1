// RUN: bb-opt %s -p 'block-cost{target=sm90}' | filecheck %s --strict-whitespace
// RUN: bb-opt %s -p 'block-cost{target=sm90}' | bb-opt -p cse | filecheck %s --check-prefix=PROGRAM
// RUN: bb-opt %s -p 'block-cost{target=sm90 M=4096}' | filecheck %s --check-prefix=LONGER
// RUN: bb-opt %s -p 'block-shapes{target=sm90 report=true}' | filecheck %s --check-prefix=SHAPES
// RUN: bb-opt %s -p 'block-shapes{target=sm90 N=64}' | filecheck %s --check-prefix=NAMED
// RUN: not bb-opt %s -p 'block-cost{target=sm91}' 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not bb-opt %s -p 'block-cost{target=sm90 Q=4}' 2>&1 | filecheck %s --check-prefix=DIM
// RUN: not bb-opt %s -p 'block-cost{target=sm90 M=none}' 2>&1 | filecheck %s --check-prefix=EXTENT
// RUN: not bb-opt %s -p 'block-cost{target="%t.json"}' 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not bb-opt %s -p 'block-shapes{report=true}' 2>&1 | filecheck %s --check-prefix=REPORT

// TARGET: error: pass 'block-cost': there is no target 'sm91'; did you mean 'sm90'?
// DIM: error: pass 'block-cost': no function has a dim Q; the dims are M, N, K
// EXTENT: bb-opt: error: pass 'block-cost': the extent of dim M must be a positive number, got 'none'
// FILE: error: pass 'block-cost': cannot read the machine '{{.*}}.json': no such file or directory
// REPORT: bb-opt: error: pass 'block-shapes': option 'report' belongs to option 'target', which is not given

//      CHECK: {{^}}// cost of @product on sm90 (132 workers), by the model: M = 1024 in blocks of 64, N = 512 in blocks of 64, K = 256 in blocks of 128
// CHECK-NEXT: {{^}}//  kernel   contract    vector   from shared   from L2   from memory   tiles      tasks   idle   scratch   registers   start     time    bound by
// CHECK-NEXT: {{^}}//  ──{{─+}}
// CHECK-NEXT: {{^}}//  C        268 Mflop   -        -             18.9 MB   -             0.834 us   256     14%    49.2 kB   16.4 kB     5.94 us   10 us   start
// CHECK-NEXT: {{^}}//           0.884 us                           3.43 us
// CHECK-NEXT: {{^}}//  a call                                                                                                              5 us      15 us
// CHECK-NEXT: {{^//$}}
// CHECK-NEXT: {{^}}// contract, vector: operations of contractions and on elements (functions of one count as one),
// CHECK-NEXT: {{^}}//   with the time they take all workers; from TIER: bytes that a tier delivers, with the time it
// CHECK-NEXT: {{^}}//   needs for them (tiers: shared, L2, memory); tiles: time to read, write and fill the blocks of a task
// CHECK-NEXT: {{^}}// tasks: iterations of the parallel loops; idle: how much longer workers take because some wait
// CHECK-NEXT: {{^}}//   for others; scratch: bytes of the blocks of a task; registers: bytes of the sums of its
// CHECK-NEXT: {{^}}//   contractions, at most 197 kB; start: time to launch and to share out; time: the longer of
// CHECK-NEXT: {{^}}//   computing and moving, 10% of the other (10% or more where nothing is contracted),
// CHECK-NEXT: {{^}}//   and start
// CHECK-NEXT: {{^}}// again: contraction flops that repeat others; once: not in every call, but when constants are bound
// PROGRAM-NOT: cost of
// PROGRAM: func.func @product(
// LONGER: {{^}}// cost of @product on sm90 (132 workers), by the model: M = 4096 in blocks of 64,
// SHAPES: {{^}}// block sizes of @product on sm90: M = {{[0-9]+}}
// SHAPES-NEXT: {{^}}//   {{.*}} us by the model; {{[0-9]+}} combinations considered by {{[0-9]+}} evaluations in 0.{{[0-9]+}} s
// SHAPES: block.dims = {M = #block.dim<1024, block = {{[0-9]+}}>, N = #block.dim<512, block = 64>, K = #block.dim<256, block = 128>}
// NAMED: N = #block.dim<512, block = 64>

func.func @product(%a: tensor<1024x256xf32>, %b: tensor<512x256xf32>) -> tensor<1024x512xf32>
    attributes {block.dims = {M = #block.dim<1024>, N = #block.dim<512, block = 64>, K = #block.dim<256, block = 128>}} {
  %A = block.partition %a [M, K] : tensor<1024x256xf32> -> !block.list<M, K, block<M x K x f32>>
  %B = block.partition %b [N, K] : tensor<512x256xf32> -> !block.list<N, K, block<N x K x f32>>
  %C = block.map @M (%A_m = %A) -> (stack) : !block.list<M, K, block<M x K x f32>> {
    %C_m = block.map @N (%B_n = %B) -> (stack) : !block.list<N, K, block<N x K x f32>> {
      %c = block.map @K (%A_mk = %A_m, %B_nk = %B_n) -> (sum) : !block.list<K, block<M x K x f32>>, !block.list<K, block<N x K x f32>> {
        %x = block.load %A_mk : !block.block<M x K x f32, global>
        %y = block.load %B_nk : !block.block<N x K x f32, global>
        %xy = block.dot %x, %y acc f32 : !block.block<M x K x f32>, !block.block<N x K x f32>
        block.yield %xy : !block.block<M x N x f32>
      }
      %stored = block.store %c : !block.block<M x N x f32>
      block.yield %stored : !block.block<M x N x f32, global>
    }
    block.yield %C_m : !block.list<N, block<M x N x f32>>
  }
  %c = block.assemble %C [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<1024x512xf32>
  func.return %c : tensor<1024x512xf32>
}
