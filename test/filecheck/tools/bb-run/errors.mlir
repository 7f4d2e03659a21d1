// RUN: not bb-run %s --random 0 --extent M=4 2>&1 | filecheck %s --check-prefix=CUSTOM
// RUN: not bb-run %s 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not bb-run %s --random 0 2>&1 | filecheck %s --check-prefix=EXTENT
// RUN: not bb-run %s --random 0 --extent K=4 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not bb-run %s --random 0 --extent M=no 2>&1 | filecheck %s --check-prefix=SIZE
// RUN: not bb-run %s --random 0 --entry g 2>&1 | filecheck %s --check-prefix=ENTRY
// RUN: not bb-run %s --random 0 --target cuda 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not bb-run %s --random 0 --target tpu 2>&1 | filecheck %s --check-prefix=NO-TARGET
// RUN: not bb-run %s --random 0 --extent M=4 --block M=2 2>&1 | filecheck %s --check-prefix=BLOCK
// RUN: not bb-run %s --input z=z.npy 2>&1 | filecheck %s --check-prefix=INPUT
// RUN: not bb-run %s --input x=%t.none.npy 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not bb-run %s --input x=%s 2>&1 | filecheck %s --check-prefix=NPY
// RUN: not bb-run %s --input x 2>&1 | filecheck %s --check-prefix=PAIR
// RUN: not bb-run %s --random 0 -p csee 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not bb-run %t.none.mlir --random 0 2>&1 | filecheck %s --check-prefix=PROGRAM

// MISSING: bb-run: error: 'f' needs arrays for x: give each as --input NAME=FILE.npy, or make those that are missing with --random SEED
// EXTENT: bb-run: error: axis 0 of argument %x of 'f' has an unknown extent; give it as x.0 or as M
// UNKNOWN: bb-run: error: --extent: no argument has the unknown extent 'K'; there are: M, x.0
// SIZE: bb-run: error: --extent M=no: the size is a positive integer
// ENTRY: bb-run: error: there is no function 'g'; the functions are: f
// TARGET: bb-run: error: {{.*}}
// NO-TARGET: bb-run: error: target 'tpu' is unknown; programs run on: interpreter, cpu, cuda, emulator
// BLOCK: bb-run: error: there is no dim 'M' to cut into blocks; no block program declares any
// INPUT: bb-run: error: --input: no argument is named 'z'; there are: x
// FILE: bb-run: error: cannot read '{{.*}}none.npy': no such file or directory
// NPY: bb-run: error: '{{.*}}errors.mlir' is no .npy file
// PAIR: bb-run: error: argument --input: takes NAME=FILE.npy, not 'x'; --help lists the options
// PASS: bb-run: error: there is no pass named 'csee'; did you mean 'cse'?
// PROGRAM: bb-run: error: cannot read '{{.*}}none.mlir': no such file or directory

// CUSTOM:      errors.mlir:36:8: error: 'array.custom' callback 'magic' is not known; known callbacks: none
// CUSTOM-NEXT: {{^}}  %y = array.custom
// CUSTOM-NEXT: {{^}}       ^{{$}}
func.func @f(%x: tensor<?xf32> {bb.dims = ["M"]}) -> tensor<?xf32> {
  %y = array.custom @magic(%x) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
