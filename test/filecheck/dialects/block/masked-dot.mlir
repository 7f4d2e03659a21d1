// RUN: bb-opt %s | bb-opt | filecheck %s
// RUN: bb-opt %s --print-op-generic | bb-opt | filecheck %s

// CHECK-LABEL: func.func @masked
func.func @masked(%a: !block.block<M x K x bf16>, %b: !block.block<N x K x bf16>, %c: !block.block<M x K x i1>, %d: !block.block<N x K x i1>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // CHECK: %x = block.dot %a, %b keeps %c acc f32 : !block.block<M x K x bf16>, !block.block<N x K x bf16>, !block.block<M x K x i1>
  %x = block.dot %a, %b keeps %c acc f32 : !block.block<M x K x bf16>, !block.block<N x K x bf16>, !block.block<M x K x i1>
  // CHECK: %y = block.dot %a, %b keeps %d acc bf16 {note} : !block.block<M x K x bf16>, !block.block<N x K x bf16>, !block.block<N x K x i1>
  %y = block.dot %a, %b keeps %d acc bf16 {note} : !block.block<M x K x bf16>, !block.block<N x K x bf16>, !block.block<N x K x i1>
  func.return
}
