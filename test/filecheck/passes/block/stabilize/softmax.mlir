// RUN: bb-opt %s -p array-decompose,array-to-block,block-fuse,block-stabilize --pseudo-code | filecheck %s
// RUN: bb-opt %s -p "array-decompose,array-to-block,block-fuse{snapshot=0},block-stabilize" --pseudo-code | filecheck %s --check-prefix STORED

// The exponentials are made twice; the sum's exponent and the block's do not cancel, and what is left is materialised.
//       CHECK:softmax(x[M, N]) -> probs[M, N]
//       CHECK:forall m in M:
//  CHECK-NEXT:    top = -inf
//  CHECK-NEXT:    total = 0
//  CHECK-NEXT:    for n in N:  // total: in units of exp(top)
//  CHECK-NEXT:        x       = load x[m, n]
//  CHECK-NEXT:        top2    = row_max(x)
//  CHECK-NEXT:        new_top = max(top, top2)
//  CHECK-NEXT:        fade    = where(top == new_top, 1, exp(top - new_top))
//  CHECK-NEXT:        unit    = where(top2 == new_top, 1, exp(top2 - new_top))
//  CHECK-NEXT:        total   = total * fade + row_sum(exp(row_shift(x, -where(top2 == -inf, 0, top2)))) * unit
//  CHECK-NEXT:        top     = new_top
//  CHECK-NEXT:    inv = where(total == 0, 0, 1 / total)
//  CHECK-NEXT:    forall n in N:
//  CHECK-NEXT:        x     = load x[m, n]
//  CHECK-NEXT:        top2  = row_max(x)
//  CHECK-NEXT:        probs = row_scale(exp(row_shift(x, -where(top2 == -inf, 0, top2))), inv)
//  CHECK-NEXT:        store probs[m, n] = where(probs == 0, 0, probs * (exp(top2 - top)·1ᵀ))

// A list of exponentials is a list of significands and one of exponents.
//       STORED:softmax(x[M, N]) -> probs[M, N]
//       STORED:        store Exponent[n] = top2
//  STORED-NEXT:        store Exp[n] = e
//       STORED:    inv = where(total == 0, 0, 1 / total)
//  STORED-NEXT:    forall n in N:
//  STORED-NEXT:        probs = row_scale(load Exp[n], inv)
//  STORED-NEXT:        store probs[m, n] = where(probs == 0, 0, probs * (exp(load Exponent[n] - top)·1ᵀ))
func.func @softmax(%x: tensor<10x9xf32>) -> tensor<10x9xf32> {
  %probs = array.softmax %x axis 1 : tensor<10x9xf32>
  func.return %probs : tensor<10x9xf32>
}

// CHECK-LABEL: logsumexp(
//       CHECK:    for n in N:  // total: in units of exp(top)
//       CHECK:    store out[m] = top + log(total)
func.func @logsumexp(%x: tensor<10x9xf32>) -> tensor<10xf32> {
  %max = array.reduce max %x axes [1] keepdims : tensor<10x9xf32> -> tensor<10x1xf32>
  %weights = array.elementwise (%a = %x, %b = %max) : tensor<10x9xf32>, tensor<10x1xf32> -> tensor<10x9xf32> {
    %shifted = arith.subf %a, %b : f32
    %exp = math.exp %shifted : f32
    array.yield %exp : f32
  }
  %sum = array.reduce sum %weights axes [1] keepdims : tensor<10x9xf32> -> tensor<10x1xf32>
  %column = array.elementwise (%a = %sum, %b = %max) : tensor<10x1xf32>, tensor<10x1xf32> -> tensor<10x1xf32> {
    %log = math.log %a : f32
    %total = arith.addf %b, %log : f32
    array.yield %total : f32
  }
  %out = array.reshape %column : tensor<10x1xf32> -> tensor<10xf32>
  func.return %out : tensor<10xf32>
}

// The logarithm is small and the exponent may be large: each is subtracted by itself.
// CHECK-LABEL: log_softmax(
//       CHECK:    log_ = log(total)
//  CHECK-NEXT:    forall n in N:
//  CHECK-NEXT:        shifted = row_shift(load x[m, n], -where(top == -inf, 0, top))
//  CHECK-NEXT:        store out[m, n] = row_shift(shifted, -where(log_ == -inf, 0, log_))
func.func @log_softmax(%x: tensor<10x9xf32>) -> tensor<10x9xf32> {
  %weights = array.elementwise (%a = %x) : tensor<10x9xf32> -> tensor<10x9xf32> {
    %exp = math.exp %a : f32
    array.yield %exp : f32
  }
  %sum = array.reduce sum %weights axes [1] keepdims : tensor<10x9xf32> -> tensor<10x1xf32>
  %log = array.elementwise (%a = %sum) : tensor<10x1xf32> -> tensor<10x1xf32> {
    %log = math.log %a : f32
    array.yield %log : f32
  }
  %out = array.elementwise (%a = %x, %b = %log) : tensor<10x9xf32>, tensor<10x1xf32> -> tensor<10x9xf32> {
    %difference = arith.subf %a, %b : f32
    array.yield %difference : f32
  }
  func.return %out : tensor<10x9xf32>
}

// 16 bits: the program's own maximum is the exponent, and cancels.
// CHECK-LABEL: half(
//       CHECK:        top2    = row_max(x)
//  CHECK-NOT:         row_max
//       CHECK:    store out[m] = bf16(top + log(bf16(total)))
func.func @half(%x: tensor<10x9xbf16>) -> tensor<10xbf16> {
  %max = array.reduce max %x axes [1] keepdims : tensor<10x9xbf16> -> tensor<10x1xbf16>
  %weights = array.elementwise (%a = %x, %b = %max) : tensor<10x9xbf16>, tensor<10x1xbf16> -> tensor<10x9xbf16> {
    %shifted = arith.subf %a, %b : bf16
    %exp = math.exp %shifted : bf16
    array.yield %exp : bf16
  }
  %sum = array.reduce sum %weights axes [1] keepdims : tensor<10x9xbf16> -> tensor<10x1xbf16>
  %column = array.elementwise (%a = %sum, %b = %max) : tensor<10x1xbf16>, tensor<10x1xbf16> -> tensor<10x1xbf16> {
    %log = math.log %a : bf16
    %total = arith.addf %b, %log : bf16
    array.yield %total : bf16
  }
  %out = array.reshape %column : tensor<10x1xbf16> -> tensor<10xbf16>
  func.return %out : tensor<10xbf16>
}
