// RUN: bb-opt %s --pseudo-code | filecheck %s --strict-whitespace --match-full-lines

// Programs of whole arrays, one operation a line.

//       CHECK:composites(x[8, 16], g[16], b[16]) -> e[8, 16]
// CHECK-EMPTY:
//  CHECK-NEXT:n = layer_norm(x, scale=g, shift=b, eps=1e-5)
//  CHECK-NEXT:m = rms_norm(n, eps=1e-6)
//  CHECK-NEXT:p = softmax(m, axis=1)
//  CHECK-NEXT:s = silu(p)
//  CHECK-NEXT:e = gelu(s, form=exact)
func.func @composites(%x: tensor<8x16xf32>, %g: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<8x16xf32> {
  %n = array.layer_norm %x scale(%g : tensor<16xf32>) shift(%b : tensor<16xf32>) eps 1.000000e-05 : tensor<8x16xf32>
  %m = array.rms_norm %n eps 1.000000e-06 : tensor<8x16xf32>
  %p = array.softmax %m axis 1 : tensor<8x16xf32>
  %s = array.silu %p : tensor<8x16xf32>
  %e = array.gelu exact %s : tensor<8x16xf32>
  func.return %e : tensor<8x16xf32>
}

//       CHECK:attention(q[2, 8, 4], k[2, 6, 4], v[2, 6, 5], bias[8, 6], keep[2, 1, 6]) -> out[2, 8, 5]
// CHECK-EMPTY:
//  CHECK-NEXT:out = attention(q, k, v, bias=bias, mask=keep, scale=0.125, causal)
func.func @attention(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>, %bias: tensor<8x6xf32>, %keep: tensor<2x1x6xi1>) -> tensor<2x8x5xf32> {
  %out = array.attention %q, %k, %v bias(%bias : tensor<8x6xf32>) mask(%keep : tensor<2x1x6xi1>) scale 0.125 causal : tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32> -> tensor<2x8x5xf32>
  func.return %out : tensor<2x8x5xf32>
}

// What is called like a function gets another name; a scalar that is used twice has one.
//       CHECK:core(a[8, 4], b[6, 4], d[?, 6]) -> (y[8, 6], z[?, 12])
// CHECK-EMPTY:
//  CHECK-NEXT:c     = matmul(a, bᵀ)
//  CHECK-NEXT:top   = max(c, axes=[1], keepdims)
//  CHECK-NEXT:t     = exp(c - top)
//  CHECK-NEXT:e     = t²
//  CHECK-NEXT:total = sum(e, axes=[1], keepdims)
//  CHECK-NEXT:y     = e / total
//  CHECK-NEXT:z     = concat(d, d, axis=1)
func.func @core(%a: tensor<8x4xf32>, %b: tensor<6x4xf32>, %d: tensor<?x6xf32>) -> (tensor<8x6xf32>, tensor<?x12xf32>) {
  %c = array.matmul %a, %b transpose_b : tensor<8x4xf32>, tensor<6x4xf32> -> tensor<8x6xf32>
  %max = array.reduce max %c axes [1] keepdims : tensor<8x6xf32> -> tensor<8x1xf32>
  %exp = array.elementwise (%p = %c, %q = %max) : tensor<8x6xf32>, tensor<8x1xf32> -> tensor<8x6xf32> {
    %0 = arith.subf %p, %q : f32
    %1 = math.exp %0 : f32
    %2 = arith.mulf %1, %1 : f32
    array.yield %2 : f32
  }
  %sum = array.reduce sum %exp axes [1] keepdims : tensor<8x6xf32> -> tensor<8x1xf32>
  %y = array.elementwise (%p = %exp, %q = %sum) : tensor<8x6xf32>, tensor<8x1xf32> -> tensor<8x6xf32> {
    %0 = arith.divf %p, %q : f32
    array.yield %0 : f32
  }
  %z = array.concat %d, %d axis 1 : tensor<?x6xf32>, tensor<?x6xf32> -> tensor<?x12xf32>
  func.return %y, %z : tensor<8x6xf32>, tensor<?x12xf32>
}

//       CHECK:views(x[3, 8], v[4]) -> (b[3, 4], t[8, 3], r[3, 2, 4], s[3, 4], u[2, 8])
// CHECK-EMPTY:
//  CHECK-NEXT:b = broadcast(v, [3, 4])
//  CHECK-NEXT:t = transpose(x, perm=[1, 0])
//  CHECK-NEXT:r = reshape(x, [3, 2, 4])
//  CHECK-NEXT:s = x[:, 4:]
//  CHECK-NEXT:u = x[:2, :]
func.func @views(%x: tensor<3x8xf32>, %v: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<8x3xf32>, tensor<3x2x4xf32>, tensor<3x4xf32>, tensor<2x8xf32>) {
  %b = array.broadcast %v : tensor<4xf32> -> tensor<3x4xf32>
  %t = array.transpose %x perm [1, 0] : tensor<3x8xf32> -> tensor<8x3xf32>
  %r = array.reshape %x : tensor<3x8xf32> -> tensor<3x2x4xf32>
  %s = array.slice %x offsets [0, 4] sizes [3, 4] : tensor<3x8xf32> -> tensor<3x4xf32>
  %u = array.slice %x offsets [0, 0] sizes [2, -1] : tensor<3x8xf32> -> tensor<2x8xf32>
  func.return %b, %t, %r, %s, %u : tensor<3x4xf32>, tensor<8x3xf32>, tensor<3x2x4xf32>, tensor<3x4xf32>, tensor<2x8xf32>
}

//       CHECK:sources(x[?, 4]) -> (i[?, 4], c[2], k[2, 2], n, o, p)
// CHECK-EMPTY:
//  CHECK-NEXT:i    = iota(axis=1, [?, 4])
//  CHECK-NEXT:c    = constant(0.25, [2])
//  CHECK-NEXT:k    = constant(..., [2, 2])
//  CHECK-NEXT:n    = extent(x, axis=0)
//  CHECK-NEXT:o, p = @callback(x)
func.func @sources(%x: tensor<?x4xf32>) -> (tensor<?x4xi32>, tensor<2xf32>, tensor<2x2xi32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %i = array.iota axis 1 like %x : tensor<?x4xf32> -> tensor<?x4xi32>
  %c = array.constant dense<0.25> : tensor<2xf32>
  %k = array.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %n = array.extent %x axis 0 : tensor<?x4xf32> -> tensor<f32>
  %o, %p = array.custom @callback(%x) {note = 1 : i64} : (tensor<?x4xf32>) -> (tensor<f32>, tensor<f32>)
  func.return %i, %c, %k, %n, %o, %p : tensor<?x4xi32>, tensor<2xf32>, tensor<2x2xi32>, tensor<f32>, tensor<f32>, tensor<f32>
}
