// RUN: not bb-opt %s --split-input-file 2>&1 | filecheck %s
// RUN: not bb-opt %s --split-input-file --print-op-generic 2> %t.errors | filecheck %s --check-prefix=GOOD
// RUN: filecheck %s < %t.errors

// Each part has one error; all are reported, with the line numbers of this file. The good part is printed.

// CHECK:      errors.mlir:11:8: error: operation 'arith.addj' is not registered; did you mean 'arith.addi'?
// CHECK-NEXT: {{^}}  %s = arith.addj %a, %a : i32
// CHECK-NEXT: {{^       \^$}}
func.func @parse_error(%a: i32) {
  %s = arith.addj %a, %a : i32
  func.return
}

// -----

// GOOD: "func.func"
// GOOD-SAME: sym_name = "good"
// GOOD-NOT: "func.func"
func.func @good() {
  func.return
}

// -----

// CHECK:      errors.mlir:30:3: error: 'func.return' op Expected arguments to have the same types as the function output types
// CHECK-NEXT: {{^}}  func.return
// CHECK-NEXT: {{^  \^$}}
func.func @verifier_error() -> i32 {
  func.return
}

// -----

// CHECK:      errors.mlir:39:23: error: value %later is used but never defined
// CHECK-NEXT: {{^}}  %s = arith.addi %a, %later : i32
// CHECK-NEXT: {{^                      \^$}}
func.func @undefined(%a: i32) {
  %s = arith.addi %a, %later : i32
  func.return
}

// -----

// CHECK:      errors.mlir:50:8: error: 'arith.addi' op operand %t does not dominate this use: it is defined later
// CHECK-NEXT: {{^}}  %s = arith.addi %a, %t : i32
// CHECK-NEXT: {{^       \^$}}
func.func @dominance(%a: i32) {
  // The error stands at the operation that uses the value.
  %s = arith.addi %a, %t : i32
  %t = arith.addi %a, %a : i32
  func.return
}
