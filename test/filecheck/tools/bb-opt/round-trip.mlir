// RUN: bb-opt %s | filecheck %s
// RUN: bb-opt < %s | filecheck %s
// RUN: bb-opt - < %s | filecheck %s
// RUN: bb-opt %s -o %t && bb-opt %t | filecheck %s
// RUN: bb-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: bb-opt %s --print-op-generic | bb-opt | filecheck %s
// RUN: bb-opt %s --print-debuginfo | filecheck %s --check-prefix=LOC

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @add(%a: i32, %b: i32) -> i32 {
// CHECK-NEXT:     %sum = arith.addi %a, %b : i32
// CHECK-NEXT:     func.return %sum : i32
// CHECK-NEXT:   }
// CHECK-NEXT: }
// GENERIC:    %sum = "arith.addi"(%a, %b)
// LOC:        %sum = arith.addi %a, %b : i32 loc("{{.*}}round-trip.mlir":18:10)
func.func @add(%a: i32, %b: i32) -> i32 {
  %sum = arith.addi %a, %b : i32
  func.return %sum : i32
}
