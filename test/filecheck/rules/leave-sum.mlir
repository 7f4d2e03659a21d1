// RUN: bb-opt %s -p "block-apply{rules=leave-sum}" | filecheck %s

!X = !block.block<M x N x f32>
!Xs = !block.list<K, block<M x N x f32>>
!C = !block.vector<M x f32>
!Cs = !block.list<K, vector<M x f32>>
!D = !block.vector<N x f32>
!Ds = !block.list<K, vector<N x f32>>
#dims = {M = #block.dim<5, block = 2>, N = #block.dim<3, block = 2>, K = #block.dim<7, block = 3>}

// sum { row_scale(x, c) }
//   -> row_scale(sum { x }, c)
// CHECK-LABEL: func.func @scale(
func.func @scale(%xs: !Xs, %c: !C) -> !X attributes {block.dims = #dims} {
  // CHECK-NEXT: %x = block.map @K (%xk = %xs) -> (sum)
  // CHECK-NEXT: %x_1 = block.load %xk
  // CHECK-NEXT: block.yield %x_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %sum = block.row_scale %x, %c
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs) -> (sum) : !Xs {
    %x = block.load %xk : !block.block<M x N x f32, global>
    %s = block.row_scale %x, %c : !X, !C
    block.yield %s : !X
  }
  func.return %sum : !X
}

// Declined where not: the sum has 32 bits or more.
// CHECK-LABEL: func.func @scale_without_wide(
func.func @scale_without_wide(%xs: !block.list<K, block<M x N x f16>>, %c: !block.vector<M x f16>) -> !block.block<M x N x f16> attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.map @K (%xk = %xs) -> (sum)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: block.yield %s
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs) -> (sum) : !block.list<K, block<M x N x f16>> {
    %x = block.load %xk : !block.block<M x N x f16, global>
    %s = block.row_scale %x, %c : !block.block<M x N x f16>, !block.vector<M x f16>
    block.yield %s : !block.block<M x N x f16>
  }
  func.return %sum : !block.block<M x N x f16>
}

// CHECK-LABEL: func.func @scale_by_columns_from_a_nest(
func.func @scale_by_columns_from_a_nest(%xs: !block.list<L, K, block<M x N x f32>>, %d: !D) -> !X attributes {block.dims = {L = #block.dim<2, batch>, M = #block.dim<5>, N = #block.dim<3>, K = #block.dim<7, block = 3>}} {
  // CHECK-NEXT: %x = block.map @L (%xl = %xs) -> (sum)
  // CHECK-NEXT: %x_1 = block.map @K (%xk = %xl) -> (sum)
  // CHECK-NEXT: %x_2 = block.load %xk
  // CHECK-NEXT: block.yield %x_2
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %x_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %sum = block.col_scale %x, %d
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @L (%xl = %xs) -> (sum) : !block.list<L, K, block<M x N x f32>> {
    %part = block.map @K (%xk = %xl) -> (sum) : !Xs {
      %x = block.load %xk : !block.block<M x N x f32, global>
      %s = block.col_scale %x, %d : !X, !D
      block.yield %s : !X
    }
    block.yield %part : !X
  }
  func.return %sum : !X
}

// Declined where not: c is the same in every iteration.
// CHECK-LABEL: func.func @scale_without_invariant(
func.func @scale_without_invariant(%xs: !Xs, %cs: !Cs) -> !X attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.map @K (%xk = %xs, %ck = %cs) -> (sum)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %c = block.load %ck
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: block.yield %s
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs, %ck = %cs) -> (sum) : !Xs, !Cs {
    %x = block.load %xk : !block.block<M x N x f32, global>
    %c = block.load %ck : !block.vector<M x f32, global>
    %s = block.row_scale %x, %c : !X, !C
    block.yield %s : !X
  }
  func.return %sum : !X
}

// A maximum is no sum: the sign of the scale would decide.
// CHECK-LABEL: func.func @scale_not_out_of_a_maximum(
func.func @scale_not_out_of_a_maximum(%xs: !Xs, %c: !C) -> !X attributes {block.dims = #dims} {
  // CHECK-NEXT: %max = block.map @K (%xk = %xs) -> (max)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: block.yield %s
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %max
  // CHECK-NEXT: }
  %max = block.map @K (%xk = %xs) -> (max) : !Xs {
    %x = block.load %xk : !block.block<M x N x f32, global>
    %s = block.row_scale %x, %c : !X, !C
    block.yield %s : !X
  }
  func.return %max : !X
}

// sum { outer(c, d) }
//   -> outer(c, sum { d })
// CHECK-LABEL: func.func @outer_product(
func.func @outer_product(%c: !C, %ds: !Ds) -> !X attributes {block.dims = #dims} {
  // CHECK-NEXT: %d = block.map @K (%dk = %ds) -> (sum)
  // CHECK-NEXT: %d_1 = block.load %dk
  // CHECK-NEXT: block.yield %d_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %sum = block.outer %c, %d
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%dk = %ds) -> (sum) : !Ds {
    %d = block.load %dk : !block.vector<N x f32, global>
    %o = block.outer %c, %d : !C, !D
    block.yield %o : !X
  }
  func.return %sum : !X
}

// Declined where not: the sum has 32 bits or more.
// CHECK-LABEL: func.func @outer_product_without_wide(
func.func @outer_product_without_wide(%c: !block.vector<M x f16>, %ds: !block.list<K, vector<N x f16>>) -> !block.block<M x N x f16> attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.map @K (%dk = %ds) -> (sum)
  // CHECK-NEXT: %d = block.load %dk
  // CHECK-NEXT: %o = block.outer %c, %d
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%dk = %ds) -> (sum) : !block.list<K, vector<N x f16>> {
    %d = block.load %dk : !block.vector<N x f16, global>
    %o = block.outer %c, %d : !block.vector<M x f16>, !block.vector<N x f16>
    block.yield %o : !block.block<M x N x f16>
  }
  func.return %sum : !block.block<M x N x f16>
}

// CHECK-LABEL: func.func @outer_product_of_a_changing_left_factor(
func.func @outer_product_of_a_changing_left_factor(%cs: !Cs, %d: !D) -> !X attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.map @K (%ck = %cs) -> (sum)
  // CHECK-NEXT: %c_1 = block.load %ck
  // CHECK-NEXT: block.yield %c_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %sum = block.outer %c, %d
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%ck = %cs) -> (sum) : !Cs {
    %c = block.load %ck : !block.vector<M x f32, global>
    %o = block.outer %c, %d : !C, !D
    block.yield %o : !X
  }
  func.return %sum : !X
}

// Declined where not: one of the factors is the same in every iteration.
// CHECK-LABEL: func.func @outer_product_without_invariant(
func.func @outer_product_without_invariant(%cs: !Cs, %ds: !Ds) -> !X attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.map @K (%ck = %cs, %dk = %ds) -> (sum)
  // CHECK-NEXT: %c = block.load %ck
  // CHECK-NEXT: %d = block.load %dk
  // CHECK-NEXT: %o = block.outer %c, %d
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%ck = %cs, %dk = %ds) -> (sum) : !Cs, !Ds {
    %c = block.load %ck : !block.vector<M x f32, global>
    %d = block.load %dk : !block.vector<N x f32, global>
    %o = block.outer %c, %d : !C, !D
    block.yield %o : !X
  }
  func.return %sum : !X
}

// sum { row_shift(x, c) }
//   -> row_shift(sum { x }, sum { c })
// CHECK-LABEL: func.func @shift(
func.func @shift(%xs: !Xs, %cs: !Cs, %es: !Cs) -> !X attributes {block.dims = #dims} {
  // CHECK-NEXT: %e = block.reduce sum %es
  // CHECK-NEXT: %c, %x = block.map @K (%xk = %xs, %ck = %cs) -> (sum, sum)
  // CHECK-NEXT: %x_1 = block.load %xk
  // CHECK-NEXT: %c_1 = block.load %ck
  // CHECK-NEXT: block.yield %c_1, %x_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %y = block.row_scale %x, %e
  // CHECK-NEXT: %sum = block.row_shift %y, %c
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %e = block.reduce sum %es : !Cs
  %sum = block.map @K (%xk = %xs, %ck = %cs) -> (sum) : !Xs, !Cs {
    %x = block.load %xk : !block.block<M x N x f32, global>
    %y = block.row_scale %x, %e : !X, !C
    %c = block.load %ck : !block.vector<M x f32, global>
    %s = block.row_shift %y, %c : !X, !C
    block.yield %s : !X
  }
  func.return %sum : !X
}

// Declined where not: an operand depends on a reduced result, so that it can leave the sum next.
// CHECK-LABEL: func.func @shift_without_demand(
func.func @shift_without_demand(%xs: !Xs, %cs: !Cs) -> !X attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.map @K (%xk = %xs, %ck = %cs) -> (sum)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %c = block.load %ck
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: block.yield %s
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs, %ck = %cs) -> (sum) : !Xs, !Cs {
    %x = block.load %xk : !block.block<M x N x f32, global>
    %c = block.load %ck : !block.vector<M x f32, global>
    %s = block.row_shift %x, %c : !X, !C
    block.yield %s : !X
  }
  func.return %sum : !X
}

// The sum of the shift is the next to leave: it is as many times the shift as there are blocks.
// CHECK-LABEL: func.func @shift_by_columns(
func.func @shift_by_columns(%xs: !Xs, %ds: !Ds) -> !X attributes {block.dims = #dims} {
  // CHECK-NEXT: %d = block.reduce sum %ds
  // CHECK-NEXT: %x = block.map @K (%xk = %xs) -> (sum)
  // CHECK-NEXT: %x_1 = block.load %xk
  // CHECK-NEXT: block.yield %x_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %d_1 = block.linear 3 * %d
  // CHECK-NEXT: %sum = block.col_shift %x, %d_1
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %d = block.reduce sum %ds : !Ds
  %sum = block.map @K (%xk = %xs) -> (sum) : !Xs {
    %x = block.load %xk : !block.block<M x N x f32, global>
    %s = block.col_shift %x, %d : !X, !D
    block.yield %s : !X
  }
  func.return %sum : !X
}

// sum { add(x, outer(c, d)) }
//   -> add(sum { x }, sum { outer(c, d) })
// CHECK-LABEL: func.func @addition(
func.func @addition(%xs: !Xs, %cs: !Cs, %ds: !Ds) -> !X attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %x, %d = block.map @K (%xk = %xs, %dk = %ds) -> (sum, sum)
  // CHECK-NEXT: %x_1 = block.load %xk
  // CHECK-NEXT: %d_1 = block.load %dk
  // CHECK-NEXT: block.yield %x_1, %d_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %o = block.outer %c, %d
  // CHECK-NEXT: %sum = block.add %x, %o
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %sum = block.map @K (%xk = %xs, %dk = %ds) -> (sum) : !Xs, !Ds {
    %x = block.load %xk : !block.block<M x N x f32, global>
    %d = block.load %dk : !block.vector<N x f32, global>
    %o = block.outer %c, %d : !C, !D
    %a = block.add %x, %o : !X
    block.yield %a : !X
  }
  func.return %sum : !X
}

// Declined where not: an operand depends on a reduced result, so that it can leave the sum next.
// CHECK-LABEL: func.func @addition_without_demand(
func.func @addition_without_demand(%xs: !Xs, %ys: !Xs, %c: !C) -> !X attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.map @K (%xk = %xs, %yk = %ys) -> (sum)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %y = block.load %yk
  // CHECK-NEXT: %s = block.row_shift %y, %c
  // CHECK-NEXT: %a = block.add %s, %x
  // CHECK-NEXT: block.yield %a
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs, %yk = %ys) -> (sum) : !Xs, !Xs {
    %x = block.load %xk : !block.block<M x N x f32, global>
    %y = block.load %yk : !block.block<M x N x f32, global>
    %s = block.row_shift %y, %c : !X, !C
    %a = block.add %s, %x : !X
    block.yield %a : !X
  }
  func.return %sum : !X
}

// CHECK-LABEL: func.func @addition_of_a_shift(
func.func @addition_of_a_shift(%xs: !Xs, %ys: !Xs, %cs: !Cs) -> !X attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %x, %y = block.map @K (%xk = %xs, %yk = %ys) -> (sum, sum)
  // CHECK-NEXT: %x_1 = block.load %xk
  // CHECK-NEXT: %y_1 = block.load %yk
  // CHECK-NEXT: block.yield %x_1, %y_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %c_1 = block.linear 3 * %c
  // CHECK-NEXT: %s = block.row_shift %y, %c_1
  // CHECK-NEXT: %sum = block.add %s, %x
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %sum = block.map @K (%xk = %xs, %yk = %ys) -> (sum) : !Xs, !Xs {
    %x = block.load %xk : !block.block<M x N x f32, global>
    %y = block.load %yk : !block.block<M x N x f32, global>
    %s = block.row_shift %y, %c : !X, !C
    %a = block.add %s, %x : !X
    block.yield %a : !X
  }
  func.return %sum : !X
}

// Declined where not: an addend is an outer product, a scale or a shift that can leave the sum next.
// CHECK-LABEL: func.func @addition_without_worthwhile(
func.func @addition_without_worthwhile(%xs: !Xs, %cs: !Cs) -> !X attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %sum = block.map @K (%xk = %xs) -> (sum)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %y = block.elementwise (%p = %s)
  // CHECK-NEXT: %z = math.tanh %p
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: %a = block.add %x, %y
  // CHECK-NEXT: block.yield %a
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %sum = block.map @K (%xk = %xs) -> (sum) : !Xs {
    %x = block.load %xk : !block.block<M x N x f32, global>
    %s = block.row_scale %x, %c : !X, !C
    %y = block.elementwise (%p = %s) : !X -> !X {
      %z = math.tanh %p : f32
      block.yield %z : f32
    }
    %a = block.add %x, %y : !X
    block.yield %a : !X
  }
  func.return %sum : !X
}

// sum { monomial x * c }
//   -> monomial (sum { x }) * c
// CHECK-LABEL: func.func @product(
func.func @product(%xs: !Cs, %c: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %x = block.map @K (%xk = %xs) -> (sum)
  // CHECK-NEXT: %x_1 = block.load %xk
  // CHECK-NEXT: block.yield %x_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %sum = block.monomial %x * %c
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs) -> (sum) : !Cs {
    %x = block.load %xk : !block.vector<M x f32, global>
    %p = block.monomial %x * %c : !C
    block.yield %p : !C
  }
  func.return %sum : !C
}

// Declined where not: the sum has 32 bits or more.
// CHECK-LABEL: func.func @product_without_wide(
func.func @product_without_wide(%xs: !block.list<K, vector<M x f16>>, %c: !block.vector<M x f16>) -> !block.vector<M x f16> attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.map @K (%xk = %xs) -> (sum)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %p = block.monomial %x * %c
  // CHECK-NEXT: block.yield %p
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs) -> (sum) : !block.list<K, vector<M x f16>> {
    %x = block.load %xk : !block.vector<M x f16, global>
    %p = block.monomial %x * %c : !block.vector<M x f16>
    block.yield %p : !block.vector<M x f16>
  }
  func.return %sum : !block.vector<M x f16>
}

// Divisors leave as well.
// CHECK-LABEL: func.func @product_of_powers(
func.func @product_of_powers(%xs: !Cs, %c: !C, %d: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %x = block.map @K (%xk = %xs) -> (sum)
  // CHECK-NEXT: %x_1 = block.load %xk
  // CHECK-NEXT: block.yield %x_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %sum = block.monomial %x * %d ** -1 * %c
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs) -> (sum) : !Cs {
    %x = block.load %xk : !block.vector<M x f32, global>
    %p = block.monomial %d ** -1 * %x * %c : !C
    block.yield %p : !C
  }
  func.return %sum : !C
}

// Declined where not: what changes is one factor, with the exponent 1.
// CHECK-LABEL: func.func @product_without_plain(
func.func @product_without_plain(%xs: !Cs, %ys: !Cs, %c: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.map @K (%xk = %xs, %yk = %ys) -> (sum)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %y = block.load %yk
  // CHECK-NEXT: %p = block.monomial %c * %x * %y
  // CHECK-NEXT: block.yield %p
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs, %yk = %ys) -> (sum) : !Cs, !Cs {
    %x = block.load %xk : !block.vector<M x f32, global>
    %y = block.load %yk : !block.vector<M x f32, global>
    %p = block.monomial %c * %x * %y : !C
    block.yield %p : !C
  }
  func.return %sum : !C
}

// Declined where not: at least one factor is the same in every iteration.
// CHECK-LABEL: func.func @product_without_invariant(
func.func @product_without_invariant(%xs: !Cs, %ys: !Cs) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.map @K (%xk = %xs, %yk = %ys) -> (sum)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %y = block.load %yk
  // CHECK-NEXT: %p = block.monomial %x * %y
  // CHECK-NEXT: block.yield %p
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs, %yk = %ys) -> (sum) : !Cs, !Cs {
    %x = block.load %xk : !block.vector<M x f32, global>
    %y = block.load %yk : !block.vector<M x f32, global>
    %p = block.monomial %x * %y : !C
    block.yield %p : !C
  }
  func.return %sum : !C
}

// Declined where not: at least one factor is not.
// `hoist-invariant` takes the product out first.
// CHECK-LABEL: func.func @product_without_changing(
func.func @product_without_changing(%xs: !Cs, %c: !C, %d: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.map @K () -> (sum)
  // CHECK-NEXT: %p = block.monomial %c * %d
  // CHECK-NEXT: block.yield %p
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs) -> (sum) : !Cs {
    %p = block.monomial %c * %d : !C
    block.yield %p : !C
  }
  func.return %sum : !C
}

// sum { linear x + width(K) * c }
//   -> linear (sum { x }) + extent(K) * c
// CHECK-LABEL: func.func @linear_form(
func.func @linear_form(%xs: !Cs, %c: !C) -> !C attributes {block.dims = {M = #block.dim<5, block = 2>, K = #block.dim<?, block = 3>}} {
  // CHECK-NEXT: %x = block.map @K (%xk = %xs) -> (sum)
  // CHECK-NEXT: %x_1 = block.load %xk
  // CHECK-NEXT: block.yield %x_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %sum = block.linear 1 * %x + 1 extent(K) * %c
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs) -> (sum) : !Cs {
    %x = block.load %xk : !block.vector<M x f32, global>
    %p = block.linear 1 * %x + 1 width(K) * %c : !C
    block.yield %p : !C
  }
  func.return %sum : !C
}

// Declined where not: the sum has 32 bits or more.
// CHECK-LABEL: func.func @linear_form_without_wide(
func.func @linear_form_without_wide(%xs: !block.list<K, vector<M x f16>>, %c: !block.vector<M x f16>) -> !block.vector<M x f16> attributes {block.dims = {M = #block.dim<5, block = 2>, K = #block.dim<?, block = 3>}} {
  // CHECK-NEXT: %sum = block.map @K (%xk = %xs) -> (sum)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %p = block.linear 1 * %x + 1 width(K) * %c
  // CHECK-NEXT: block.yield %p
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs) -> (sum) : !block.list<K, vector<M x f16>> {
    %x = block.load %xk : !block.vector<M x f16, global>
    %p = block.linear 1 * %x + 1 width(K) * %c : !block.vector<M x f16>
    block.yield %p : !block.vector<M x f16>
  }
  func.return %sum : !block.vector<M x f16>
}

// Where extent and block size are known, so are the width's sum (7) and the number of blocks (3).
// CHECK-LABEL: func.func @linear_form_of_a_known_extent(
func.func @linear_form_of_a_known_extent(%xs: !Cs, %ys: !Cs, %c: !C, %d: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %x, %y = block.map @K (%xk = %xs, %yk = %ys) -> (sum, sum)
  // CHECK-NEXT: %x_1 = block.load %xk
  // CHECK-NEXT: %y_1 = block.load %yk
  // CHECK-NEXT: block.yield %x_1, %y_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %sum = block.linear 3/2 * %x + -1 * %y + 14 * %c + 9 * %d
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs, %yk = %ys) -> (sum) : !Cs, !Cs {
    %x = block.load %xk : !block.vector<M x f32, global>
    %y = block.load %yk : !block.vector<M x f32, global>
    %p = block.linear 3/2 * %x + -1 * %y + 2 width(K) * %c + 3 * %d : !C
    block.yield %p : !C
  }
  func.return %sum : !C
}

// CHECK-LABEL: func.func @linear_form_of_invariants(
func.func @linear_form_of_invariants(%xs: !Cs, %c: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.linear 14 * %c
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs) -> (sum) : !Cs {
    %p = block.linear 2 width(K) * %c : !C
    block.yield %p : !C
  }
  func.return %sum : !C
}

// Products with a sum from outside: a term of a variance.
// CHECK-LABEL: func.func @linear_form_that_waits(
func.func @linear_form_that_waits(%xs: !Cs, %cs: !Cs) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %x, %x_1 = block.map @K (%xk = %xs) -> (sum, sum)
  // CHECK-NEXT: %x_2 = block.load %xk
  // CHECK-NEXT: block.yield %x_2, %x_2
  // CHECK-NEXT: }
  // CHECK-NEXT: %q = block.monomial %x_1 * %c
  // CHECK-NEXT: %sum = block.linear 1 * %x + -1/32 * %q
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %sum = block.map @K (%xk = %xs) -> (sum) : !Cs {
    %x = block.load %xk : !block.vector<M x f32, global>
    %q = block.monomial %x * %c : !C
    %p = block.linear 1 * %x + -1/32 * %q : !C
    block.yield %p : !C
  }
  func.return %sum : !C
}

// Declined where not: no coefficient of a term that changes is less than 1, or the sum waits for a whole loop.
// CHECK-LABEL: func.func @linear_form_without_growth(
func.func @linear_form_without_growth(%xs: !Cs) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.map @K (%xk = %xs) -> (sum)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %p = block.linear 1/7 * %x
  // CHECK-NEXT: block.yield %p
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs) -> (sum) : !Cs {
    %x = block.load %xk : !block.vector<M x f32, global>
    %p = block.linear 1/7 * %x : !C
    block.yield %p : !C
  }
  func.return %sum : !C
}

// Declined where not: the coefficient of a term that changes does not contain the width of the current block.
// CHECK-LABEL: func.func @linear_form_without_steady(
func.func @linear_form_without_steady(%xs: !Cs) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.map @K (%xk = %xs) -> (sum)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %p = block.linear 1 width(K) * %x
  // CHECK-NEXT: block.yield %p
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs) -> (sum) : !Cs {
    %x = block.load %xk : !block.vector<M x f32, global>
    %p = block.linear 1 width(K) * %x : !C
    block.yield %p : !C
  }
  func.return %sum : !C
}

// Declined where not: the coefficient of an invariant term contains that width at most once.
// CHECK-LABEL: func.func @linear_form_without_powers(
func.func @linear_form_without_powers(%xs: !Cs, %c: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.map @K (%xk = %xs) -> (sum)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %p = block.linear 1 * %x + 1 width(K) width(K) * %c
  // CHECK-NEXT: block.yield %p
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs) -> (sum) : !Cs {
    %x = block.load %xk : !block.vector<M x f32, global>
    %p = block.linear 1 * %x + 1 width(K) width(K) * %c : !C
    block.yield %p : !C
  }
  func.return %sum : !C
}

// sum over K { v }
//   -> linear blocks(K) * v
// CHECK-LABEL: func.func @invariant(
func.func @invariant(%xs: !Cs, %v: !C) -> !C attributes {block.dims = {M = #block.dim<5, block = 2>, K = #block.dim<?, block = 3>}} {
  // CHECK-NEXT: %sum = block.linear 1 blocks(K) * %v
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs) -> (sum) : !Cs {
    block.yield %v : !C
  }
  func.return %sum : !C
}

// CHECK-LABEL: func.func @invariant_of_a_known_number_of_blocks(
func.func @invariant_of_a_known_number_of_blocks(%xs: !Cs, %v: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.linear 3 * %v
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs) -> (sum) : !Cs {
    block.yield %v : !C
  }
  func.return %sum : !C
}

// Declined where not: v is the same in every iteration.
// CHECK-LABEL: func.func @invariant_without_invariant(
func.func @invariant_without_invariant(%xs: !Cs) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.map @K (%xk = %xs) -> (sum)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: block.yield %x
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs) -> (sum) : !Cs {
    %x = block.load %xk : !block.vector<M x f32, global>
    block.yield %x : !C
  }
  func.return %sum : !C
}

// CHECK-LABEL: func.func @invariant_not_integers(
func.func @invariant_not_integers(%xs: !Cs, %v: !block.vector<M x i32>) -> !block.vector<M x i32> attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.map @K () -> (sum)
  // CHECK-NEXT: block.yield %v
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %sum = block.map @K (%xk = %xs) -> (sum) : !Cs {
    block.yield %v : !block.vector<M x i32>
  }
  func.return %sum : !block.vector<M x i32>
}
