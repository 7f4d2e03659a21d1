// RUN: bb-opt %s --pseudo-code | filecheck %s --strict-whitespace --match-full-lines

// Regions of scalars as expressions.

// Numbers are what they stand for.
//       CHECK:numbers(x[M], h[M]) -> (o1[M], o2[M], o3[M])
//  CHECK-NEXT:    where M = 4 (whole)
// CHECK-EMPTY:
//  CHECK-NEXT:a = load x[M]
//  CHECK-NEXT:store o1[M] = a * (erf(a / √2) + 1) / 2
//  CHECK-NEXT:store o2[M] = min((a / 3 + a / √48 - 0.044715 * a - 1e-6)², inf)
//  CHECK-NEXT:store o3[M] = f16(exp2(load h[M]))
func.func @numbers(%x: tensor<4xf32>, %h: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf16>)
    attributes {block.dims = {M = #block.dim<4, whole>}} {
  %X = block.partition %x [M] : tensor<4xf32> -> !block.vector<M x f32, global>
  %H = block.partition %h [M] : tensor<4xf16> -> !block.vector<M x f16, global>
  %a = block.load %X : !block.vector<M x f32, global>
  %y = block.elementwise (%p = %a) : !block.vector<M x f32> -> !block.vector<M x f32> {
    %sqrt2 = arith.constant {bb.exact = 0.7071067811865476 : f64} 0.70710678 : f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %0 = arith.mulf %p, %sqrt2 : f32
    %1 = math.erf %0 : f32
    %2 = arith.addf %1, %one : f32
    %3 = arith.mulf %half, %p : f32
    %4 = arith.mulf %3, %2 : f32
    block.yield %4 : f32
  }
  %ys = block.store %y : !block.vector<M x f32>
  %z = block.elementwise (%p = %a) : !block.vector<M x f32> -> !block.vector<M x f32> {
    %third = arith.constant 0.333333343 : f32
    %sqrt48 = arith.constant 0.144337565 : f32
    %small = arith.constant {bb.exact = 1.000000e-06 : f64} 1.0e-06 : f32
    %decimal = arith.constant 0.044715 : f32
    %two = arith.constant 2.0 : f32
    %inf = arith.constant 0x7F800000 : f32
    %0 = arith.mulf %third, %p : f32
    %1 = arith.mulf %p, %sqrt48 : f32
    %2 = arith.addf %0, %1 : f32
    %3 = arith.mulf %decimal, %p : f32
    %4 = arith.subf %2, %3 : f32
    %5 = arith.subf %4, %small : f32
    %6 = math.powf %5, %two : f32
    %7 = arith.minimumf %6, %inf : f32
    block.yield %7 : f32
  }
  %zs = block.store %z : !block.vector<M x f32>
  %b = block.load %H : !block.vector<M x f16, global>
  // Only casts that round show.
  %w = block.elementwise (%p = %b) : !block.vector<M x f16> -> !block.vector<M x f16> {
    %0 = arith.extf %p : f16 to f32
    %1 = math.exp2 %0 : f32
    %2 = arith.truncf %1 : f32 to f16
    block.yield %2 : f16
  }
  %ws = block.store %w : !block.vector<M x f16>
  %o1 = block.assemble %ys [M] : !block.vector<M x f32, global> -> tensor<4xf32>
  %o2 = block.assemble %zs [M] : !block.vector<M x f32, global> -> tensor<4xf32>
  %o3 = block.assemble %ws [M] : !block.vector<M x f16, global> -> tensor<4xf16>
  func.return %o1, %o2, %o3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf16>
}

// What is the sigmoid is called so, across operators and with a scale inside; anything else is spelled out.
//       CHECK:sigmoids(x[M, N], c[M]) -> (o1[M, N], o2[M, N], o3[M, N])
//  CHECK-NEXT:    where M = 8 (whole), N = 6 (whole)
// CHECK-EMPTY:
//  CHECK-NEXT:a = load x[M, N]
//  CHECK-NEXT:store o1[M, N] = silu(a)
//  CHECK-NEXT:store o2[M, N] = sigmoid(row_scale(a, load c[M]))
//  CHECK-NEXT:store o3[M, N] = 1 / (2 + exp(-a))
func.func @sigmoids(%x: tensor<8x6xf32>, %c: tensor<8xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>}} {
  %X = block.partition %x [M, N] : tensor<8x6xf32> -> !block.block<M x N x f32, global>
  %C = block.partition %c [M] : tensor<8xf32> -> !block.vector<M x f32, global>
  %a = block.load %X : !block.block<M x N x f32, global>
  %v = block.load %C : !block.vector<M x f32, global>
  %neg = block.linear -1 * %a : !block.block<M x N x f32>
  %exp = block.elementwise (%p = %neg) : !block.block<M x N x f32> -> !block.block<M x N x f32> {
    %0 = math.exp %p : f32
    block.yield %0 : f32
  }
  %add = block.elementwise (%p = %exp) : !block.block<M x N x f32> -> !block.block<M x N x f32> {
    %one = arith.constant 1.0 : f32
    %0 = arith.addf %p, %one : f32
    block.yield %0 : f32
  }
  %div = block.monomial %a * %add ** -1 : !block.block<M x N x f32>
  %first = block.store %div : !block.block<M x N x f32>
  %falling = block.linear -1 * %a : !block.block<M x N x f32>
  %scaled = block.row_scale %falling, %v : !block.block<M x N x f32>, !block.vector<M x f32>
  %sigmoid = block.elementwise (%p = %scaled) : !block.block<M x N x f32> -> !block.block<M x N x f32> {
    %one = arith.constant 1.0 : f32
    %0 = math.exp %p : f32
    %1 = arith.addf %one, %0 : f32
    %2 = arith.divf %one, %1 : f32
    block.yield %2 : f32
  }
  %second = block.store %sigmoid : !block.block<M x N x f32>
  %other = block.elementwise (%p = %a) : !block.block<M x N x f32> -> !block.block<M x N x f32> {
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %n = arith.negf %p : f32
    %0 = math.exp %n : f32
    %1 = arith.addf %two, %0 : f32
    %2 = arith.divf %one, %1 : f32
    block.yield %2 : f32
  }
  %third = block.store %other : !block.block<M x N x f32>
  %o1 = block.assemble %first [M, N] : !block.block<M x N x f32, global> -> tensor<8x6xf32>
  %o2 = block.assemble %second [M, N] : !block.block<M x N x f32, global> -> tensor<8x6xf32>
  %o3 = block.assemble %third [M, N] : !block.block<M x N x f32, global> -> tensor<8x6xf32>
  func.return %o1, %o2, %o3 : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>
}

// Masks compare element indices; vectors that are broadcast are marked; what is made of indices alone tells its axes.
//       CHECK:masks(s[B, M, N], c[M], d[N]) -> (p[B, M, N], r[B, N, M])
//  CHECK-NEXT:    where B = 2 (batch), M = 8, N = 6
// CHECK-EMPTY:
//  CHECK-NEXT:forall b in B, m in M, n in N:
//  CHECK-NEXT:    s = load s[b, m, n]
//  CHECK-NEXT:    c = load c[m]
//  CHECK-NEXT:    t = (s - c·1ᵀ) * (1·(load d[n])ᵀ)
//  CHECK-NEXT:    store p[b, m, n] = where((n <= b + m) or (n == |N|), t, -inf)
//  CHECK-NEXT:    ramp = (m, n) ↦ m - n
//  CHECK-NEXT:    store r[b, n, m] = ((ramp + s) * ramp + c·1ᵀ)ᵀ
func.func @masks(%s: tensor<2x8x6xf32>, %c: tensor<8xf32>, %d: tensor<6xf32>) -> (tensor<2x8x6xf32>, tensor<2x6x8xf32>)
    attributes {block.dims = {B = #block.dim<2, batch>, M = #block.dim<8>, N = #block.dim<6>}} {
  %S = block.partition %s [B, M, N] : tensor<2x8x6xf32> -> !block.list<B, M, N, block<M x N x f32>>
  %C = block.partition %c [M] : tensor<8xf32> -> !block.list<M, vector<M x f32>>
  %D = block.partition %d [N] : tensor<6xf32> -> !block.list<N, vector<N x f32>>
  %P, %R = block.map @B (%Sb = %S) -> (stack, stack) : !block.list<B, M, N, block<M x N x f32>> {
    %Pb, %Rb = block.map @M (%Sbm = %Sb, %Cm = %C) -> (stack, stack) : !block.list<M, N, block<M x N x f32>>, !block.list<M, vector<M x f32>> {
      %Pbm, %Rbm = block.map @N (%Sbmn = %Sbm, %Dn = %D) -> (stack, stack) : !block.list<N, block<M x N x f32>>, !block.list<N, vector<N x f32>> {
        %s_1 = block.load %Sbmn : !block.block<M x N x f32, global>
        %c_1 = block.load %Cm : !block.vector<M x f32, global>
        %d_1 = block.load %Dn : !block.vector<N x f32, global>
        %p = block.elementwise (%x = %s_1, %y = %c_1, %z = %d_1) : !block.block<M x N x f32>, !block.vector<M x f32>, !block.vector<N x f32> -> !block.block<M x N x f32> {
          %b = block.index @B
          %m = block.index @M
          %n = block.index @N
          %k = block.extent @N
          %bm = arith.addi %b, %m : index
          %causal = arith.cmpi sle, %n, %bm : index
          %last = arith.cmpi eq, %n, %k : index
          %keep = arith.ori %causal, %last : i1
          %shifted = arith.subf %x, %y : f32
          %scaled = arith.mulf %shifted, %z : f32
          %low = arith.constant 0xff800000 : f32
          %0 = arith.select %keep, %scaled, %low : f32
          block.yield %0 : f32
        }
        %ps = block.store %p : !block.block<M x N x f32>
        %ramp = block.elementwise () -> !block.block<M x N x f32> {
          %m = block.index @M
          %n = block.index @N
          %difference = arith.subi %m, %n : index
          %i = arith.index_cast %difference : index to i32
          %f = arith.sitofp %i : i32 to f32
          block.yield %f : f32
        }
        %biased = block.add %ramp, %s_1 : !block.block<M x N x f32>
        %twice = block.mul %biased, %ramp : !block.block<M x N x f32>
        %spread = block.elementwise (%y = %c_1) : !block.vector<M x f32> -> !block.block<M x N x f32> {
          block.yield %y : f32
        }
        %all = block.add %twice, %spread : !block.block<M x N x f32>
        %rs = block.store %all : !block.block<M x N x f32>
        block.yield %ps, %rs : !block.block<M x N x f32, global>, !block.block<M x N x f32, global>
      }
      block.yield %Pbm, %Rbm : !block.list<N, block<M x N x f32>>, !block.list<N, block<M x N x f32>>
    }
    block.yield %Pb, %Rb : !block.list<M, N, block<M x N x f32>>, !block.list<M, N, block<M x N x f32>>
  }
  %p = block.assemble %P [B, M, N] : !block.list<B, M, N, block<M x N x f32>> -> tensor<2x8x6xf32>
  %r = block.assemble %R [B, N, M] : !block.list<B, M, N, block<M x N x f32>> -> tensor<2x6x8xf32>
  func.return %p, %r : tensor<2x8x6xf32>, tensor<2x6x8xf32>
}
