// RUN: bb-opt %s | filecheck %s

// A file of comments is an empty program.
// CHECK:      builtin.module {
// CHECK-NEXT: }
