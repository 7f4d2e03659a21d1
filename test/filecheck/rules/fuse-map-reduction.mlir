// RUN: bb-opt %s -p "block-apply{rules=fuse-map-reduction}" | filecheck %s

!C = !block.vector<M x f32>
!Cs = !block.list<K, vector<M x f32>>
#dims = {M = #block.dim<5, block = 2>, K = #block.dim<7, block = 3>, L = #block.dim<2, batch>}

// y = map K -> (stack) { yield store(v) }; s = reduce sum y
//   -> s = map K -> (sum) { yield v }
// CHECK-LABEL: func.func @fuse_map_reduction(
func.func @fuse_map_reduction(%xs: !Cs) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.map @K (%xk = %xs) -> (sum)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %v = block.mul %x, %x
  // CHECK-NEXT: block.yield %v
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %s
  // CHECK-NEXT: }
  %y = block.map @K (%xk = %xs) -> (stack) : !Cs {
    %x = block.load %xk : !block.vector<M x f32, global>
    %v = block.mul %x, %x : !C
    %o = block.store %v : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  %s = block.reduce sum %y : !Cs
  func.return %s : !C
}

// The list that others read stays; what is handed on without having been in local memory is loaded.
// CHECK-LABEL: func.func @fuse_map_reduction_of_a_list_that_stays(
func.func @fuse_map_reduction_of_a_list_that_stays(%xs: !Cs) -> (!C, !C, !Cs) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y, %s, %t = block.map @K (%xk = %xs) -> (stack, max, min)
  // CHECK-NEXT: %xk_1 = block.load %xk
  // CHECK-NEXT: %xk_2 = block.load %xk
  // CHECK-NEXT: block.yield %xk, %xk_1, %xk_2
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %s, %t, %y
  // CHECK-NEXT: }
  %y = block.map @K (%xk = %xs) -> (stack) : !Cs {
    block.yield %xk : !block.vector<M x f32, global>
  }
  %s = block.reduce max %y : !Cs
  %t = block.reduce min %y : !Cs
  func.return %s, %t, %y : !C, !C, !Cs
}

// Wherever the reduction stands, the map has the result.
// CHECK-LABEL: func.func @fuse_map_reduction_inside_another_map(
func.func @fuse_map_reduction_inside_another_map(%xs: !Cs, %ls: !block.list<L, vector<M x f32>>) -> !block.list<L, vector<M x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.map @K (%xk = %xs) -> (sum)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %v = block.mul %x, %x
  // CHECK-NEXT: block.yield %v
  // CHECK-NEXT: }
  // CHECK-NEXT: %z = block.map @L (%l = %ls) -> (stack)
  // CHECK-NEXT: %i = block.load %l
  // CHECK-NEXT: %j = block.add %i, %s
  // CHECK-NEXT: %o = block.store %j
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %z
  // CHECK-NEXT: }
  %y = block.map @K (%xk = %xs) -> (stack) : !Cs {
    %x = block.load %xk : !block.vector<M x f32, global>
    %v = block.mul %x, %x : !C
    %o = block.store %v : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  %z = block.map @L (%l = %ls) -> (stack) : !block.list<L, vector<M x f32>> {
    %i = block.load %l : !block.vector<M x f32, global>
    %s = block.reduce sum %y : !Cs
    %j = block.add %i, %s : !C
    %o = block.store %j : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  func.return %z : !block.list<L, vector<M x f32>>
}

// Declined where not: the list is a stacked result of the map.
// CHECK-LABEL: func.func @fuse_map_reduction_without_stacked(
func.func @fuse_map_reduction_without_stacked(%xs: !Cs, %ls: !block.list<L, vector<M x f32>>) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @L () -> (any)
  // CHECK-NEXT: block.yield %xs
  // CHECK-NEXT: }
  // CHECK-NEXT: %s = block.reduce sum %y
  // CHECK-NEXT: func.return %s
  // CHECK-NEXT: }
  %y = block.map @L (%l = %ls) -> (any) : !block.list<L, vector<M x f32>> {
    block.yield %xs : !Cs
  }
  %s = block.reduce sum %y : !Cs
  func.return %s : !C
}
