// RUN: bb-opt %s --split-input-file --verify-diagnostics

func.func @same_line(%a: i32) {
  %s = arith.addj %a, %a : i32 // expected-error {{operation 'arith.addj' is not registered}}
  func.return
}

// -----

func.func @below() -> i32 {
  // expected-error@+1 {{function output types}}
  func.return
}

// -----

func.func @above(%a: i32) {
  %s = arith.addi %a, %never : i32
  // expected-error @-1 {{value %never is used but never defined}}
  func.return
}

// -----

func.func @next_bare_line(%a: i32) {
  // expected-error@below {{'arith.addi' op operand %t does not dominate this use}}
  %s = arith.addi %a, %t : i32
  %t = arith.addi %a, %a : i32
  func.return
}

// -----

func.func @last_bare_line(%a: i32) {
  %s = arith.addi %a, %b : i32
  // expected-error@above {{value %b is used but never defined}}
  func.return
}

// -----

// A part without errors expects none.
func.func @good() {
  func.return
}
