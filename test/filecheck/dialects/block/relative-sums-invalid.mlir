// RUN: bb-opt %s --split-input-file --verify-diagnostics

!Cs = !block.list<N, vector<M x f32>>
!C = !block.vector<M x f32>
!CG = !block.vector<M x f32, global>
#dims = {M = #block.dim<5>, N = #block.dim<7, batch>}

func.func @no_sum(%X: !Cs) attributes {block.dims = #dims} {
  // expected-error @+1 {{block.map @N: only a sum can be relative to a maximum, got min}}
  %t, %s = block.map @N (%x = %X) -> (max, min rel 0) : !Cs {
    %a = block.load %x : !CG
    block.yield %a, %a : !C, !C
  }
  func.return
}

// -----

!Cs = !block.list<N, vector<M x f32>>
!C = !block.vector<M x f32>
!CG = !block.vector<M x f32, global>
#dims = {M = #block.dim<5>, N = #block.dim<7, batch>}

func.func @no_max(%X: !Cs) attributes {block.dims = #dims} {
  // expected-error @+1 {{block.map @N: result 0, which a sum is relative to, is no max}}
  %t, %s = block.map @N (%x = %X) -> (min, sum rel 0) : !Cs {
    %a = block.load %x : !CG
    block.yield %a, %a : !C, !C
  }
  func.return
}

// -----

!Cs = !block.list<N, vector<M x f32>>
!C = !block.vector<M x f32>
!CG = !block.vector<M x f32, global>
#dims = {M = #block.dim<5>, N = #block.dim<7, batch>}

func.func @itself(%X: !Cs) attributes {block.dims = #dims} {
  // expected-error @+1 {{block.map @N: result 0, which a sum is relative to, is no max}}
  %s = block.map @N (%x = %X) -> (sum rel 0) : !Cs {
    %a = block.load %x : !CG
    block.yield %a : !C
  }
  func.return
}

// -----

!Cs = !block.list<N, vector<M x f32>>
!C = !block.vector<M x f32>
!CG = !block.vector<M x f32, global>
#dims = {M = #block.dim<5>, N = #block.dim<7, batch>}

func.func @no_result(%X: !Cs) attributes {block.dims = #dims} {
  // expected-error @+1 {{block.map @N: result 2, which a sum is relative to, is no max}}
  %t, %s = block.map @N (%x = %X) -> (max, sum rel 2) : !Cs {
    %a = block.load %x : !CG
    block.yield %a, %a : !C, !C
  }
  func.return
}

// -----

!Xs = !block.list<N, block<M x L x f32>>
!X = !block.block<M x L x f32>
!D = !block.vector<L x f32>
#dims = {M = #block.dim<5>, L = #block.dim<4>, N = #block.dim<7, batch>}

func.func @columns(%X: !Xs, %d: !D) attributes {block.dims = #dims} {
  // expected-error @+1 {{block.map @N: a sum of !block.block<M x L x f32> cannot be relative to !block.vector<L x f32>: the maximum must be over its rows}}
  %t, %s = block.map @N (%x = %X) -> (max, sum rel 0) : !Xs {
    %a = block.load %x : !block.block<M x L x f32, global>
    block.yield %d, %a : !D, !X
  }
  func.return
}

// -----

!Cs = !block.list<N, vector<M x f32>>
!C = !block.vector<M x f32>
!CG = !block.vector<M x f32, global>
#dims = {M = #block.dim<5>, N = #block.dim<7, batch>}

func.func @scalar(%X: !Cs) attributes {block.dims = #dims} {
  // expected-error @+1 {{block.map @N: a sum of !block.vector<M x f32> cannot be relative to !block.scalar<f32>: the maximum must be over its rows}}
  %t, %s = block.map @N (%x = %X) -> (max, sum rel 0) : !Cs {
    %a = block.load %x : !CG
    %top = block.row_max %a : !C
    block.yield %top, %a : !block.scalar<f32>, !C
  }
  func.return
}

// -----

!Cs = !block.list<N, vector<M x i32>>
!C = !block.vector<M x i32>
!CG = !block.vector<M x i32, global>
#dims = {M = #block.dim<5>, N = #block.dim<7, batch>}

func.func @integers(%X: !Cs) attributes {block.dims = #dims} {
  // expected-error @+1 {{block.map @N: a sum of !block.vector<M x i32> cannot be relative to !block.vector<M x i32>: both must be floats}}
  %t, %s = block.map @N (%x = %X) -> (max, sum rel 0) : !Cs {
    %a = block.load %x : !CG
    block.yield %a, %a : !C, !C
  }
  func.return
}

// -----

!Cs = !block.list<N, vector<M x f32>>
!C = !block.vector<M x f32>
!CG = !block.vector<M x f32, global>
#dims = {M = #block.dim<5>, N = #block.dim<7, batch>}

func.func @number(%X: !Cs) attributes {block.dims = #dims} {
  // expected-error @+1 {{Expected integer literal}}
  %t, %s = block.map @N (%x = %X) -> (max, sum rel max) : !Cs {
    %a = block.load %x : !CG
    block.yield %a, %a : !C, !C
  }
  func.return
}

// -----

!Cs = !block.list<N, vector<M x f32>>
!C = !block.vector<M x f32>
!CG = !block.vector<M x f32, global>
#dims = {M = #block.dim<5>, N = #block.dim<7, batch>}

func.func @counts(%X: !Cs) attributes {block.dims = #dims} {
  // expected-error @+1 {{block.map @N: 1 pivots for 2 results}}
  %t, %s = "block.map"(%X) <{dim = @N, kinds = [#block<kind max>, #block<kind sum>], pivots = [#builtin.int<-1>]}> ({
  ^bb0(%x: !CG):
    %a = block.load %x : !CG
    block.yield %a, %a : !C, !C
  }) : (!Cs) -> (!C, !C)
  func.return
}
