// RUN: bb-opt %s | bb-opt | filecheck %s
// RUN: bb-opt %s --print-op-generic | bb-opt | filecheck %s
// RUN: bb-opt %s --print-op-generic | filecheck %s --check-prefix GENERIC
// RUN: bb-opt %s -p canonicalize | filecheck %s --check-prefix CANONICAL
// RUN: bb-opt %s -p cse | filecheck %s --check-prefix CSE

!X = !block.block<M x N x f32>
!Xs = !block.list<N, block<M x N x f32>>
!Vs = !block.list<N, block<L x N x f32>>
!C = !block.vector<M x f32>
#dims = {M = #block.dim<5, block = 2>, N = #block.dim<7, block = 3>, L = #block.dim<4>}

// Vectors and blocks can be relative to one maximum over their rows, which may stand anywhere among the results.
// CHECK-LABEL: func.func @kinds(
// GENERIC-LABEL: sym_name = "kinds"
// CHECK-NEXT: %s, %o, %top, %n = block.map @N (%x = %X, %v = %V) -> (sum rel 2, sum rel 2, max, sum) : !block.list<N, block<M x N x f32>>, !block.list<N, block<L x N x f32>> attributes {note = 1 : i64} {
// GENERIC: "block.map"({{.*}}) <{dim = @N, kinds = [#block<kind sum>, #block<kind sum>, #block<kind max>, #block<kind sum>], pivots = [#builtin.int<2>, #builtin.int<2>, #builtin.int<-1>, #builtin.int<-1>]}>
func.func @kinds(%X: !Xs, %V: !Vs) -> (!C, !block.block<M x L x f32>, !C, !C) attributes {block.dims = #dims} {
  %s, %o, %top, %n = block.map @N (%x = %X, %v = %V) -> (sum rel 2, sum rel 2, max, sum) : !Xs, !Vs attributes {note = 1 : i64} {
    %a = block.load %x : !block.block<M x N x f32, global>
    %b = block.load %v : !block.block<L x N x f32, global>
    %t = block.row_max %a : !X
    %r = block.row_sum %a acc f32 : !X
    %d = block.dot %a, %b acc f32 : !X, !block.block<L x N x f32>
    block.yield %r, %d, %t, %r : !C, !block.block<M x L x f32>, !C, !C
  }
  func.return %s, %o, %top, %n : !C, !block.block<M x L x f32>, !C, !C
}

// Two maxima, and a sum of scalars.
// CHECK-LABEL: func.func @two_maxima(
// CHECK-NEXT: block.map @N (%x = %X) -> (max, sum rel 0, max, sum rel 2)
func.func @two_maxima(%X: !Xs) -> (!C, !block.scalar<f32>) attributes {block.dims = #dims} {
  %t, %s, %u, %r = block.map @N (%x = %X) -> (max, sum rel 0, max, sum rel 2) : !Xs {
    %a = block.load %x : !block.block<M x N x f32, global>
    %top = block.row_max %a : !X
    %sum = block.row_sum %a acc f32 : !X
    %all = block.row_sum %sum acc f32 : !C
    %most = block.row_max %top : !C
    block.yield %top, %sum, %most, %all : !C, !C, !block.scalar<f32>, !block.scalar<f32>
  }
  func.return %s, %r : !C, !block.scalar<f32>
}

// A sum keeps the maximum that it is relative to, though nothing else reads it; results are counted again.
// CANONICAL-LABEL: func.func @unused_results(
// CANONICAL-NEXT: %u, %r = block.map @N (%x = %X) -> (max, sum rel 0)
// CANONICAL-NEXT: %a = block.load %x
// CANONICAL-NEXT: %top = block.row_max %a
// CANONICAL-NEXT: %sum = block.row_sum %a
// CANONICAL-NEXT: block.yield %top, %sum
func.func @unused_results(%X: !Xs) -> !C attributes {block.dims = #dims} {
  %n, %t, %s, %u, %r = block.map @N (%x = %X) -> (min, max, sum rel 1, max, sum rel 3) : !Xs {
    %a = block.load %x : !block.block<M x N x f32, global>
    %top = block.row_max %a : !X
    %least = block.row_min %a : !X
    %sum = block.row_sum %a acc f32 : !X
    block.yield %least, %top, %sum, %top, %sum : !C, !C, !C, !C, !C
  }
  func.return %r : !C
}

// CANONICAL-LABEL: func.func @maximum_alone(
// CANONICAL-NEXT: block.map @N (%x = %X) -> (max) :
func.func @maximum_alone(%X: !Xs) -> !C attributes {block.dims = #dims} {
  %t, %s = block.map @N (%x = %X) -> (max, sum rel 0) : !Xs {
    %a = block.load %x : !block.block<M x N x f32, global>
    %top = block.row_max %a : !X
    %sum = block.row_sum %a acc f32 : !X
    block.yield %top, %sum : !C, !C
  }
  func.return %t : !C
}

// CANONICAL-LABEL: func.func @unused_input(
// CANONICAL-NEXT: block.map @N (%x = %X) -> (max, sum rel 0) :
func.func @unused_input(%X: !Xs, %V: !Vs) -> !C attributes {block.dims = #dims} {
  %t, %s = block.map @N (%v = %V, %x = %X, %y = %X) -> (max, sum rel 0) : !Vs, !Xs, !Xs {
    %a = block.load %x : !block.block<M x N x f32, global>
    %b = block.load %y : !block.block<M x N x f32, global>
    %top = block.row_max %a : !X
    %sum = block.row_sum %b acc f32 : !X
    block.yield %top, %sum : !C, !C
  }
  func.return %s : !C
}

// Maps that only differ in what a sum is relative to are different; equal ones are merged.
// CSE-LABEL: func.func @equal_maps(
// CSE-NEXT: %t, %s = block.map @N (%x = %X) -> (max, sum rel 0)
// CSE: %t2, %s2 = block.map @N (%x_1 = %X) -> (max, sum)
// CSE: func.return %s, %s2, %s
func.func @equal_maps(%X: !Xs) -> (!C, !C, !C) attributes {block.dims = #dims} {
  %t, %s = block.map @N (%x = %X) -> (max, sum rel 0) : !Xs {
    %a = block.load %x : !block.block<M x N x f32, global>
    %top = block.row_max %a : !X
    %sum = block.row_sum %a acc f32 : !X
    block.yield %top, %sum : !C, !C
  }
  %t2, %s2 = block.map @N (%x = %X) -> (max, sum) : !Xs {
    %a = block.load %x : !block.block<M x N x f32, global>
    %top = block.row_max %a : !X
    %sum = block.row_sum %a acc f32 : !X
    block.yield %top, %sum : !C, !C
  }
  %t3, %s3 = block.map @N (%x = %X) -> (max, sum rel 0) : !Xs {
    %a = block.load %x : !block.block<M x N x f32, global>
    %top = block.row_max %a : !X
    %sum = block.row_sum %a acc f32 : !X
    block.yield %top, %sum : !C, !C
  }
  func.return %s, %s2, %s3 : !C, !C, !C
}
