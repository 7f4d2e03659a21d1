// RUN: bb-opt %s -p block-stabilize --pseudo-code | filecheck %s
// RUN: bb-opt %s -p block-stabilize | bb-opt | bb-opt -p block-stabilize --pseudo-code | filecheck %s

!X = !block.block<M x N x f32>
!XG = !block.block<M x N x f32, global>
!Xs = !block.list<N, block<M x N x f32>>
!C = !block.vector<M x f32>
!CG = !block.vector<M x f32, global>
!Cs = !block.list<N, vector<M x f32>>
#dims = {M = #block.dim<5, whole>, N = #block.dim<7, block = 3>, H = #block.dim<4, batch>}

// The exponential of a statistic is 1 with the statistic as exponent: there is nothing to be summed.
//       CHECK:of_a_statistic(X[N], c) -> Y[N]
//  CHECK-NEXT:    where M = 5
// CHECK-EMPTY:
//  CHECK-NEXT:e = (M) ↦ 1
//  CHECK-NEXT:forall n in N:
//  CHECK-NEXT:    y = row_scale(load X[n], e)
//  CHECK-NEXT:    store Y[n] = where(y == 0, 0, y * (exp(c)·1ᵀ))
func.func @of_a_statistic(%X: !Xs, %c: !C) -> !Xs attributes {block.dims = #dims} {
  %e = block.elementwise (%p = %c) : !C -> !C {
    %z = math.exp %p : f32
    block.yield %z : f32
  }
  %Y = block.map @N (%x = %X) -> (stack) : !Xs {
    %a = block.load %x : !XG
    %y = block.row_scale %a, %e : !X, !C
    %s = block.store %y : !X
    block.yield %s : !XG
  }
  func.return %Y : !Xs
}

// A sum of pairs has the larger exponent.
//       CHECK:sum_of_pairs(X[N], Y[N]) -> value
//  CHECK-NEXT:    where M = 5
// CHECK-EMPTY:
//  CHECK-NEXT:top = -inf
//  CHECK-NEXT:t = 0
//  CHECK-NEXT:for n in N:  // t: in units of exp(top)
//  CHECK-NEXT:    a         = load X[n]
//  CHECK-NEXT:    b         = load Y[n]
//  CHECK-NEXT:    top2      = row_max(a)
//  CHECK-NEXT:    top3      = row_max(b)
//  CHECK-NEXT:    top4      = max(top2, top3)
//  CHECK-NEXT:    e         = exp(row_shift(a, -where(top2 == -inf, 0, top2)))
//  CHECK-NEXT:    rescaled  = e * (where(top2 == top4, 1, exp(top2 - top4))·1ᵀ)
//  CHECK-NEXT:    f         = exp(row_shift(b, -where(top3 == -inf, 0, top3)))
//  CHECK-NEXT:    rescaled2 = f * (where(top3 == top4, 1, exp(top3 - top4))·1ᵀ)
//  CHECK-NEXT:    new_top   = max(top, top4)
//  CHECK-NEXT:    fade      = where(top == new_top, 1, exp(top - new_top))
//  CHECK-NEXT:    unit      = where(top4 == new_top, 1, exp(top4 - new_top))
//  CHECK-NEXT:    t         = t * fade + row_sum(rescaled + rescaled2) * unit
//  CHECK-NEXT:    top       = new_top
//  CHECK-NEXT:value = where(t == 0, 0, t * exp(top))
func.func @sum_of_pairs(%X: !Xs, %Y: !Xs) -> !C attributes {block.dims = #dims} {
  %t = block.map @N (%x = %X, %y = %Y) -> (sum) : !Xs, !Xs {
    %a = block.load %x : !XG
    %b = block.load %y : !XG
    %e = block.elementwise (%p = %a) : !X -> !X {
      %z = math.exp %p : f32
      block.yield %z : f32
    }
    %f = block.elementwise (%p = %b) : !X -> !X {
      %z = math.exp %p : f32
      block.yield %z : f32
    }
    %s = block.add %e, %f : !X
    %r = block.row_sum %s acc f32 : !X
    block.yield %r : !C
  }
  func.return %t : !C
}

// What is plain has the exponent 0; a difference is a sum with one sign changed.
//       CHECK:difference_with_a_plain_block(X[N], Y[N]) -> value
//  CHECK-NEXT:    where M = 5
// CHECK-EMPTY:
//  CHECK-NEXT:top = -inf
//  CHECK-NEXT:t = 0
//  CHECK-NEXT:for n in N:  // t: in units of exp(top)
//  CHECK-NEXT:    a         = load X[n]
//  CHECK-NEXT:    top2      = row_max(a)
//  CHECK-NEXT:    zero      = (M) ↦ 0
//  CHECK-NEXT:    top3      = max(zero, top2)
//  CHECK-NEXT:    rescaled  = load Y[n] * (where(zero == top3, 1, exp(zero - top3))·1ᵀ)
//  CHECK-NEXT:    e         = exp(row_shift(a, -where(top2 == -inf, 0, top2)))
//  CHECK-NEXT:    rescaled2 = -e * (where(top2 == top3, 1, exp(top2 - top3))·1ᵀ)
//  CHECK-NEXT:    new_top   = max(top, top3)
//  CHECK-NEXT:    fade      = where(top == new_top, 1, exp(top - new_top))
//  CHECK-NEXT:    unit      = where(top3 == new_top, 1, exp(top3 - new_top))
//  CHECK-NEXT:    t         = t * fade + row_sum(rescaled + rescaled2) * unit
//  CHECK-NEXT:    top       = new_top
//  CHECK-NEXT:value = where(t == 0, 0, t * exp(top))
func.func @difference_with_a_plain_block(%X: !Xs, %Y: !Xs) -> !C attributes {block.dims = #dims} {
  %t = block.map @N (%x = %X, %y = %Y) -> (sum) : !Xs, !Xs {
    %a = block.load %x : !XG
    %b = block.load %y : !XG
    %e = block.elementwise (%p = %a) : !X -> !X {
      %z = math.exp %p : f32
      block.yield %z : f32
    }
    %s = block.sub %b, %e : !X
    %r = block.row_sum %s acc f32 : !X
    block.yield %r : !C
  }
  func.return %t : !C
}

// The exponents of numerator and denominator are the same, and cancel; x / 0 is 0.
//       CHECK:quotient(X[N], Y[N]) -> q
//  CHECK-NEXT:    where M = 5
// CHECK-EMPTY:
//  CHECK-NEXT:top = -inf
//  CHECK-NEXT:t = u = 0
//  CHECK-NEXT:for n in N:  // t, u: in units of exp(top)
//  CHECK-NEXT:    a       = load X[n]
//  CHECK-NEXT:    top2    = row_max(a)
//  CHECK-NEXT:    e       = exp(row_shift(a, -where(top2 == -inf, 0, top2)))
//  CHECK-NEXT:    new_top = max(top, top2)
//  CHECK-NEXT:    fade    = where(top == new_top, 1, exp(top - new_top))
//  CHECK-NEXT:    unit    = where(top2 == new_top, 1, exp(top2 - new_top))
//  CHECK-NEXT:    t       = t * fade + row_sum(e) * unit
//  CHECK-NEXT:    u       = u * fade + row_sum(e * load Y[n]) * unit
//  CHECK-NEXT:    top     = new_top
//  CHECK-NEXT:q = u * where(t == 0, 0, 1 / t)
func.func @quotient(%X: !Xs, %Y: !Xs) -> !C attributes {block.dims = #dims} {
  %t, %u = block.map @N (%x = %X, %y = %Y) -> (sum, sum) : !Xs, !Xs {
    %a = block.load %x : !XG
    %b = block.load %y : !XG
    %e = block.elementwise (%p = %a) : !X -> !X {
      %z = math.exp %p : f32
      block.yield %z : f32
    }
    %r = block.row_sum %e acc f32 : !X
    %m = block.mul %e, %b : !X
    %s = block.row_sum %m acc f32 : !X
    block.yield %r, %s : !C, !C
  }
  %q = block.monomial %u * %t ** -1 : !C
  func.return %q : !C
}

// Stored sums are two lists, and their reduction is a loop over both. Exponent and logarithm meet at the very end.
//       CHECK:reduction_of_a_list(X[N]) -> total
//  CHECK-NEXT:    where M = 5
// CHECK-EMPTY:
//  CHECK-NEXT:forall n in N:
//  CHECK-NEXT:    a   = load X[n]
//  CHECK-NEXT:    top = row_max(a)
//  CHECK-NEXT:    store Exponent[n] = top
//  CHECK-NEXT:    store R[n] = row_sum(exp(row_shift(a, -where(top == -inf, 0, top))))
//  CHECK-NEXT:top = -inf
//  CHECK-NEXT:t = 0
//  CHECK-NEXT:for n in N:  // t: in units of exp(top)
//  CHECK-NEXT:    exponent = load Exponent[n]
//  CHECK-NEXT:    new_top  = max(top, exponent)
//  CHECK-NEXT:    fade     = where(top == new_top, 1, exp(top - new_top))
//  CHECK-NEXT:    unit     = where(exponent == new_top, 1, exp(exponent - new_top))
//  CHECK-NEXT:    t        = t * fade + load R[n] * unit
//  CHECK-NEXT:    top      = new_top
//  CHECK-NEXT:total = top + log(t)
func.func @reduction_of_a_list(%X: !Xs) -> !C attributes {block.dims = #dims} {
  %R = block.map @N (%x = %X) -> (stack) : !Xs {
    %a = block.load %x : !XG
    %e = block.elementwise (%p = %a) : !X -> !X {
      %z = math.exp %p : f32
      block.yield %z : f32
    }
    %r = block.row_sum %e acc f32 : !X
    %s = block.store %r : !C
    block.yield %s : !CG
  }
  %t = block.reduce sum %R : !Cs
  %l = block.elementwise (%p = %t) : !C -> !C {
    %z = math.log %p : f32
    block.yield %z : f32
  }
  func.return %l : !C
}

// Where an exponential is a value (it is returned, or a maximum is taken of it), it is one again, if it can be.
//       CHECK:values(X[N]) -> (Y[N], value, mm)
//  CHECK-NEXT:    where M = 5
// CHECK-EMPTY:
//  CHECK-NEXT:top = mm = -inf
//  CHECK-NEXT:t = 0
//  CHECK-NEXT:for n in N:  // t: in units of exp(top)
//  CHECK-NEXT:    a     = load X[n]
//  CHECK-NEXT:    top2  = row_max(a)
//  CHECK-NEXT:    e     = exp(row_shift(a, -where(top2 == -inf, 0, top2)))
//  CHECK-NEXT:    value = where(e == 0, 0, e * (exp(top2)·1ᵀ))
//  CHECK-NEXT:    store Y[n] = value
//  CHECK-NEXT:    mm      = max(mm, row_max(value))
//  CHECK-NEXT:    new_top = max(top, top2)
//  CHECK-NEXT:    fade    = where(top == new_top, 1, exp(top - new_top))
//  CHECK-NEXT:    unit    = where(top2 == new_top, 1, exp(top2 - new_top))
//  CHECK-NEXT:    t       = t * fade + row_sum(e) * unit
//  CHECK-NEXT:    top     = new_top
//  CHECK-NEXT:value = where(t == 0, 0, t * exp(top))
func.func @values(%X: !Xs) -> (!Xs, !C, !C) attributes {block.dims = #dims} {
  %Y, %t, %m = block.map @N (%x = %X) -> (stack, sum, max) : !Xs {
    %a = block.load %x : !XG
    %e = block.elementwise (%p = %a) : !X -> !X {
      %z = math.exp %p : f32
      block.yield %z : f32
    }
    %r = block.row_sum %e acc f32 : !X
    %s = block.store %e : !X
    %q = block.row_max %e : !X
    block.yield %s, %r, %q : !XG, !C, !C
  }
  func.return %Y, %t, %m : !Xs, !C, !C
}

// A sum of relative sums is one; an exponent that is the same for all iterations stays outside.
//       CHECK:nested(X[H, N], c) -> (value, value2)
//  CHECK-NEXT:    where M = 5
// CHECK-EMPTY:
//  CHECK-NEXT:e = (M) ↦ 1
//  CHECK-NEXT:top = -inf
//  CHECK-NEXT:t = w = 0
//  CHECK-NEXT:for h in H:  // t: in units of exp(top)
//  CHECK-NEXT:    top2 = -inf
//  CHECK-NEXT:    u = 0
//  CHECK-NEXT:    for n in N:  // u: in units of exp(top2)
//  CHECK-NEXT:        a        = load X[h, n]
//  CHECK-NEXT:        top3     = row_max(a)
//  CHECK-NEXT:        new_top2 = max(top2, top3)
//  CHECK-NEXT:        fade     = where(top2 == new_top2, 1, exp(top2 - new_top2))
//  CHECK-NEXT:        unit     = where(top3 == new_top2, 1, exp(top3 - new_top2))
//  CHECK-NEXT:        u        = u * fade + row_sum(exp(row_shift(a, -where(top3 == -inf, 0, top3)))) * unit
//  CHECK-NEXT:        top2     = new_top2
//  CHECK-NEXT:    w      += e * c
//  CHECK-NEXT:    new_top = max(top, top2)
//  CHECK-NEXT:    fade    = where(top == new_top, 1, exp(top - new_top))
//  CHECK-NEXT:    unit    = where(top2 == new_top, 1, exp(top2 - new_top))
//  CHECK-NEXT:    t       = t * fade + u * e * unit
//  CHECK-NEXT:    top     = new_top
//  CHECK-NEXT:value  = where(t == 0, 0, t * exp(top + c))
//  CHECK-NEXT:value2 = where(w == 0, 0, w * exp(c))
func.func @nested(%X: !block.list<H, N, block<M x N x f32>>, %c: !C) -> (!C, !C) attributes {block.dims = #dims} {
  %e = block.elementwise (%p = %c) : !C -> !C {
    %z = math.exp %p : f32
    block.yield %z : f32
  }
  %t, %w = block.map @H (%xh = %X) -> (sum, sum) : !block.list<H, N, block<M x N x f32>> {
    %u = block.map @N (%x = %xh) -> (sum) : !Xs {
      %a = block.load %x : !XG
      %f = block.elementwise (%p = %a) : !X -> !X {
        %z = math.exp %p : f32
        block.yield %z : f32
      }
      %r = block.row_sum %f acc f32 : !X
      block.yield %r : !C
    }
    %s = block.monomial %u * %e : !C
    %v = block.monomial %e * %c : !C
    block.yield %s, %v : !C, !C
  }
  func.return %t, %w : !C, !C
}

// A vector of exponentials that is summed in the end is brought to one exponent first.
//       CHECK:exponent_of_each_element(V[N]) -> value
//  CHECK-NEXT:    where M = 5
// CHECK-EMPTY:
//  CHECK-NEXT:top = -inf
//  CHECK-NEXT:t = 0
//  CHECK-NEXT:for n in N:  // t: in units of exp(top)
//  CHECK-NEXT:    a       = load V[n]
//  CHECK-NEXT:    top2    = row_max(a)
//  CHECK-NEXT:    new_top = max(top, top2)
//  CHECK-NEXT:    fade    = where(top == new_top, 1, exp(top - new_top))
//  CHECK-NEXT:    unit    = where(top2 == new_top, 1, exp(top2 - new_top))
//  CHECK-NEXT:    t       = t * fade + row_sum(a * where(a == top2, 1, exp(a - top2))) * unit
//  CHECK-NEXT:    top     = new_top
//  CHECK-NEXT:value = where(t == 0, 0, t * exp(top))
func.func @exponent_of_each_element(%V: !block.list<N, vector<N x f32>>) -> !block.scalar<f32> attributes {block.dims = #dims} {
  %t = block.map @N (%v = %V) -> (sum) : !block.list<N, vector<N x f32>> {
    %a = block.load %v : !block.vector<N x f32, global>
    %e = block.elementwise (%p = %a) : !block.vector<N x f32> -> !block.vector<N x f32> {
      %z = math.exp %p : f32
      block.yield %z : f32
    }
    %m = block.monomial %e * %a : !block.vector<N x f32>
    %r = block.row_sum %m acc f32 : !block.vector<N x f32>
    block.yield %r : !block.scalar<f32>
  }
  func.return %t : !block.scalar<f32>
}

// Half a logarithm is no whole number of exponents: it is evaluated, with the exponent.
//       CHECK:half_of_a_logarithm(X[N]) -> value
//  CHECK-NEXT:    where M = 5
// CHECK-EMPTY:
//  CHECK-NEXT:top = -inf
//  CHECK-NEXT:t = 0
//  CHECK-NEXT:for n in N:  // t: in units of exp(top)
//  CHECK-NEXT:    a       = load X[n]
//  CHECK-NEXT:    top2    = row_max(a)
//  CHECK-NEXT:    new_top = max(top, top2)
//  CHECK-NEXT:    fade    = where(top == new_top, 1, exp(top - new_top))
//  CHECK-NEXT:    unit    = where(top2 == new_top, 1, exp(top2 - new_top))
//  CHECK-NEXT:    t       = t * fade + row_sum(exp(row_shift(a, -where(top2 == -inf, 0, top2)))) * unit
//  CHECK-NEXT:    top     = new_top
//  CHECK-NEXT:q     = where(t == 0, 0, 1 / t)
//  CHECK-NEXT:value = where(q == 0, 0, q * exp(top / 2 + log(t) / 2 - top))
func.func @half_of_a_logarithm(%X: !Xs) -> !C attributes {block.dims = #dims} {
  %t = block.map @N (%x = %X) -> (sum) : !Xs {
    %a = block.load %x : !XG
    %e = block.elementwise (%p = %a) : !X -> !X {
      %z = math.exp %p : f32
      block.yield %z : f32
    }
    %r = block.row_sum %e acc f32 : !X
    block.yield %r : !C
  }
  %l = block.elementwise (%p = %t) : !C -> !C {
    %z = math.log %p : f32
    block.yield %z : f32
  }
  %h = block.linear 1/2 * %l : !C
  %e = block.elementwise (%p = %h) : !C -> !C {
    %z = math.exp %p : f32
    block.yield %z : f32
  }
  %q = block.monomial %e * %t ** -1 : !C
  func.return %q : !C
}
