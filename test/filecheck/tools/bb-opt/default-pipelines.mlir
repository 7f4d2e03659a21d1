// RUN: bb-opt --list-pipelines | filecheck %s --check-prefix=LIST
// RUN: bb-opt %s --pipeline cpu | filecheck %s --check-prefix=KERNELS
// RUN: bb-opt %s --pipeline cpu --stop-after array-to-block | filecheck %s --check-prefix=BLOCKS
// RUN: bb-opt %s --pipeline cpu --start-after array-to-block --stop-after block-shapes | filecheck %s --check-prefix=ARRAYS
// RUN: bb-opt %s --pipeline cpu > %t.whole
// RUN: bb-opt %s --pipeline cpu --stop-after block-fuse | bb-opt --pipeline cpu --start-after block-fuse > %t.pieces
// RUN: diff %t.whole %t.pieces
// RUN: bb-opt %s -p array-decompose,array-to-block,cse --stop-after array-decompose | filecheck %s --check-prefix=OWN
// RUN: not bb-opt %s --pipeline gpu 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not bb-opt %s --pipeline cpu -p cse 2>&1 | filecheck %s --check-prefix=TWO
// RUN: not bb-opt %s -p cse,dce --stop-after canonicalize 2>&1 | filecheck %s --check-prefix=ABSENT
// RUN: not bb-opt %s -p cse,dce,cse --start-after cse 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not bb-opt %s --stop-after cse 2>&1 | filecheck %s --check-prefix=EMPTY
// RUN: not bb-opt %s --pipeline cpu --start-after kernel-hoist --stop-after block-fuse 2>&1 | filecheck %s --check-prefix=ORDER

//      LIST: {{^}}cpu          From arrays to kernels for the CPU
// LIST-NEXT: {{^}}             array-decompose,{{.*}}block-fuse{{.*}},block-to-kernel
// LIST-NEXT: {{^}}cpu-unfused  The same without fusion: every operator a kernel of its own.
// LIST-NEXT: {{^}}             array-decompose,array-to-block,block-shapes,block-to-kernel

// KERNELS: kernel.func @softmax_kernel1
// KERNELS: kernel.launch @softmax_kernel1
// BLOCKS:  block.partition
// ARRAYS:  array.softmax
// OWN-NOT: array.softmax
// OWN:     array.reduce

// NAME: bb-opt: error: there is no pipeline 'gpu'; did you mean 'cpu'?
// TWO: bb-opt: error: -p and --pipeline both say which passes to run; give one
// ABSENT: bb-opt: error: pass 'canonicalize' does not occur in the pipeline; its passes are: cse, dce
// TWICE: bb-opt: error: pass 'cse' occurs 2 times in the pipeline; its passes are: cse, dce, cse
// EMPTY: bb-opt: error: pass 'cse' does not occur in the pipeline; its passes are: none
// ORDER: bb-opt: error: pass 'block-fuse' does not occur in the pipeline; its passes are: kernel-scale-operands, kernel-fuse-sweeps
func.func @softmax(%x: tensor<30x20xf32>) -> tensor<30x20xf32> {
  %y = array.softmax %x axis 1 : tensor<30x20xf32>
  func.return %y : tensor<30x20xf32>
}
