// RUN: sed 's/f32/bf16/g' %p/../../../../examples/attention.mlir | bb-opt --pipeline cuda | filecheck %s --check-prefix=WARPS
// RUN: sed 's/f32/bf16/g' %p/../../../../examples/attention.mlir | bb-opt --pipeline cuda --stop-after kernel-fuse-sweeps | bb-opt -p "kernel-place-cuda{form=general threads=64}" | filecheck %s --check-prefix=GENERAL
// RUN: bb-opt %p/../../../../examples/attention.mlir --pipeline cuda | filecheck %s --check-prefix=F32
// RUN: bb-opt %p/../../../../examples/attention.mlir --pipeline cuda --stop-after block-fuse-elementwise | bb-opt -p "block-to-kernel{lanes=cols multiply=tf32},kernel-fuse-sweeps,kernel-place-cuda" | filecheck %s --check-prefix=TF32
// RUN: sed 's/f32/f64/g' %p/../../../../examples/attention.mlir | bb-opt --pipeline cuda | filecheck %s --check-prefix=F64
// RUN: bb-opt %p/../../../../examples/softmax.mlir --pipeline cuda | filecheck %s --check-prefix=ROWS
// RUN: bb-opt %p/../../../../examples/softmax.mlir --pipeline cuda | bb-opt -p kernel-place-cuda | filecheck %s --check-prefix=ROWS
// RUN: not bb-opt %s -p "kernel-place-cuda{form=fast}" 2>&1 | filecheck %s --check-prefix=FORM
// RUN: not bb-opt %s -p "kernel-place-cuda{threads=48}" 2>&1 | filecheck %s --check-prefix=THREADS
// RUN: not bb-opt %s -p "kernel-place-cuda{shared-memory=400000}" 2>&1 | filecheck %s --check-prefix=SHARED

// Rows of computed tiles in registers; Q is fetched once, K and V in stages; loops are not shared out.
// WARPS: kernel.parallel @M attributes {threads = 128 : i64, warps = 4 : i64} {
// WARPS: %q_1 = kernel.tile {swizzled, offset = 0 : i64} : !kernel.tile<M x K x bf16, shared, lanes = cols>
// WARPS: kernel.tile {swizzled, stages = 2 : i64, offset = {{.*}}} : !kernel.tile<N x K x bf16, shared, lanes = cols>
// WARPS: kernel.tile {swizzled, stages = 2 : i64, offset = {{.*}}} : !kernel.tile<L x N x bf16, shared, lanes = rows>
// WARPS: %scores = kernel.tile : !kernel.tile<M x N x f32, register, lanes = cols>
// WARPS: kernel.load %q_1, %q_2 {async}
// WARPS: kernel.for @N attributes {stages = 2 : i64} {
// WARPS: kernel.load %{{.*}} {async}
// WARPS: kernel.contract %scores, %q_1, %k_1 multiply bf16
// WARPS: kernel.contract %out_1, %exp, %v_1 scale %top_1 multiply bf16
// WARPS-NOT: merge

// In f32 the same: it is multiplied exactly by default, and in tf32 where that is said.
// F32: kernel.parallel @M attributes {threads = 128 : i64, warps = 4 : i64} {
// F32: kernel.tile {swizzled, stages = 2 : i64, offset = {{.*}}} : !kernel.tile<N x K x f32, shared, lanes = cols>
// F32: kernel.load %{{.*}} {async}
// F32: kernel.contract %scores, %q_1, %k_1 :
// F32: kernel.contract %out_1, %scores, %v_1 scale %top_1 :
// TF32: kernel.parallel @M attributes {threads = 128 : i64, warps = 4 : i64} {
// TF32: kernel.contract %scores, %q_1, %k_1 multiply tf32 :
// TF32: kernel.contract %out_1, %scores, %v_1 scale %top_1 multiply tf32 :

// F64: kernel.parallel @M attributes {threads = 128 : i64} {
// F64: %scores = kernel.tile {offset = {{.*}}} : !kernel.tile<M x N x f64, shared, lanes = cols>

// GENERAL: kernel.parallel @M attributes {threads = 64 : i64} {
// GENERAL: %scores = kernel.tile {offset = {{.*}}} : !kernel.tile<M x N x f32, shared, lanes = cols>

// ROWS: kernel.parallel @M attributes {threads = 128 : i64, group = 32 : i64} {
// ROWS-NEXT: %x_1 = kernel.tile : !kernel.tile<M x N x f32, register, lanes = cols>

// FORM: option 'form' must be auto or general, got 'fast'
// THREADS: option 'threads' must be a multiple of 32 up to 1024, got 48
// SHARED: option 'shared-memory' must be a number of bytes up to 232448, got 400000
