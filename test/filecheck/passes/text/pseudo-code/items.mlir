// RUN: bb-opt %s --pseudo-code | filecheck %s --strict-whitespace --match-full-lines

// What each operator on items becomes.

//       CHECK:operators(x[M, N], y[M, N], c[M], d[N]) -> (o1[M, N], o2[M, N], o3[M, K], o4[M])
//  CHECK-NEXT:    where M = K = 8 (whole), N = 6 (whole)
// CHECK-EMPTY:
//  CHECK-NEXT:a = load x[M, N]
//  CHECK-NEXT:z = load x[K, N]
//  CHECK-NEXT:b = load y[M, N]
//  CHECK-NEXT:v = load c[M]
//  CHECK-NEXT:w = load d[N]
//  CHECK-NEXT:store o1[M, N] = a² * (a + b - b) * b
//  CHECK-NEXT:total = row_scale(row_shift(a, v), v) + col_scale(col_shift(b, w), w)
//  CHECK-NEXT:store o2[M, N] = total - outer(v, w)
//  CHECK-NEXT:e    = a + b
//  CHECK-NEXT:dot_ = dot(e, z)
//  CHECK-NEXT:store o3[M, K] = 2 * dot_
//  CHECK-NEXT:top  = row_max(b)
//  CHECK-NEXT:low  = row_min(b)
//  CHECK-NEXT:sums = row_sum(b)
//  CHECK-NEXT:one  = row_sum(sums)
//  CHECK-NEXT:p, q = @callback(top, low, sums)
//  CHECK-NEXT:store o4[M] = p - q
func.func @operators(%x: tensor<8x6xf32>, %y: tensor<8x6xf32>, %c: tensor<8xf32>, %d: tensor<6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x8xf32>, tensor<8xf32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<8, whole>}} {
  %X = block.partition %x [M, N] : tensor<8x6xf32> -> !block.block<M x N x f32, global>
  %Z = block.partition %x [K, N] : tensor<8x6xf32> -> !block.block<K x N x f32, global>
  %Y = block.partition %y [M, N] : tensor<8x6xf32> -> !block.block<M x N x f32, global>
  %C = block.partition %c [M] : tensor<8xf32> -> !block.vector<M x f32, global>
  %D = block.partition %d [N] : tensor<6xf32> -> !block.vector<N x f32, global>
  %a = block.load %X : !block.block<M x N x f32, global>
  %z = block.load %Z : !block.block<K x N x f32, global>
  %b = block.load %Y : !block.block<M x N x f32, global>
  %v = block.load %C : !block.vector<M x f32, global>
  %w = block.load %D : !block.vector<N x f32, global>
  // Sums, differences and products are flat.
  %add = block.add %a, %b : !block.block<M x N x f32>
  %sub = block.sub %add, %b : !block.block<M x N x f32>
  %mul = block.mul %sub, %b : !block.block<M x N x f32>
  %square = block.mul %mul, %a : !block.block<M x N x f32>
  %more = block.mul %a, %square : !block.block<M x N x f32>
  %first = block.store %more : !block.block<M x N x f32>
  // Vectors along rows and columns.
  %rshift = block.row_shift %a, %v : !block.block<M x N x f32>, !block.vector<M x f32>
  %rscale = block.row_scale %rshift, %v : !block.block<M x N x f32>, !block.vector<M x f32>
  %cshift = block.col_shift %b, %w : !block.block<M x N x f32>, !block.vector<N x f32>
  %cscale = block.col_scale %cshift, %w : !block.block<M x N x f32>, !block.vector<N x f32>
  %outer = block.outer %v, %w : !block.vector<M x f32>, !block.vector<N x f32>
  %sum = block.add %rscale, %cscale : !block.block<M x N x f32>
  %total = block.sub %sum, %outer : !block.block<M x N x f32>
  %second = block.store %total : !block.block<M x N x f32>
  // A dot product has a line of its own; its operands have names.
  %e = block.add %a, %b : !block.block<M x N x f32>
  %dot = block.dot %e, %z acc f32 : !block.block<M x N x f32>, !block.block<K x N x f32>
  %twice = block.linear 2 * %dot : !block.block<M x K x f32>
  %third = block.store %twice : !block.block<M x K x f32>
  // Reductions of rows; a name that is a function's gets another.
  %max = block.row_max %b : !block.block<M x N x f32>
  %min = block.row_min %b : !block.block<M x N x f32>
  %sums = block.row_sum %b acc f32 : !block.block<M x N x f32>
  %one = block.row_sum %sums acc f32 : !block.vector<M x f32>
  %p, %q = block.custom @callback(%max, %min, %sums) {note = 1 : i64} : (!block.vector<M x f32>, !block.vector<M x f32>, !block.vector<M x f32>) -> (!block.vector<M x f32>, !block.vector<M x f32>)
  %r = block.sub %p, %q : !block.vector<M x f32>
  %fourth = block.store %r : !block.vector<M x f32>
  %o1 = block.assemble %first [M, N] : !block.block<M x N x f32, global> -> tensor<8x6xf32>
  %o2 = block.assemble %second [M, N] : !block.block<M x N x f32, global> -> tensor<8x6xf32>
  %o3 = block.assemble %third [M, K] : !block.block<M x K x f32, global> -> tensor<8x8xf32>
  %o4 = block.assemble %fourth [M] : !block.vector<M x f32, global> -> tensor<8xf32>
  func.return %o1, %o2, %o3, %o4 : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x8xf32>, tensor<8xf32>
}

// Linear forms with exact coefficients, extents, block counts and widths; products of powers.
//       CHECK:algebra(q[M], m[M], c[M]) -> (var[M], ratio[M])
//  CHECK-NEXT:    where M = ?, K = 96 (blocks of 32)
// CHECK-EMPTY:
//  CHECK-NEXT:forall mm in M:
//  CHECK-NEXT:    qs = load q[mm]
//  CHECK-NEXT:    ms = load m[mm]
//  CHECK-NEXT:    cs = load c[mm]
//  CHECK-NEXT:    store var[mm] = qs / 96 - ms² + 2 * |K| * ms - #K * w(K) * cs / 4
//  CHECK-NEXT:    store ratio[mm] = qs / (cs² * ms)
func.func @algebra(%q: tensor<?xf32>, %m: tensor<?xf32>, %c: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>)
    attributes {block.dims = {M = #block.dim<?>, K = #block.dim<96, block = 32>}} {
  %Q = block.partition %q [M] : tensor<?xf32> -> !block.list<M, vector<M x f32>>
  %Means = block.partition %m [M] : tensor<?xf32> -> !block.list<M, vector<M x f32>>
  %C = block.partition %c [M] : tensor<?xf32> -> !block.list<M, vector<M x f32>>
  %A, %B = block.map @M (%Qm = %Q, %Mm = %Means, %Cm = %C) -> (stack, stack) : !block.list<M, vector<M x f32>>, !block.list<M, vector<M x f32>>, !block.list<M, vector<M x f32>> {
    %qs = block.load %Qm : !block.vector<M x f32, global>
    %ms = block.load %Mm : !block.vector<M x f32, global>
    %cs = block.load %Cm : !block.vector<M x f32, global>
    %square = block.monomial %ms ** 2 : !block.vector<M x f32>
    %var = block.linear -1 * %square + 1/96 * %qs + 2 extent(K) * %ms + -0.25 width(K) blocks(K) * %cs : !block.vector<M x f32>
    %vs = block.store %var : !block.vector<M x f32>
    %ratio = block.monomial %qs * %cs ** -2 * %ms ** -1 : !block.vector<M x f32>
    %rs = block.store %ratio : !block.vector<M x f32>
    block.yield %vs, %rs : !block.vector<M x f32, global>, !block.vector<M x f32, global>
  }
  %var = block.assemble %A [M] : !block.list<M, vector<M x f32>> -> tensor<?xf32>
  %ratio = block.assemble %B [M] : !block.list<M, vector<M x f32>> -> tensor<?xf32>
  func.return %var, %ratio : tensor<?xf32>, tensor<?xf32>
}

// A line that would be too long is written in steps.
//       CHECK:long_lines(with_a_rather_long_name[M], with_quite_a_long_name_too[M]) -> y[M]
//  CHECK-NEXT:    where M = 8
// CHECK-EMPTY:
//  CHECK-NEXT:forall m in M:
//  CHECK-NEXT:    first_operand  = load with_a_rather_long_name[m]
//  CHECK-NEXT:    second_operand = load with_quite_a_long_name_too[m]
//  CHECK-NEXT:    product        = first_operand * second_operand
//  CHECK-NEXT:    t              = exp(first_operand) * tanh(second_operand) + product - second_operand
//  CHECK-NEXT:    store y[m] = erf(abs(max(log1p(sqrt(t)), first_operand) / second_operand))
func.func @long_lines(%with_a_rather_long_name: tensor<8xf32>, %with_quite_a_long_name_too: tensor<8xf32>) -> tensor<8xf32>
    attributes {block.dims = {M = #block.dim<8>}} {
  %A = block.partition %with_a_rather_long_name [M] : tensor<8xf32> -> !block.list<M, vector<M x f32>>
  %B = block.partition %with_quite_a_long_name_too [M] : tensor<8xf32> -> !block.list<M, vector<M x f32>>
  %Y = block.map @M (%Am = %A, %Bm = %B) -> (stack) : !block.list<M, vector<M x f32>>, !block.list<M, vector<M x f32>> {
    %first_operand = block.load %Am : !block.vector<M x f32, global>
    %second_operand = block.load %Bm : !block.vector<M x f32, global>
    %product = block.mul %first_operand, %second_operand : !block.vector<M x f32>
    %difference = block.sub %product, %second_operand : !block.vector<M x f32>
    %y = block.elementwise (%p = %first_operand, %q = %second_operand, %r = %difference) : !block.vector<M x f32>, !block.vector<M x f32>, !block.vector<M x f32> -> !block.vector<M x f32> {
      %0 = math.exp %p : f32
      %1 = math.tanh %q : f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %2, %r : f32
      %4 = math.sqrt %3 : f32
      %5 = math.log1p %4 : f32
      %6 = arith.maximumf %5, %p : f32
      %7 = arith.divf %6, %q : f32
      %8 = math.absf %7 : f32
      %9 = math.erf %8 : f32
      block.yield %9 : f32
    }
    %ys = block.store %y : !block.vector<M x f32>
    block.yield %ys : !block.vector<M x f32, global>
  }
  %y = block.assemble %Y [M] : !block.list<M, vector<M x f32>> -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}
