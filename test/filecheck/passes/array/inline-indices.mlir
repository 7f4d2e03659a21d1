// RUN: bb-opt %s -p array-inline-indices | filecheck %s

// A mask of indices is computed where it is applied; the array of it is gone.
// CHECK-LABEL: func.func @mask(
func.func @mask(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %row = array.iota axis 0 : tensor<8x1xi32>
  %column = array.iota axis 1 : tensor<1x16xi32>
  %keep = array.elementwise (%i = %row, %j = %column) : tensor<8x1xi32>, tensor<1x16xi32> -> tensor<8x16xi1> {
    %four = arith.constant 4 : i32
    %last = arith.addi %i, %four : i32
    %seen = arith.cmpi sle, %j, %last : i32
    array.yield %seen : i1
  }
  %y = array.elementwise (%p = %x, %k = %keep) : tensor<8x16xf32>, tensor<8x16xi1> -> tensor<8x16xf32> {
    %hidden = arith.constant 0xff800000 : f32
    %z = arith.select %k, %p, %hidden : f32
    array.yield %z : f32
  }
  func.return %y : tensor<8x16xf32>
  // CHECK-NEXT: %row = array.iota axis 0 : tensor<8x1xi32>
  // CHECK-NEXT: %column = array.iota axis 1 : tensor<1x16xi32>
  // CHECK-NEXT: %y = array.elementwise (%p = %x, %i = %row, %j = %column) : tensor<8x16xf32>, tensor<8x1xi32>, tensor<1x16xi32> -> tensor<8x16xf32> {
  // CHECK-NEXT:   %four = arith.constant 4 : i32
  // CHECK-NEXT:   %last = arith.addi %i, %four : i32
  // CHECK-NEXT:   %seen = arith.cmpi sle, %j, %last : i32
  // CHECK-NEXT:   %hidden = arith.constant 0xff800000 : f32
  // CHECK-NEXT:   %z = arith.select %seen, %p, %hidden : f32
  // CHECK-NEXT:   array.yield %z : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %y
}

// A mask made of masks goes in whole. One that is a result, too, is computed once more for its reader, and a
// reader that reads the indices itself reads them once.
// CHECK-LABEL: func.func @masks_of_masks(
func.func @masks_of_masks(%x: tensor<8x8xf32>) -> (tensor<8x8xi1>, tensor<8x8xf32>) {
  %row = array.iota axis 0 : tensor<8x8xi32>
  %column = array.iota axis 1 : tensor<8x8xi32>
  %near = array.elementwise (%i = %row, %j = %column) : tensor<8x8xi32>, tensor<8x8xi32> -> tensor<8x8xi1> {
    %two = arith.constant 2 : i32
    %d = arith.subi %i, %two : i32
    %z = arith.cmpi sge, %j, %d : i32
    array.yield %z : i1
  }
  %band = array.elementwise (%a = %near, %i = %row, %j = %column) : tensor<8x8xi1>, tensor<8x8xi32>, tensor<8x8xi32> -> tensor<8x8xi1> {
    %b = arith.cmpi sle, %j, %i : i32
    %z = arith.andi %a, %b : i1
    array.yield %z : i1
  }
  %y = array.elementwise (%p = %x, %k = %band, %i = %row) : tensor<8x8xf32>, tensor<8x8xi1>, tensor<8x8xi32> -> tensor<8x8xf32> {
    %f = arith.sitofp %i : i32 to f32
    %z = arith.select %k, %p, %f : f32
    array.yield %z : f32
  }
  func.return %band, %y : tensor<8x8xi1>, tensor<8x8xf32>
  // CHECK-NOT:  %near
  // CHECK:      %band = array.elementwise (%i = %row, %j = %column) :
  // CHECK:      %y = array.elementwise (%p = %x, %i_1 = %row, %j_1 = %column) :
  // CHECK-NEXT:   arith.constant 2
  // CHECK-NEXT:   arith.subi %i_1
  // CHECK-NEXT:   arith.cmpi sge, %j_1
  // CHECK-NEXT:   arith.cmpi sle, %j_1, %i_1
  // CHECK-NEXT:   arith.andi
  // CHECK-NEXT:   arith.sitofp %i_1
  // CHECK-NEXT:   arith.select
  // CHECK-NEXT:   array.yield
}

// Of an operation with two results, each reader computes the one it reads.
// CHECK-LABEL: func.func @two_results(
func.func @two_results(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %row = array.iota axis 0 : tensor<8x1xi32>
  %column = array.iota axis 1 : tensor<1x8xi32>
  %upper, %lower = array.elementwise (%i = %row, %j = %column) : tensor<8x1xi32>, tensor<1x8xi32> -> tensor<8x8xi1>, tensor<8x8xf32> {
    %a = arith.cmpi sge, %j, %i : i32
    %b = arith.cmpi sle, %j, %i : i32
    %zero = arith.constant 0.0 : f32
    %hidden = arith.constant 0xff800000 : f32
    %z = arith.select %b, %zero, %hidden : f32
    array.yield %a, %z : i1, f32
  }
  %y = array.elementwise (%p = %x, %k = %upper) : tensor<8x8xf32>, tensor<8x8xi1> -> tensor<8x8xf32> {
    %zero = arith.constant 0.0 : f32
    %z = arith.select %k, %p, %zero : f32
    array.yield %z : f32
  }
  %w = array.elementwise (%p = %x, %b = %lower) : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32> {
    %z = arith.addf %p, %b : f32
    array.yield %z : f32
  }
  func.return %y, %w : tensor<8x8xf32>, tensor<8x8xf32>
  // CHECK-NOT:  %upper
  // CHECK:      %y = array.elementwise (%p = %x, %i = %row, %j = %column)
  // CHECK-NEXT:   arith.cmpi sge
  // CHECK-NEXT:   arith.constant
  // CHECK-NEXT:   arith.select
  // CHECK-NEXT:   array.yield
  // CHECK:      %w = array.elementwise (%p_1 = %x, %i_1 = %row, %j_1 = %column)
  // CHECK-NEXT:   arith.cmpi sle
  // CHECK:        arith.addf
}

// An array of fewer axes may be among what it reads: how long each sequence is.
// CHECK-LABEL: func.func @lengths(
func.func @lengths(%x: tensor<3x8x16xf32>, %lengths: tensor<3x1x1xi32>) -> tensor<3x8x16xf32> {
  %column = array.iota axis 0 : tensor<16xi32>
  %keep = array.elementwise (%n = %lengths, %j = %column) : tensor<3x1x1xi32>, tensor<16xi32> -> tensor<3x1x16xi1> {
    %z = arith.cmpi slt, %j, %n : i32
    array.yield %z : i1
  }
  %y = array.elementwise (%p = %x, %k = %keep) : tensor<3x8x16xf32>, tensor<3x1x16xi1> -> tensor<3x8x16xf32> {
    %zero = arith.constant 0.0 : f32
    %z = arith.select %k, %p, %zero : f32
    array.yield %z : f32
  }
  func.return %y : tensor<3x8x16xf32>
  // CHECK-NOT:  %keep
  // CHECK:      %y = array.elementwise (%p = %x, %n = %lengths, %j = %column) : tensor<3x8x16xf32>, tensor<3x1x1xi32>, tensor<16xi32> -> tensor<3x8x16xf32> {
}

// Axes of extent 1 and broadcasts between a mask and its reader do not matter.
// CHECK-LABEL: func.func @views(
func.func @views(%x: tensor<2x3x8x16xf32>) -> tensor<2x3x8x16xf32> {
  %row = array.iota axis 0 : tensor<8x1xi32>
  %column = array.iota axis 0 : tensor<16xi32>
  %keep = array.elementwise (%i = %row, %j = %column) : tensor<8x1xi32>, tensor<16xi32> -> tensor<8x16xi1> {
    %seen = arith.cmpi sle, %j, %i : i32
    array.yield %seen : i1
  }
  %one = array.reshape %keep : tensor<8x16xi1> -> tensor<1x8x16xi1>
  %all = array.broadcast %one : tensor<1x8x16xi1> -> tensor<2x3x8x16xi1>
  %y = array.elementwise (%p = %x, %k = %all) : tensor<2x3x8x16xf32>, tensor<2x3x8x16xi1> -> tensor<2x3x8x16xf32> {
    %zero = arith.constant 0.0 : f32
    %z = arith.select %k, %p, %zero : f32
    array.yield %z : f32
  }
  func.return %y : tensor<2x3x8x16xf32>
  // CHECK-NOT:  array.reshape
  // CHECK-NOT:  array.broadcast
  // CHECK-DAG:  %row_1 = array.iota axis 1 : tensor<1x8x1xi32>
  // CHECK-DAG:  %column_1 = array.iota axis 2 : tensor<1x1x16xi32>
  // CHECK:      %y = array.elementwise (%p = %x, %i = %row_1, %j = %column_1) : tensor<2x3x8x16xf32>, tensor<1x8x1xi32>, tensor<1x1x16xi32> -> tensor<2x3x8x16xf32> {
}

// What is not cheap, or reads an array as large as its own, stays: a division of integers, a mask that is an
// argument. So does what no element-wise operation reads.
// CHECK-LABEL: func.func @stays(
func.func @stays(%x: tensor<8x8xf32>, %given: tensor<8x8xi1>) -> (tensor<8x8xf32>, tensor<8xi32>) {
  %row = array.iota axis 0 : tensor<8x1xi32>
  %column = array.iota axis 1 : tensor<1x8xi32>
  %blocks = array.elementwise (%i = %row, %j = %column) : tensor<8x1xi32>, tensor<1x8xi32> -> tensor<8x8xi1> {
    %four = arith.constant 4 : i32
    %a = arith.divsi %i, %four : i32
    %b = arith.divsi %j, %four : i32
    %z = arith.cmpi eq, %a, %b : i32
    array.yield %z : i1
  }
  %not = array.elementwise (%g = %given) : tensor<8x8xi1> -> tensor<8x8xi1> {
    %true = arith.constant true
    %z = arith.xori %g, %true : i1
    array.yield %z : i1
  }
  %y = array.elementwise (%p = %x, %k = %blocks, %h = %not) : tensor<8x8xf32>, tensor<8x8xi1>, tensor<8x8xi1> -> tensor<8x8xf32> {
    %zero = arith.constant 0.0 : f32
    %both = arith.andi %k, %h : i1
    %z = arith.select %both, %p, %zero : f32
    array.yield %z : f32
  }
  %sums = array.elementwise (%i = %row, %j = %column) : tensor<8x1xi32>, tensor<1x8xi32> -> tensor<8x8xi32> {
    %z = arith.addi %i, %j : i32
    array.yield %z : i32
  }
  %r = array.reduce max %sums axes [1] : tensor<8x8xi32> -> tensor<8xi32>
  func.return %y, %r : tensor<8x8xf32>, tensor<8xi32>
  // CHECK:      %blocks = array.elementwise
  // CHECK:      %not = array.elementwise
  // CHECK:      %y = array.elementwise (%p = %x, %k = %blocks, %h = %not)
  // CHECK:      %sums = array.elementwise
  // CHECK:      array.reduce max %sums
}

// Extents that are known only to the program: those of the indices tell them as those of the mask did.
// CHECK-LABEL: func.func @unknown_extents(
func.func @unknown_extents(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %row = array.iota axis 0 like %x : tensor<?x?xf32> -> tensor<?x?xi32>
  %column = array.iota axis 1 like %x : tensor<?x?xf32> -> tensor<?x?xi32>
  %keep = array.elementwise (%i = %row, %j = %column) : tensor<?x?xi32>, tensor<?x?xi32> -> tensor<?x?xi1> {
    %seen = arith.cmpi sle, %j, %i : i32
    array.yield %seen : i1
  }
  %y = array.elementwise (%k = %keep) : tensor<?x?xi1> -> tensor<?x?xf32> {
    %one = arith.constant 1.0 : f32
    %zero = arith.constant 0.0 : f32
    %z = arith.select %k, %one, %zero : f32
    array.yield %z : f32
  }
  func.return %y : tensor<?x?xf32>
  // CHECK-NOT:  %keep
  // CHECK:      %y = array.elementwise (%i = %row, %j = %column) : tensor<?x?xi32>, tensor<?x?xi32> -> tensor<?x?xf32> {
}
