// RUN: not bb-opt %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// CHECK: verify-diagnostics-fails.mlir:5:6: error: expected error "this never comes" was not produced
func.func @missing() {
  // expected-error @+1 {{this never comes}}
  func.return
}

// -----

// CHECK: verify-diagnostics-fails.mlir:13:3: error: unexpected error: 'func.return' op Expected arguments
func.func @unexpected() -> i32 {
  func.return
}

// -----

// A message on the wrong line is both missing and unexpected.
// CHECK: verify-diagnostics-fails.mlir:23:3: error: unexpected error: 'func.return' op Expected arguments
// CHECK: verify-diagnostics-fails.mlir:22:6: error: expected error "function output types" was not produced
func.func @wrong_line() -> i32 {
  // expected-error {{function output types}}
  func.return
}

// -----

// CHECK: verify-diagnostics-fails.mlir:30:6: error: malformed expectation
func.func @malformed() {
  // expected-error @+1 this text has no braces
  func.return
}

// -----

// CHECK: error: expected warning "loud" was not produced
func.func @warning() {
  // expected-warning @+1 {{loud}}
  func.return
}
