// RUN: bb-opt %s -p array-decompose,array-to-block,block-fuse,block-stabilize --pseudo-code | filecheck %s
// RUN: bb-opt %s -p array-decompose,array-to-block,block-fuse,block-stabilize | filecheck %s --check-prefix IR

// The online softmax: a running maximum, and sums in its units. Nothing is looked for that is called softmax.
//       CHECK:attention(q[M, K], k[N, K], v[N, L]) -> out[M, L]
//  CHECK-NEXT:    where M = 12, N = 24, K = 16, L = 8
// CHECK-EMPTY:
//  CHECK-NEXT:forall m in M, l in L:
//  CHECK-NEXT:    top = -inf
//  CHECK-NEXT:    total = out = 0
//  CHECK-NEXT:    for n in N:  // total, out: in units of exp(top)
//  CHECK-NEXT:        scores = 0
//  CHECK-NEXT:        for kk in K:
//  CHECK-NEXT:            q       = load q[m, kk]
//  CHECK-NEXT:            k       = load k[n, kk]
//  CHECK-NEXT:            scores += dot(q, k)
//  CHECK-NEXT:        scaled  = scores / 4
//  CHECK-NEXT:        top2    = row_max(scaled)
//  CHECK-NEXT:        e       = exp(row_shift(scaled, -where(top2 == -inf, 0, top2)))
//  CHECK-NEXT:        v       = load v[n, l]ᵀ
//  CHECK-NEXT:        new_top = max(top, top2)
//  CHECK-NEXT:        fade    = where(top == new_top, 1, exp(top - new_top))
//  CHECK-NEXT:        unit    = where(top2 == new_top, 1, exp(top2 - new_top))
//  CHECK-NEXT:        total   = total * fade + row_sum(e) * unit
//  CHECK-NEXT:        out     = row_scale(out, fade) + row_scale(dot(e, v), unit)
//  CHECK-NEXT:        top     = new_top
//  CHECK-NEXT:    store out[m, l] = row_scale(out, where(total == 0, 0, 1 / total))

// IR-LABEL: func.func @attention(
// IR-SAME: bb.stabilized
// IR: %top, %sum, %out = block.map @N (%K_n = %K, %V_ln = %V_l) -> (max, sum rel 0, sum rel 0)
// IR: %scaled = block.linear 1/4 * %scores
// IR-NEXT: %top_1 = block.row_max %scaled : !block.block<M x N x f32>
// IR-NEXT: %pivot = block.elementwise (%top_2 = %top_1)
// IR-NEXT: %0 = arith.constant 0xff800000 : f32
// IR-NEXT: %1 = arith.cmpf oeq, %top_2, %0 : f32
// IR-NEXT: %2 = arith.constant 0.000000e+00 : f32
// IR-NEXT: %3 = arith.select %1, %2, %top_2 : f32
// IR-NEXT: block.yield %3 : f32
// IR-NEXT: }
// IR-NEXT: %neg = block.linear -1 * %pivot
// IR-NEXT: %shifted = block.row_shift %scaled, %neg
// IR-NEXT: %exp = block.elementwise (%shifted_1 = %shifted)
// IR-NEXT: %4 = math.exp %shifted_1 : f32
// IR-NEXT: block.yield %4 : f32
// IR-NEXT: }
// IR-NEXT: %sum_1 = block.row_sum %exp acc f32
// IR-NEXT: %v_1 = block.load %V_ln
// IR-NEXT: %out_1 = block.dot %exp, %v_1 acc f32
// IR-NEXT: block.yield %top_1, %sum_1, %out_1
func.func @attention(%q: tensor<12x16xf32>, %k: tensor<24x16xf32>, %v: tensor<24x8xf32>) -> tensor<12x8xf32> {
  %out = array.attention %q, %k, %v : tensor<12x16xf32>, tensor<24x16xf32>, tensor<24x8xf32> -> tensor<12x8xf32>
  func.return %out : tensor<12x8xf32>
}

// A mask stands before the maximum: a block that is hidden as a whole has the exponent -inf.
// CHECK-LABEL: causal(
//       CHECK:        causal  = where(n <= m, scores / 4, -inf)
//  CHECK-NEXT:        top2    = row_max(causal)
//  CHECK-NEXT:        e       = exp(row_shift(causal, -where(top2 == -inf, 0, top2)))
//       CHECK:    store out[m, l] = row_scale(out, where(total == 0, 0, 1 / total))
func.func @causal(%q: tensor<16x16xf32>, %k: tensor<16x16xf32>, %v: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %out = array.attention %q, %k, %v causal
    : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
  func.return %out : tensor<16x8xf32>
}

// CHECK-LABEL: masked(
//       CHECK:        masked  = where(keep, scores / 4, -inf)
//  CHECK-NEXT:        top2    = row_max(masked)
//  CHECK-NEXT:        e       = exp(row_shift(masked, -where(top2 == -inf, 0, top2)))
//       CHECK:    store out[m, l] = row_scale(out, where(total == 0, 0, 1 / total))
func.func @masked(%q: tensor<12x16xf32>, %k: tensor<24x16xf32>, %v: tensor<24x8xf32>, %keep: tensor<12x24xi1>) -> tensor<12x8xf32> {
  %out = array.attention %q, %k, %v mask(%keep : tensor<12x24xi1>)
    : tensor<12x16xf32>, tensor<24x16xf32>, tensor<24x8xf32> -> tensor<12x8xf32>
  func.return %out : tensor<12x8xf32>
}

// 16 bits: maximum, exponential and sums are those of f32; the exponential is rounded to be contracted.
// CHECK-LABEL: half(
//       CHECK:        e       = exp(row_shift(scaled, -where(top2 == -inf, 0, top2)))
//  CHECK-NEXT:        v       = load v[n, l]ᵀ
//  CHECK-NEXT:        e2      = bf16(e)
//       CHECK:        total   = total * fade + row_sum(e) * unit
//  CHECK-NEXT:        out     = row_scale(out, fade) + row_scale(dot(e2, v), unit)
//  CHECK-NEXT:        top     = new_top
//  CHECK-NEXT:    store out[m, l] = bf16(row_scale(out, where(total == 0, 0, 1 / total)))
func.func @half(%q: tensor<12x16xbf16>, %k: tensor<24x16xbf16>, %v: tensor<24x8xbf16>) -> tensor<12x8xbf16> {
  %out = array.attention %q, %k, %v : tensor<12x16xbf16>, tensor<24x16xbf16>, tensor<24x8xbf16> -> tensor<12x8xbf16>
  func.return %out : tensor<12x8xbf16>
}
