// RUN: bb-opt %s -p array-decompose,array-to-block,block-shapes | filecheck %s
// RUN: bb-opt %s -p "array-decompose,array-to-block,block-shapes{M=32 N=whole K=16},block-shapes{M=48}" | filecheck %s --check-prefix=NAMED
// RUN: not bb-opt %s -p "array-decompose,array-to-block,block-shapes{H=4}" 2>&1 | filecheck %s --check-prefix=BATCH
// RUN: not bb-opt %s -p "array-decompose,array-to-block,block-shapes{MM=4}" 2>&1 | filecheck %s --check-prefix=SIMILAR
// RUN: not bb-opt %s -p "array-decompose,array-to-block,block-shapes{zebra=4}" 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not bb-opt %s -p "array-decompose,array-to-block,block-shapes{M=0}" 2>&1 | filecheck %s --check-prefix=ZERO
// RUN: not bb-opt %s -p "array-decompose,array-to-block,block-shapes{M=4x}" 2>&1 | filecheck %s --check-prefix=TEXT
// RUN: not bb-opt %s -p "array-decompose,array-to-block,block-shapes{M=99999999999}" 2>&1 | filecheck %s --check-prefix=LARGE

// BATCH: shapes.mlir:{{[0-9]+}}:1: error: pass 'block-shapes': 'func.func' op batch dim H takes no block size: its items have no axis over it
// SIMILAR: error: pass 'block-shapes': no function has a dim MM; did you mean 'M'?
// UNKNOWN: error: pass 'block-shapes': no function has a dim zebra; the dims are H, M, N, K, L, P
// ZERO: error: pass 'block-shapes': the size of dim M must be a positive number or whole, got '0'
// TEXT: error: pass 'block-shapes': the size of dim M must be a positive number or whole, got '4x'
// LARGE: error: pass 'block-shapes': the size of dim M must be a positive number or whole, got '99999999999'

// Rows are cut into blocks of 64, keys of 128 where they are summed over again; what fits into 256 columns is
// whole.
// CHECK-LABEL: func.func @attention
// CHECK-SAME:  block.dims = {H = #block.dim<3, batch>, M = #block.dim<500, block = 64>, N = #block.dim<600, block = 128>, K = #block.dim<32, whole>, L = #block.dim<40, whole>}
// NAMED-LABEL: func.func @attention
// NAMED-SAME:  block.dims = {H = #block.dim<3, batch>, M = #block.dim<500, block = 48>, N = #block.dim<600, whole>, K = #block.dim<32, block = 16>, L = #block.dim<40, whole>}
func.func @attention(%q: tensor<3x500x32xf32> {bb.dims = ["H", "M", "K"]}, %k: tensor<3x600x32xf32> {bb.dims = ["H", "N", "K"]}, %v: tensor<3x600x40xf32> {bb.dims = ["H", "N", "L"]}) -> tensor<3x500x40xf32> {
  %out = array.attention %q, %k, %v : tensor<3x500x32xf32>, tensor<3x600x32xf32>, tensor<3x600x40xf32> -> tensor<3x500x40xf32>
  func.return %out : tensor<3x500x40xf32>
}

// Unknown extents are cut as well; a dim that is summed over is cut at 256 columns.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME:  block.dims = {M = #block.dim<?, block = 64>, N = #block.dim<1000, block = 256>, P = #block.dim<?, block = 256>}
func.func @matmul(%a: tensor<?x?xf32> {bb.dims = ["M", "P"]}, %b: tensor<?x1000xf32> {bb.dims = ["P", "N"]}) -> tensor<?x1000xf32> {
  %out = array.matmul %a, %b : tensor<?x?xf32>, tensor<?x1000xf32> -> tensor<?x1000xf32>
  func.return %out : tensor<?x1000xf32>
}

// A size that the program declares stays, unless it is named.
// CHECK-LABEL: func.func @declared
// CHECK-SAME:  block.dims = {M = #block.dim<500, block = 8>, N = #block.dim<500, whole>, K = #block.dim<500, block = 256>}
// NAMED-LABEL: func.func @declared
// NAMED-SAME:  block.dims = {M = #block.dim<500, block = 48>, N = #block.dim<500, whole>, K = #block.dim<500, block = 16>}
func.func @declared() attributes {block.dims = {M = #block.dim<500, block = 8>, N = #block.dim<500, whole>, K = #block.dim<500>}} {
  func.return
}

// 333 rows in blocks of 80 leave two workers as much to do as each other. 517 columns are two blocks, and no third
// one of 5.
// CHECK-LABEL: func.func @uneven
// CHECK-SAME:  block.dims = {M = #block.dim<333, block = 80>, N = #block.dim<1111, block = 256>, K = #block.dim<517, block = 264>}
func.func @uneven(%a: tensor<333x517xf32> {bb.dims = ["M", "K"]}, %b: tensor<517x1111xf32> {bb.dims = ["K", "N"]}) -> tensor<333x1111xf32> {
  %out = array.matmul %a, %b : tensor<333x517xf32>, tensor<517x1111xf32> -> tensor<333x1111xf32>
  func.return %out : tensor<333x1111xf32>
}

// A program without contractions keeps its rows whole, and has as many in a tile as the first-level cache holds.
// CHECK-LABEL: func.func @long_rows
// CHECK-SAME:  block.dims = {M = #block.dim<500, block = 1>, N = #block.dim<4096, whole>}
func.func @long_rows(%x: tensor<500x4096xf32> {bb.dims = ["M", "N"]}) -> tensor<500x4096xf32> {
  %out = array.softmax %x axis 1 : tensor<500x4096xf32>
  func.return %out : tensor<500x4096xf32>
}

// CHECK-LABEL: func.func @short_rows
// CHECK-SAME:  block.dims = {M = #block.dim<500, block = 8>, N = #block.dim<500, whole>}
func.func @short_rows(%x: tensor<500x500xf32> {bb.dims = ["M", "N"]}) -> tensor<500x500xf32> {
  %out = array.softmax %x axis 1 : tensor<500x500xf32>
  func.return %out : tensor<500x500xf32>
}

// Rows beyond the second-level cache are cut, and so are those of unknown length.
// CHECK-LABEL: func.func @endless_rows
// CHECK-SAME:  block.dims = {M = #block.dim<500, block = 1>, N = #block.dim<100000, block = 4096>}
func.func @endless_rows(%x: tensor<500x100000xf32> {bb.dims = ["M", "N"]}) -> tensor<500x100000xf32> {
  %out = array.softmax %x axis 1 : tensor<500x100000xf32>
  func.return %out : tensor<500x100000xf32>
}

// CHECK-LABEL: func.func @unknown_rows
// CHECK-SAME:  block.dims = {M = #block.dim<?, block = 16>, N = #block.dim<?, block = 256>}
func.func @unknown_rows(%x: tensor<?x?xf32> {bb.dims = ["M", "N"]}) -> tensor<?x?xf32> {
  %out = array.softmax %x axis 1 : tensor<?x?xf32>
  func.return %out : tensor<?x?xf32>
}

// What is reduced along the first axis has no rows that lie together.
// CHECK-LABEL: func.func @columns
// CHECK-SAME:  M = #block.dim<500, block = 64>
func.func @columns(%x: tensor<500x4096xf32> {bb.dims = ["M", "N"]}) -> tensor<500x4096xf32> {
  %out = array.softmax %x axis 0 : tensor<500x4096xf32>
  func.return %out : tensor<500x4096xf32>
}

// What a single row is multiplied with is read in long blocks, if its columns are enough blocks to share.
// CHECK-LABEL: func.func @single_row
// CHECK-SAME:  block.dims = {M = #block.dim<1, block = 64>, N = #block.dim<8192, block = 256>, K = #block.dim<4096, whole>}
func.func @single_row(%x: tensor<1x4096xf32> {bb.dims = ["M", "K"]}, %w: tensor<4096x8192xf32> {bb.dims = ["K", "N"]}) -> tensor<1x8192xf32> {
  %out = array.matmul %x, %w : tensor<1x4096xf32>, tensor<4096x8192xf32> -> tensor<1x8192xf32>
  func.return %out : tensor<1x8192xf32>
}

// CHECK-LABEL: func.func @long_single_row
// CHECK-SAME:  K = #block.dim<11008, block = 2048>
func.func @long_single_row(%x: tensor<1x11008xf32> {bb.dims = ["M", "K"]}, %w: tensor<11008x4096xf32> {bb.dims = ["K", "N"]}) -> tensor<1x4096xf32> {
  %out = array.matmul %x, %w : tensor<1x11008xf32>, tensor<11008x4096xf32> -> tensor<1x4096xf32>
  func.return %out : tensor<1x4096xf32>
}

// CHECK-LABEL: func.func @few_columns
// CHECK-SAME:  K = #block.dim<4096, block = 256>
func.func @few_columns(%x: tensor<1x4096xf32> {bb.dims = ["M", "K"]}, %w: tensor<4096x512xf32> {bb.dims = ["K", "N"]}) -> tensor<1x512xf32> {
  %out = array.matmul %x, %w : tensor<1x4096xf32>, tensor<4096x512xf32> -> tensor<1x512xf32>
  func.return %out : tensor<1x512xf32>
}
