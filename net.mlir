builtin.module {
  func.func @embed(%words: tensor<?x64x384xf32>, %places: tensor<64x384xf32>, %g: tensor<384xf32>, %b: tensor<384xf32>) -> tensor<?x64x384xf32> {
    %0 = array.elementwise (%1 = %words, %2 = %places) : tensor<?x64x384xf32>, tensor<64x384xf32> -> tensor<?x64x384xf32> {
      %3 = arith.addf %1, %2 : f32
      array.yield %3 : f32
    }
    %4 = array.layer_norm %0 scale(%g : tensor<384xf32>) shift(%b : tensor<384xf32>) eps 1.000000e-12 : tensor<?x64x384xf32>
    func.return %4 : tensor<?x64x384xf32>
  }
  func.func @encoder_layer(%x: tensor<?x64x384xf32>, %keep: tensor<?x64xi1>, %w_q: tensor<384x384xf32>, %b_q: tensor<384xf32>, %w_k: tensor<384x384xf32>, %b_k: tensor<384xf32>, %w_v: tensor<384x384xf32>, %b_v: tensor<384xf32>, %w_o: tensor<384x384xf32>, %b_o: tensor<384xf32>, %g1: tensor<384xf32>, %s1: tensor<384xf32>, %w_up: tensor<1536x384xf32>, %b_up: tensor<1536xf32>, %w_down: tensor<384x1536xf32>, %b_down: tensor<384xf32>, %g2: tensor<384xf32>, %s2: tensor<384xf32>) -> tensor<?x64x384xf32> {
    %0 = array.matmul %x, %w_q transpose_b : tensor<?x64x384xf32>, tensor<384x384xf32> -> tensor<?x64x384xf32>
    %1 = array.elementwise (%2 = %0, %3 = %b_q) : tensor<?x64x384xf32>, tensor<384xf32> -> tensor<?x64x384xf32> {
      %4 = arith.addf %2, %3 : f32
      array.yield %4 : f32
    }
    %5 = array.reshape %1 : tensor<?x64x384xf32> -> tensor<?x64x12x32xf32>
    %6 = array.transpose %5 perm [0, 2, 1, 3] : tensor<?x64x12x32xf32> -> tensor<?x12x64x32xf32>
    %7 = array.matmul %x, %w_k transpose_b : tensor<?x64x384xf32>, tensor<384x384xf32> -> tensor<?x64x384xf32>
    %8 = array.elementwise (%9 = %7, %10 = %b_k) : tensor<?x64x384xf32>, tensor<384xf32> -> tensor<?x64x384xf32> {
      %11 = arith.addf %9, %10 : f32
      array.yield %11 : f32
    }
    %12 = array.reshape %8 : tensor<?x64x384xf32> -> tensor<?x64x12x32xf32>
    %13 = array.transpose %12 perm [0, 2, 1, 3] : tensor<?x64x12x32xf32> -> tensor<?x12x64x32xf32>
    %14 = array.matmul %x, %w_v transpose_b : tensor<?x64x384xf32>, tensor<384x384xf32> -> tensor<?x64x384xf32>
    %15 = array.elementwise (%16 = %14, %17 = %b_v) : tensor<?x64x384xf32>, tensor<384xf32> -> tensor<?x64x384xf32> {
      %18 = arith.addf %16, %17 : f32
      array.yield %18 : f32
    }
    %19 = array.reshape %15 : tensor<?x64x384xf32> -> tensor<?x64x12x32xf32>
    %20 = array.transpose %19 perm [0, 2, 1, 3] : tensor<?x64x12x32xf32> -> tensor<?x12x64x32xf32>
    %21 = array.reshape %keep : tensor<?x64xi1> -> tensor<?x1x1x64xi1>
    %22 = array.attention %6, %13, %20 mask(%21 : tensor<?x1x1x64xi1>) : tensor<?x12x64x32xf32>, tensor<?x12x64x32xf32>, tensor<?x12x64x32xf32> -> tensor<?x12x64x32xf32>
    %23 = array.transpose %22 perm [0, 2, 1, 3] : tensor<?x12x64x32xf32> -> tensor<?x64x12x32xf32>
    %24 = array.reshape %23 : tensor<?x64x12x32xf32> -> tensor<?x64x384xf32>
    %25 = array.matmul %24, %w_o transpose_b : tensor<?x64x384xf32>, tensor<384x384xf32> -> tensor<?x64x384xf32>
    %26 = array.elementwise (%27 = %25, %28 = %b_o) : tensor<?x64x384xf32>, tensor<384xf32> -> tensor<?x64x384xf32> {
      %29 = arith.addf %27, %28 : f32
      array.yield %29 : f32
    }
    %30 = array.elementwise (%31 = %x, %32 = %26) : tensor<?x64x384xf32>, tensor<?x64x384xf32> -> tensor<?x64x384xf32> {
      %33 = arith.addf %31, %32 : f32
      array.yield %33 : f32
    }
    %34 = array.layer_norm %30 scale(%g1 : tensor<384xf32>) shift(%s1 : tensor<384xf32>) eps 1.000000e-12 : tensor<?x64x384xf32>
    %35 = array.matmul %34, %w_up transpose_b : tensor<?x64x384xf32>, tensor<1536x384xf32> -> tensor<?x64x1536xf32>
    %36 = array.elementwise (%37 = %35, %38 = %b_up) : tensor<?x64x1536xf32>, tensor<1536xf32> -> tensor<?x64x1536xf32> {
      %39 = arith.addf %37, %38 : f32
      array.yield %39 : f32
    }
    %40 = array.gelu exact %36 : tensor<?x64x1536xf32>
    %41 = array.matmul %40, %w_down transpose_b : tensor<?x64x1536xf32>, tensor<384x1536xf32> -> tensor<?x64x384xf32>
    %42 = array.elementwise (%43 = %41, %44 = %b_down) : tensor<?x64x384xf32>, tensor<384xf32> -> tensor<?x64x384xf32> {
      %45 = arith.addf %43, %44 : f32
      array.yield %45 : f32
    }
    %46 = array.elementwise (%47 = %34, %48 = %42) : tensor<?x64x384xf32>, tensor<?x64x384xf32> -> tensor<?x64x384xf32> {
      %49 = arith.addf %47, %48 : f32
      array.yield %49 : f32
    }
    %50 = array.layer_norm %46 scale(%g2 : tensor<384xf32>) shift(%s2 : tensor<384xf32>) eps 1.000000e-12 : tensor<?x64x384xf32>
    func.return %50 : tensor<?x64x384xf32>
  }
  func.func @pool(%x: tensor<?x64x384xf32>, %keep: tensor<?x64xi1>) -> tensor<?x384xf32> {
    %0 = array.reshape %keep : tensor<?x64xi1> -> tensor<?x64x1xi1>
    %1 = array.elementwise (%2 = %x, %3 = %0) : tensor<?x64x384xf32>, tensor<?x64x1xi1> -> tensor<?x64x384xf32> {
      %4 = arith.constant 0.000000e+00 : f32
      %5 = arith.select %3, %2, %4 : f32
      array.yield %5 : f32
    }
    %6 = array.reduce sum %1 axes [1] : tensor<?x64x384xf32> -> tensor<?x384xf32>
    %7 = array.elementwise (%8 = %6, %9 = %6) : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32> {
      %10 = arith.mulf %8, %9 : f32
      array.yield %10 : f32
    }
    %11 = array.reduce sum %7 axes [1] keepdims : tensor<?x384xf32> -> tensor<?x1xf32>
    %12 = array.elementwise (%13 = %11) : tensor<?x1xf32> -> tensor<?x1xf32> {
      %14 = math.rsqrt %13 : f32
      array.yield %14 : f32
    }
    %15 = array.elementwise (%16 = %6, %17 = %12) : tensor<?x384xf32>, tensor<?x1xf32> -> tensor<?x384xf32> {
      %18 = arith.mulf %16, %17 : f32
      array.yield %18 : f32
    }
    func.return %15 : tensor<?x384xf32>
  }
}