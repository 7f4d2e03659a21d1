// What needs no compiler: the source, and what is refused.

// RUN: bb-run %s --target cpu --source | filecheck %s --check-prefix=SOURCE
// RUN: bb-run %s --target cpu --source --entry copy -p "array-decompose,array-to-block,block-shapes{M=8},block-to-kernel" | filecheck %s --check-prefix=ENTRY
// RUN: not bb-run %s --target cpu 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not bb-run %s --target cpu --source --entry same 2>&1 | filecheck %s --check-prefix=NO-KERNEL
// RUN: not bb-run %s --target cpu --random 0 -p array-decompose 2>&1 | filecheck %s --check-prefix=ARRAYS
// RUN: not bb-run %s --target cpu --random 0 -p array-decompose,array-to-block 2>&1 | filecheck %s --check-prefix=BLOCKS
// RUN: not bb-run %s --target cpu --random 0 -p array-decompose,array-to-block,block-shapes 2>&1 | filecheck %s --check-prefix=SIZED
// RUN: not bb-run %s --target cpu --random 0 --block M=4 2>&1 | filecheck %s --check-prefix=BLOCK
// RUN: not bb-run %s --target cpu --random 0 --block-size 4 2>&1 | filecheck %s --check-prefix=BLOCK-SIZE
// RUN: not bb-run %s --target cpu --random 0 --float64 2>&1 | filecheck %s --check-prefix=FLOAT64
// RUN: not bb-run %s --random 0 --bench 2>&1 | filecheck %s --check-prefix=BENCH
// RUN: not bb-run %s --source 2>&1 | filecheck %s --check-prefix=NOT-CPU
// RUN: not bb-run %s --random 0 --threads 2 2>&1 | filecheck %s --check-prefix=THREADS
// RUN: not bb-run %s --random 0 --no-cache 2>&1 | filecheck %s --check-prefix=CACHE
// RUN: not bb-run %s --target cpu --source --random 0 2>&1 | filecheck %s --check-prefix=NOTHING-RUNS
// RUN: not bb-run %s --target cpu --random 0 --threads 0 2>&1 | filecheck %s --check-prefix=NO-THREADS
// RUN: not bb-run %s --target cpu --random 0 --threads 5000 2>&1 | filecheck %s --check-prefix=MANY
// RUN: not bb-run %s --random 0 --profile 2>&1 | filecheck %s --check-prefix=PROFILE
// RUN: not bb-run %s --random 0 --roofline roof.png 2>&1 | filecheck %s --check-prefix=ROOFLINE
// RUN: not bb-run %s --target cpu --random 0 --profile-json p.json 2>&1 | filecheck %s --check-prefix=JSON
// RUN: not bb-run %s --target cpu --random 0 --bench --roofline roof.png 2>&1 | filecheck %s --check-prefix=NO-PROFILE
// RUN: not bb-run %s --target cpu --random 0 --profile --roofline roof.jpg 2>&1 | filecheck %s --check-prefix=FORMAT
// RUN: not bb-run %s --target cpu --source --profile 2>&1 | filecheck %s --check-prefix=SOURCE-PROFILE

// SOURCE: // kernel copy_kernel1
// SOURCE: Mblock = 64,
// SOURCE: // kernel twice_kernel1
// ENTRY: Mblock = 8,
// ENTRY-NOT: twice_kernel1

// MISSING: bb-run: error: 'copy' needs arrays for x: give each as --input NAME=FILE.npy, or make those that are missing with --random SEED
// NO-KERNEL: bb-run: error: there is no source to print: nothing of the program becomes a kernel
// ARRAYS: bb-run: error: the passes leave @copy a program on arrays, but the target cpu runs kernels: array-to-block, block-shapes and block-to-kernel are missing at the end
// BLOCKS: bb-run: error: the passes leave @copy a program on blocks, but the target cpu runs kernels: block-shapes and block-to-kernel are missing at the end
// SIZED: bb-run: error: the passes leave @copy a program on blocks, but the target cpu runs kernels: block-to-kernel is missing at the end
// BLOCK: bb-run: error: --block belongs to the target interpreter, not to cpu; block sizes are set by block-shapes{M=64} in -p
// BLOCK-SIZE: bb-run: error: --block-size belongs to the target interpreter, not to cpu; block sizes are set by block-shapes{M=64} in -p
// FLOAT64: bb-run: error: --float64 belongs to the target interpreter, not to cpu
// BENCH: bb-run: error: --bench belongs to the target cpu, not to interpreter
// NOT-CPU: bb-run: error: --source belongs to the targets cpu, cuda and emulator, not to interpreter
// THREADS: bb-run: error: --threads belongs to the target cpu, not to interpreter
// CACHE: bb-run: error: --no-cache belongs to the targets cpu, cuda and emulator, not to interpreter
// NOTHING-RUNS: bb-run: error: --source prints the source and runs nothing: --random has no meaning with it
// NO-THREADS: bb-run: error: argument --threads: takes a positive integer, not '0'; --help lists the options
// PROFILE: bb-run: error: --profile belongs to the target cpu, not to interpreter
// ROOFLINE: bb-run: error: --roofline belongs to the target cpu, not to interpreter
// JSON: bb-run: error: --profile-json writes a profile, so it needs --profile
// NO-PROFILE: bb-run: error: --roofline writes a profile, so it needs --profile
// FORMAT: bb-run: error: --roofline writes files that end in .png, .svg, .pdf, not 'roof.jpg'
// SOURCE-PROFILE: bb-run: error: --source prints the source and runs nothing: --profile has no meaning with it
// MANY: bb-run: error: the number of threads is 5000, expected 1 to 4096
func.func @copy(%x: tensor<100xf32> {bb.dims = ["M"]}) -> tensor<100xf32> {
  %y = array.elementwise (%a = %x) : tensor<100xf32> -> tensor<100xf32> {
    array.yield %a : f32
  }
  func.return %y : tensor<100xf32>
}
func.func @twice(%x: tensor<100x4xf32>) -> tensor<100x4xf32> {
  %y = array.elementwise (%a = %x) : tensor<100x4xf32> -> tensor<100x4xf32> {
    %0 = arith.addf %a, %a : f32
    array.yield %0 : f32
  }
  func.return %y : tensor<100x4xf32>
}
func.func @same(%x: tensor<3xf32>) -> tensor<3xf32> {
  func.return %x : tensor<3xf32>
}
