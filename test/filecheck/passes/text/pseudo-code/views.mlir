// RUN: bb-opt %s --pseudo-code | filecheck %s --strict-whitespace --match-full-lines

// Arrays as places: names and axes are the array's, indices stand in its order.

// A view of the transposed, products of dims, axes of extent 1, whole dims, and a result that is stored transposed.
//       CHECK:partitions(w[1, D, H*E], x[M, D]) -> (y[H*E, M], z[H, M, E])
//  CHECK-NEXT:    where M = E = 6, D = 8 (whole), H = 2 (batch)
// CHECK-EMPTY:
//  CHECK-NEXT:forall h in H, m in M:
//  CHECK-NEXT:    x = load x[m, D]
//  CHECK-NEXT:    forall e in E:
//  CHECK-NEXT:        w = load w[0, D, h*e]ᵀ
//  CHECK-NEXT:        y = dot(x, w)
//  CHECK-NEXT:        store y[h*e, m] = yᵀ
//  CHECK-NEXT:        store z[h, m, e] = 2 * y
func.func @partitions(%w: tensor<1x8x12xf32>, %x: tensor<6x8xf32>) -> (tensor<12x6xf32>, tensor<2x6x6xf32>)
    attributes {block.dims = {M = #block.dim<6>, D = #block.dim<8, whole>, H = #block.dim<2, batch>, E = #block.dim<6>}} {
  %W = block.partition %w [1, D, (H, E)] : tensor<1x8x12xf32> -> !block.list<H, E, block<E x D x f32>>
  %X = block.partition %x [M, D] : tensor<6x8xf32> -> !block.list<M, block<M x D x f32>>
  %Y, %Z = block.map @H (%Wh = %W) -> (stack, stack) : !block.list<H, E, block<E x D x f32>> {
    %Yh, %Zh = block.map @M (%Xm = %X) -> (stack, stack) : !block.list<M, block<M x D x f32>> {
      %x_1 = block.load %Xm : !block.block<M x D x f32, global>
      %Yhm, %Zhm = block.map @E (%Whe = %Wh) -> (stack, stack) : !block.list<E, block<E x D x f32>> {
        %w_1 = block.load %Whe : !block.block<E x D x f32, global>
        %y = block.dot %x_1, %w_1 acc f32 : !block.block<M x D x f32>, !block.block<E x D x f32>
        %ys = block.store %y : !block.block<M x E x f32>
        %z = block.linear 2 * %y : !block.block<M x E x f32>
        %zs = block.store %z : !block.block<M x E x f32>
        block.yield %ys, %zs : !block.block<M x E x f32, global>, !block.block<M x E x f32, global>
      }
      block.yield %Yhm, %Zhm : !block.list<E, block<M x E x f32>>, !block.list<E, block<M x E x f32>>
    }
    block.yield %Yh, %Zh : !block.list<M, E, block<M x E x f32>>, !block.list<M, E, block<M x E x f32>>
  }
  %y = block.assemble %Y [(H, E), M] : !block.list<H, M, E, block<M x E x f32>> -> tensor<12x6xf32>
  %z = block.assemble %Z [H, M, E] : !block.list<H, M, E, block<M x E x f32>> -> tensor<2x6x6xf32>
  func.return %y, %z : tensor<12x6xf32>, tensor<2x6x6xf32>
}

// An index that would be called like an array gets another name; a list in the middle has the name of its array.
//       CHECK:names(k[K, N], n[N]) -> (scaled[K, N], exp[K2, N2])
//  CHECK-NEXT:    where K = K2 = 8, N = N2 = 6
// CHECK-EMPTY:
//  CHECK-NEXT:forall kk in K, nn in N:
//  CHECK-NEXT:    store scaled[kk, nn] = col_scale(load k[kk, nn], load n[nn])
//  CHECK-NEXT:forall n2 in N2, k2 in K2:
//  CHECK-NEXT:    store exp[k2, n2] = exp(load scaled[k2, n2]ᵀ)ᵀ
func.func @names(%k: tensor<8x6xf32>, %n: tensor<6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>)
    attributes {block.dims = {K = #block.dim<8>, N = #block.dim<6>, K2 = #block.dim<8>, N2 = #block.dim<6>}} {
  %A = block.partition %k [K, N] : tensor<8x6xf32> -> !block.list<K, N, block<K x N x f32>>
  %B = block.partition %n [N] : tensor<6xf32> -> !block.list<N, vector<N x f32>>
  %Scaled = block.map @K (%Ak = %A) -> (stack) : !block.list<K, N, block<K x N x f32>> {
    %Scaled_k = block.map @N (%Akn = %Ak, %Bn = %B) -> (stack) : !block.list<N, block<K x N x f32>>, !block.list<N, vector<N x f32>> {
      %0 = block.load %Akn : !block.block<K x N x f32, global>
      %1 = block.load %Bn : !block.vector<N x f32, global>
      %2 = block.col_scale %0, %1 : !block.block<K x N x f32>, !block.vector<N x f32>
      %3 = block.store %2 : !block.block<K x N x f32>
      block.yield %3 : !block.block<K x N x f32, global>
    }
    block.yield %Scaled_k : !block.list<N, block<K x N x f32>>
  }
  %scaled = block.assemble %Scaled [K, N] : !block.list<K, N, block<K x N x f32>> -> tensor<8x6xf32>
  %C = block.partition %scaled [K2, N2] : tensor<8x6xf32> -> !block.list<N2, K2, block<N2 x K2 x f32>>
  %D = block.map @N2 (%Cn = %C) -> (stack) : !block.list<N2, K2, block<N2 x K2 x f32>> {
    %Dn = block.map @K2 (%Cnk = %Cn) -> (stack) : !block.list<K2, block<N2 x K2 x f32>> {
      %0 = block.load %Cnk : !block.block<N2 x K2 x f32, global>
      %1 = block.elementwise (%p = %0) : !block.block<N2 x K2 x f32> -> !block.block<N2 x K2 x f32> {
        %2 = math.exp %p : f32
        block.yield %2 : f32
      }
      %3 = block.store %1 : !block.block<N2 x K2 x f32>
      block.yield %3 : !block.block<N2 x K2 x f32, global>
    }
    block.yield %Dn : !block.list<K2, block<N2 x K2 x f32>>
  }
  %exp = block.assemble %D [K2, N2] : !block.list<N2, K2, block<N2 x K2 x f32>> -> tensor<8x6xf32>
  func.return %scaled, %exp : tensor<8x6xf32>, tensor<8x6xf32>
}

// Scalars, array operations beside nests, results that are arguments, and a function without a body.
//       CHECK:mixed(x[4, 6], s) -> (y, twice[4, 12], x[4, 6])
//  CHECK-NEXT:    where M = 4
// CHECK-EMPTY:
//  CHECK-NEXT:part = x[:, 2:3]
// CHECK-EMPTY:
//  CHECK-NEXT:total = 0
//  CHECK-NEXT:for m in M:
//  CHECK-NEXT:    total += row_sum(load part[m, 0])
//  CHECK-NEXT:store y = total * load s
// CHECK-EMPTY:
//  CHECK-NEXT:twice = array.concat(x, x, axis=1)
func.func @mixed(%x: tensor<4x6xf32>, %s: tensor<f32>) -> (tensor<f32>, tensor<4x12xf32>, tensor<4x6xf32>)
    attributes {block.dims = {M = #block.dim<4>}} {
  %part = array.slice %x offsets [0, 2] sizes [4, 1] : tensor<4x6xf32> -> tensor<4x1xf32>
  %P = block.partition %part [M, 1] : tensor<4x1xf32> -> !block.list<M, vector<M x f32>>
  %S = block.partition %s [] : tensor<f32> -> !block.scalar<f32, global>
  %total = block.map @M (%Pm = %P) -> (sum) : !block.list<M, vector<M x f32>> {
    %p = block.load %Pm : !block.vector<M x f32, global>
    %0 = block.row_sum %p acc f32 : !block.vector<M x f32>
    block.yield %0 : !block.scalar<f32>
  }
  %s_1 = block.load %S : !block.scalar<f32, global>
  %1 = block.mul %total, %s_1 : !block.scalar<f32>
  %2 = block.store %1 : !block.scalar<f32>
  %y = block.assemble %2 [] : !block.scalar<f32, global> -> tensor<f32>
  %twice = array.concat %x, %x axis 1 : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x12xf32>
  func.return %y, %twice, %x : tensor<f32>, tensor<4x12xf32>, tensor<4x6xf32>
}
//       CHECK:declared([4]) -> ([4])
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>

// Views may stand inside a map, of a list that is private to it.
//       CHECK:views_in_maps(x[B, M, N]) -> y[B, N]
//  CHECK-NEXT:    where B = 2 (batch), M = 4, N = 6
// CHECK-EMPTY:
//  CHECK-NEXT:forall b in B:
//  CHECK-NEXT:    forall m in M, n in N:
//  CHECK-NEXT:        a = load x[b, m, n]
//  CHECK-NEXT:        store Square[m, n] = a²
//  CHECK-NEXT:    forall n in N:
//  CHECK-NEXT:        total = 0
//  CHECK-NEXT:        for m in M:
//  CHECK-NEXT:            total += row_sum(load Square[m, n]ᵀ)
//  CHECK-NEXT:        store y[b, n] = total
func.func @views_in_maps(%x: tensor<2x4x6xf32>) -> tensor<2x6xf32>
    attributes {block.dims = {B = #block.dim<2, batch>, M = #block.dim<4>, N = #block.dim<6>}} {
  %X = block.partition %x [B, M, N] : tensor<2x4x6xf32> -> !block.list<B, M, N, block<M x N x f32>>
  %Y = block.map @B (%Xb = %X) -> (stack) : !block.list<B, M, N, block<M x N x f32>> {
    %Square = block.map @M (%Xm = %Xb) -> (stack) : !block.list<M, N, block<M x N x f32>> {
      %Square_m = block.map @N (%Xn = %Xm) -> (stack) : !block.list<N, block<M x N x f32>> {
        %a = block.load %Xn : !block.block<M x N x f32, global>
        %b = block.mul %a, %a : !block.block<M x N x f32>
        %c = block.store %b : !block.block<M x N x f32>
        block.yield %c : !block.block<M x N x f32, global>
      }
      block.yield %Square_m : !block.list<N, block<M x N x f32>>
    }
    %square = block.assemble %Square [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<4x6xf32>
    %Turned = block.partition %square [M, N] : tensor<4x6xf32> -> !block.list<N, M, block<N x M x f32>>
    %Yb = block.map @N (%Tn = %Turned) -> (stack) : !block.list<N, M, block<N x M x f32>> {
      %total = block.map @M (%Tm = %Tn) -> (sum) : !block.list<M, block<N x M x f32>> {
        %a = block.load %Tm : !block.block<N x M x f32, global>
        %b = block.row_sum %a acc f32 : !block.block<N x M x f32>
        block.yield %b : !block.vector<N x f32>
      }
      %t = block.store %total : !block.vector<N x f32>
      block.yield %t : !block.vector<N x f32, global>
    }
    block.yield %Yb : !block.list<N, vector<N x f32>>
  }
  %y = block.assemble %Y [B, N] : !block.list<B, N, vector<N x f32>> -> tensor<2x6xf32>
  func.return %y : tensor<2x6xf32>
}
