// RUN: bb-opt %s --split-input-file --verify-diagnostics

func.func @contraction(%a: tensor<8x4xf32>, %b: tensor<5x6xf32>) {
  // expected-error @+1 {{'array.matmul' contracts axis 1 of the left operand (extent 4) with axis 0 of the right operand (extent 5), expected equal extents}}
  %c = array.matmul %a, %b : tensor<8x4xf32>, tensor<5x6xf32> -> tensor<8x6xf32>
  func.return
}

// -----

func.func @contraction_transposed(%a: tensor<8x4xf32>, %b: tensor<8x6xf32>) {
  // expected-error @+1 {{'array.matmul' contracts axis 1 of the left operand (extent 4) with axis 1 of the right operand (extent 6)}}
  %c = array.matmul %a, %b transpose_b : tensor<8x4xf32>, tensor<8x6xf32> -> tensor<8x8xf32>
  func.return
}

// -----

func.func @matmul_rank(%a: tensor<4xf32>, %b: tensor<4x6xf32>) {
  // expected-error @+1 {{'array.matmul' left operand has shape [4], expected at least two axes}}
  %c = array.matmul %a, %b : tensor<4xf32>, tensor<4x6xf32> -> tensor<6xf32>
  func.return
}

// -----

func.func @matmul_batch(%a: tensor<2x8x4xf32>, %b: tensor<3x4x6xf32>) {
  // expected-error @+1 {{'array.matmul' batch axes [2] and [3] do not broadcast together}}
  %c = array.matmul %a, %b : tensor<2x8x4xf32>, tensor<3x4x6xf32> -> tensor<2x8x6xf32>
  func.return
}

// -----

func.func @matmul_result(%a: tensor<?x4xf32>, %b: tensor<4x6xf32>) {
  // expected-error @+1 {{'array.matmul' result has shape [8, 6], expected [?, 6]}}
  %c = array.matmul %a, %b : tensor<?x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  func.return
}

// -----

func.func @matmul_types(%a: tensor<8x4xf32>, %b: tensor<4x6xf16>) {
  // expected-error @+1 {{'array.matmul' right operand has element type f16, expected f32}}
  %c = array.matmul %a, %b : tensor<8x4xf32>, tensor<4x6xf16> -> tensor<8x6xf32>
  func.return
}

// -----

func.func @matmul_accumulator(%a: tensor<8x4xf32>, %b: tensor<4x6xf32>) {
  // expected-error @+1 {{'array.matmul' accumulates f32 in f16, expected f32 or a wider type of its kind}}
  %c = array.matmul %a, %b acc f16 : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  func.return
}

// -----

func.func @matmul_result_type(%a: tensor<8x4xf16>, %b: tensor<4x6xf16>) {
  // expected-error @+1 {{'array.matmul' result has element type f64, expected the operands' f16 or the accumulator's f32}}
  %c = array.matmul %a, %b : tensor<8x4xf16>, tensor<4x6xf16> -> tensor<8x6xf64>
  func.return
}

// -----

func.func @matmul_masks(%a: tensor<8x4xi1>, %b: tensor<4x6xi1>) {
  // expected-error @+1 {{'array.matmul' cannot add elements of type i1, expected floating point, i32 or i64}}
  %c = array.matmul %a, %b : tensor<8x4xi1>, tensor<4x6xi1> -> tensor<8x6xi1>
  func.return
}

// -----

func.func @element_type(%a: tensor<8x4xi8>) {
  // expected-error @+1 {{'array.transpose' operand 0 has element type i8, expected one of f16, bf16, f32, f64, i1, i32, i64}}
  %c = array.transpose %a perm [1, 0] : tensor<8x4xi8> -> tensor<4x8xi8>
  func.return
}

// -----

func.func @empty(%a: tensor<8x0xf32>) {
  // expected-error @+1 {{'array.relu' operand 0 has shape [8, 0], expected extents of at least 1}}
  %c = array.relu %a : tensor<8x0xf32>
  func.return
}

// -----

func.func @encoding(%a: tensor<8xf32, "sparse">) {
  // expected-error @+1 {{expected a tensor without encoding}}
  %c = array.relu %a : tensor<8xf32, "sparse">
  func.return
}

// -----

func.func @not_a_tensor(%a: f32) {
  // expected-error @+1 {{tensor}}
  %c = array.relu %a : f32
  func.return
}

// -----

func.func @elementwise_broadcast(%x: tensor<8x16xf32>, %y: tensor<7x1xf32>) {
  // expected-error @+1 {{'array.elementwise' operand 1: shape [7, 1] does not broadcast to [8, 16]: extent 7 meets 8 at result axis 0, expected 1 or 8}}
  %z = array.elementwise (%a = %x, %b = %y) : tensor<8x16xf32>, tensor<7x1xf32> -> tensor<8x16xf32> {
    array.yield %a : f32
  }
  func.return
}

// -----

func.func @elementwise_rank(%x: tensor<8x16xf32>) {
  // expected-error @+1 {{'array.elementwise' operand 0: shape [8, 16] has more axes than [16]}}
  %z = array.elementwise (%a = %x) : tensor<8x16xf32> -> tensor<16xf32> {
    array.yield %a : f32
  }
  func.return
}

// -----

func.func @elementwise_unknown(%x: tensor<16xf32>) {
  // expected-error @+1 {{'array.elementwise' result axis 0 has extent ?, but no operand has extent ? there to tell it}}
  %z = array.elementwise (%a = %x) : tensor<16xf32> -> tensor<?x16xf32> {
    array.yield %a : f32
  }
  func.return
}

// -----

func.func @elementwise_results(%x: tensor<16xf32>) {
  // expected-error @+1 {{'array.elementwise' result 1 has shape [2, 16], expected [16]}}
  %z, %w = array.elementwise (%a = %x) : tensor<16xf32> -> tensor<16xf32>, tensor<2x16xf32> {
    array.yield %a, %a : f32, f32
  }
  func.return
}

// -----

func.func @elementwise_yield(%x: tensor<16xf32>) {
  // expected-error @+1 {{'array.elementwise' region: 'array.yield' yields f32, expected the results' element types f16}}
  %z = array.elementwise (%a = %x) : tensor<16xf32> -> tensor<16xf16> {
    array.yield %a : f32
  }
  func.return
}

// -----

func.func @elementwise_operation(%x: tensor<16xi32>) {
  // expected-error @+1 {{'array.elementwise' region: 'math.ctpop' is not a scalar operation allowed here}}
  %z = array.elementwise (%a = %x) : tensor<16xi32> -> tensor<16xi32> {
    %b = math.ctpop %a : i32
    array.yield %b : i32
  }
  func.return
}

// -----

func.func @elementwise_type(%x: tensor<16xi32>) {
  // expected-error @+1 {{'array.elementwise' region: 'arith.trunci' has a value of type i8, expected one of f16, bf16, f32, f64, i1, i32, i64, index}}
  %z = array.elementwise (%a = %x) : tensor<16xi32> -> tensor<16xi32> {
    %b = arith.trunci %a : i32 to i8
    array.yield %a : i32
  }
  func.return
}

// -----

func.func @elementwise_capture(%x: tensor<16xf32>, %s: f32) {
  // expected-error @+1 {{'array.elementwise' region: 'arith.addf' uses the outer value %s, expected only region arguments and values computed in the region; pass it as an operand}}
  %z = array.elementwise (%a = %x) : tensor<16xf32> -> tensor<16xf32> {
    %b = arith.addf %a, %s : f32
    array.yield %b : f32
  }
  func.return
}

// -----

func.func @elementwise_argument(%x: tensor<16xf32>) {
  // expected-error @+1 {{'array.elementwise' region: arguments have types f16, expected the operands' element types f32}}
  %z = "array.elementwise"(%x) ({
  ^bb0(%a: f16):
    "array.yield"(%a) : (f16) -> ()
  }) : (tensor<16xf32>) -> tensor<16xf16>
  func.return
}

// -----

func.func @elementwise_terminator(%x: tensor<16xf32>) {
  // expected-error @+1 {{'array.elementwise' region: expected 'array.yield' as its last operation}}
  %z = array.elementwise (%a = %x) : tensor<16xf32> -> tensor<16xf32> {
    "test.termop"() : () -> ()
  }
  func.return
}

// -----

func.func @elementwise_operand_types(%x: tensor<16xf32>) {
  // expected-error @+1 {{'array.elementwise' has 2 operands but 1 operand types}}
  %z = array.elementwise (%a = %x, %b = %x) : tensor<16xf32> -> tensor<16xf32> {
    array.yield %a : f32
  }
  func.return
}

// -----

func.func @elementwise_scalar_operand(%x: f32) {
  // expected-error @+1 {{'array.elementwise' expected a ranked tensor, got f32}}
  %z = array.elementwise (%a = %x) : f32 -> tensor<16xf32> {
    array.yield %a : f32
  }
  func.return
}

// -----

func.func @reduce_axis(%x: tensor<8x16xf32>) {
  // expected-error @+1 {{'array.reduce' axis 2 is out of range, expected 0 <= axis < 2}}
  %r = array.reduce sum %x axes [2] : tensor<8x16xf32> -> tensor<8xf32>
  func.return
}

// -----

func.func @reduce_order(%x: tensor<8x16xf32>) {
  // expected-error @+1 {{'array.reduce' axes [1, 0] are not strictly ascending}}
  %r = array.reduce sum %x axes [1, 0] : tensor<8x16xf32> -> tensor<f32>
  func.return
}

// -----

func.func @reduce_nothing(%x: tensor<8x16xf32>) {
  // expected-error @+1 {{'array.reduce' expected at least one axis}}
  %r = array.reduce sum %x axes [] : tensor<8x16xf32> -> tensor<8x16xf32>
  func.return
}

// -----

func.func @reduce_keepdims(%x: tensor<8x16xf32>) {
  // expected-error @+1 {{'array.reduce' result has shape [8], expected [8, 1]}}
  %r = array.reduce max %x axes [1] keepdims : tensor<8x16xf32> -> tensor<8xf32>
  func.return
}

// -----

func.func @reduce_accumulator(%x: tensor<8x16xf32>) {
  // expected-error @+1 {{'array.reduce' max takes no accumulator type, expected 'acc' only with sum}}
  %r = array.reduce max %x axes [1] acc f32 : tensor<8x16xf32> -> tensor<8xf32>
  func.return
}

// -----

func.func @reduce_type(%x: tensor<8x16xf16>) {
  // expected-error @+1 {{'array.reduce' result has element type f32, expected f16}}
  %r = array.reduce sum %x axes [1] acc f32 : tensor<8x16xf16> -> tensor<8xf32>
  func.return
}

// -----

func.func @reduce_mask(%x: tensor<8x16xi1>) {
  // expected-error @+1 {{'array.reduce' cannot reduce elements of type i1, expected floating point, i32 or i64}}
  %r = array.reduce max %x axes [1] : tensor<8x16xi1> -> tensor<8xi1>
  func.return
}

// -----

func.func @broadcast_shape(%x: tensor<4xf32>) {
  // expected-error @+1 {{'array.broadcast' shape [4] does not broadcast to [4, 3]: extent 4 meets 3 at result axis 1, expected 1 or 3}}
  %b = array.broadcast %x : tensor<4xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @broadcast_unknown(%x: tensor<1xf32>) {
  // expected-error @+1 {{'array.broadcast' result axis 0 has extent ?, but the operand has no extent ? there to tell it}}
  %b = array.broadcast %x : tensor<1xf32> -> tensor<?xf32>
  func.return
}

// -----

func.func @transpose_perm(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'array.transpose' perm [1, 1] is not a permutation of the 2 axes of [3, 4]}}
  %t = array.transpose %x perm [1, 1] : tensor<3x4xf32> -> tensor<4x4xf32>
  func.return
}

// -----

func.func @transpose_shape(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'array.transpose' result has shape [3, 4], expected [4, 3]}}
  %t = array.transpose %x perm [1, 0] : tensor<3x4xf32> -> tensor<3x4xf32>
  func.return
}

// -----

func.func @reshape_across(%x: tensor<6x4xf32>) {
  // expected-error @+1 {{'array.reshape' from [6, 4] to [4, 6] is not a sequence of splits and merges of adjacent axes}}
  %v = array.reshape %x : tensor<6x4xf32> -> tensor<4x6xf32>
  func.return
}

// -----

func.func @reshape_two_unknown(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{'array.reshape' from [?, ?] to [?] is not a sequence of splits and merges of adjacent axes (and of inserted or removed axes of extent 1), with at most one ? a group}}
  %v = array.reshape %x : tensor<?x?xf32> -> tensor<?xf32>
  func.return
}

// -----

func.func @slice_end(%x: tensor<3x8xf32>) {
  // expected-error @+1 {{'array.slice' axis 1: offset 6 and size 4 reach past the extent 8}}
  %s = array.slice %x offsets [0, 6] sizes [3, 4] : tensor<3x8xf32> -> tensor<3x4xf32>
  func.return
}

// -----

func.func @slice_count(%x: tensor<3x8xf32>) {
  // expected-error @+1 {{'array.slice' has 1 offsets and 2 sizes, expected 2 of each, one for each axis of [3, 8]}}
  %s = array.slice %x offsets [0] sizes [3, 4] : tensor<3x8xf32> -> tensor<3x4xf32>
  func.return
}

// -----

func.func @slice_negative(%x: tensor<?xf32>) {
  // expected-error @+1 {{'array.slice' axis 0: offset -1 and size 4, expected an offset of at least 0 and a positive size or -1 (the rest)}}
  %s = array.slice %x offsets [-1] sizes [4] : tensor<?xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @concat_extents(%a: tensor<3x4xf32>, %b: tensor<2x4xf32>) {
  // expected-error @+1 {{'array.concat' operand 1 has shape [2, 4], expected the extents of operand 0, [3, 4], on every axis but 1}}
  %k = array.concat %a, %b axis 1 : tensor<3x4xf32>, tensor<2x4xf32> -> tensor<3x8xf32>
  func.return
}

// -----

func.func @concat_rank(%a: tensor<3x4xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{'array.concat' operand 1 has shape [3], expected 2 axes as in operand 0}}
  %k = array.concat %a, %b axis 1 : tensor<3x4xf32>, tensor<3xf32> -> tensor<3x5xf32>
  func.return
}

// -----

func.func @concat_nothing() {
  // expected-error @+1 {{'array.concat' expected at least one operand}}
  %k = "array.concat"() <{axis = 0 : i64}> : () -> tensor<3xf32>
  func.return
}

// -----

func.func @concat_types(%a: tensor<3xf32>, %b: tensor<3xf16>) {
  // expected-error @+1 {{'array.concat' operand 1 has element type f16, expected f32}}
  %k = array.concat %a, %b axis 0 : tensor<3xf32>, tensor<3xf16> -> tensor<6xf32>
  func.return
}

// -----

func.func @iota_unknown() {
  // expected-error @+1 {{'array.iota' result has shape [?, 4], expected static extents without 'like'}}
  %i = array.iota axis 0 : tensor<?x4xi32>
  func.return
}

// -----

func.func @iota_like(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{'array.iota' result has shape [?], expected [?, 4]}}
  %i = array.iota axis 0 like %x : tensor<?x4xf32> -> tensor<?xi32>
  func.return
}

// -----

func.func @iota_axis() {
  // expected-error @+1 {{'array.iota' axis 1 is out of range, expected 0 <= axis < 1}}
  %i = array.iota axis 1 : tensor<4xi32>
  func.return
}

// -----

func.func @iota_mask() {
  // expected-error @+1 {{'array.iota' result has element type i1, expected a type that can count}}
  %i = array.iota axis 0 : tensor<4xi1>
  func.return
}

// -----

func.func @extent_rank(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{'array.extent' result has shape [1], expected []}}
  %e = array.extent %x axis 0 : tensor<?x4xf32> -> tensor<1xf32>
  func.return
}

// -----

func.func @softmax_axis(%x: tensor<8x16xf32>) {
  // expected-error @+1 {{'array.softmax' axis -1 is out of range, expected 0 <= axis < 2}}
  %p = array.softmax %x axis -1 : tensor<8x16xf32>
  func.return
}

// -----

func.func @gelu_type(%x: tensor<8x16xi32>) {
  // expected-error @+1 {{'array.gelu' operand has element type i32, expected f16, bf16, f32 or f64}}
  %p = array.gelu exact %x : tensor<8x16xi32>
  func.return
}

// -----

func.func @layer_norm_scale(%x: tensor<8x16xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{'array.layer_norm' scale has shape [8], expected [16]}}
  %n = array.layer_norm %x scale(%g : tensor<8xf32>) eps 1.0e-5 : tensor<8x16xf32>
  func.return
}

// -----

func.func @rms_norm_eps(%x: tensor<8x16xf32>) {
  // expected-error @+1 {{'array.rms_norm' eps is -1.0, expected a finite number of at least 0}}
  %n = array.rms_norm %x eps -1.0 : tensor<8x16xf32>
  func.return
}

// -----

func.func @rms_norm_rank(%x: tensor<f32>) {
  // expected-error @+1 {{'array.rms_norm' operand has rank 0, expected at least one axis}}
  %n = array.rms_norm %x eps 1.0e-6 : tensor<f32>
  func.return
}

// -----

func.func @attention_head_size(%q: tensor<8x4xf32>, %k: tensor<6x5xf32>, %v: tensor<6x5xf32>) {
  // expected-error @+1 {{'array.attention' q has head size 4 and k has 5, expected equal head sizes (their last axes)}}
  %a = array.attention %q, %k, %v : tensor<8x4xf32>, tensor<6x5xf32>, tensor<6x5xf32> -> tensor<8x5xf32>
  func.return
}

// -----

func.func @attention_keys(%q: tensor<8x4xf32>, %k: tensor<6x4xf32>, %v: tensor<7x5xf32>) {
  // expected-error @+1 {{'array.attention' k has 6 keys and v has 7 values, expected equally many (their second last axes)}}
  %a = array.attention %q, %k, %v : tensor<8x4xf32>, tensor<6x4xf32>, tensor<7x5xf32> -> tensor<8x5xf32>
  func.return
}

// -----

func.func @attention_groups(%q: tensor<4x8x4xf32>, %k: tensor<3x6x4xf32>) {
  // expected-error @+1 {{'array.attention' q has 4 heads and k has 3, expected a multiple}}
  %a = array.attention %q, %k, %k : tensor<4x8x4xf32>, tensor<3x6x4xf32>, tensor<3x6x4xf32> -> tensor<4x8x4xf32>
  func.return
}

// -----

func.func @attention_ranks(%q: tensor<4x8x4xf32>, %k: tensor<6x4xf32>) {
  // expected-error @+1 {{'array.attention' q [4, 8, 4], k [6, 4] and v [6, 4]: expected the same number of axes, at least 2}}
  %a = array.attention %q, %k, %k : tensor<4x8x4xf32>, tensor<6x4xf32>, tensor<6x4xf32> -> tensor<4x8x4xf32>
  func.return
}

// -----

func.func @attention_batch(%q: tensor<2x4x8x4xf32>, %k: tensor<3x4x6x4xf32>) {
  // expected-error @+1 {{'array.attention' leading axes of q [2], k [3] and v [3] differ, expected equal extents}}
  %a = array.attention %q, %k, %k : tensor<2x4x8x4xf32>, tensor<3x4x6x4xf32>, tensor<3x4x6x4xf32> -> tensor<2x4x8x4xf32>
  func.return
}

// -----

func.func @attention_mask_type(%q: tensor<8x4xf32>, %k: tensor<6x4xf32>, %m: tensor<8x6xi32>) {
  // expected-error @+1 {{'array.attention' mask has element type i32, expected i1}}
  %a = array.attention %q, %k, %k mask(%m : tensor<8x6xi32>) : tensor<8x4xf32>, tensor<6x4xf32>, tensor<6x4xf32> -> tensor<8x4xf32>
  func.return
}

// -----

func.func @attention_bias_shape(%q: tensor<8x4xf32>, %k: tensor<6x4xf32>, %b: tensor<6x8xf32>) {
  // expected-error @+1 {{'array.attention' bias: shape [6, 8] does not broadcast to [8, 6]}}
  %a = array.attention %q, %k, %k bias(%b : tensor<6x8xf32>) : tensor<8x4xf32>, tensor<6x4xf32>, tensor<6x4xf32> -> tensor<8x4xf32>
  func.return
}

// -----

func.func @attention_bias_type(%q: tensor<8x4xf32>, %k: tensor<6x4xf32>, %b: tensor<8x6xf16>) {
  // expected-error @+1 {{'array.attention' bias has element type f16, expected f32}}
  %a = array.attention %q, %k, %k bias(%b : tensor<8x6xf16>) : tensor<8x4xf32>, tensor<6x4xf32>, tensor<6x4xf32> -> tensor<8x4xf32>
  func.return
}

// -----

func.func @attention_scale(%q: tensor<8x?xf32>, %k: tensor<6x?xf32>) {
  // expected-error @+1 {{'array.attention' expected a scale, because the default 1 / sqrt(D) needs a static D}}
  %a = array.attention %q, %k, %k : tensor<8x?xf32>, tensor<6x?xf32>, tensor<6x?xf32> -> tensor<8x?xf32>
  func.return
}

// -----

func.func @yield_outside(%x: f32) {
  // expected-error @+1 {{'array.yield' expects parent op to be one of 'array.elementwise', 'array.masked_matmul'}}
  "array.yield"(%x) : (f32) -> ()
}
