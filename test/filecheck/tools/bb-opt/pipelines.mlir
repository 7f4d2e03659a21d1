// RUN: bb-opt %s -p cse,dce | filecheck %s
// RUN: bb-opt %s -p " cse , canonicalize{} " | filecheck %s
// RUN: bb-opt %s --passes cse,dce --print-between-passes 2>&1 | filecheck %s --check-prefix=BETWEEN
// RUN: bb-opt %s -p cse --print-between-passes 2>&1 | filecheck %s --check-prefix=ALONE

// CHECK:      func.func @twice(%a: i32) -> i32 {
// CHECK-NEXT:   [[SUM:%\w+]] = arith.addi %a, %a : i32
// CHECK-NEXT:   func.return [[SUM]] : i32

// BETWEEN:      // IR after 'cse', before 'dce':
// BETWEEN-NEXT: builtin.module {
// BETWEEN-NEXT:   func.func @twice
// BETWEEN-NOT:  // IR after
// BETWEEN:      builtin.module {

// ALONE-NOT: IR after
// ALONE:     builtin.module
// ALONE-NOT: IR after
func.func @twice(%a: i32) -> i32 {
  %x = arith.addi %a, %a : i32
  %y = arith.addi %a, %a : i32
  func.return %y : i32
}
