// Integers in emitted source: what may overflow or divide by zero is a call of a function with a meaning for all operands.

// RUN: bb-run %s --target cpu --source --entry narrow | filecheck %s --check-prefix=CPU
// RUN: bb-run %s --target emulator --source --entry narrow | filecheck %s --check-prefix=CUDA
// RUN: bb-run %s --target cpu --source --entry wide | filecheck %s --check-prefix=WIDE
// RUN: bb-run %s --target cpu --source --entry indices | filecheck %s --check-prefix=INDICES
// RUN: bb-run %s --target cpu --source --entry sums | filecheck %s --check-prefix=SUMS
// RUN: bb-run %s --target emulator --source --entry sums | filecheck %s --check-prefix=CUDA-SUMS

// CPU: using T = float;
// CPU: const I [[A:.*]] = bb::wrapping_add(
// CPU: bb::quotient<bb::Round::towards_zero, 32>(
// CPU: bb::quotient<bb::Round::down, 32>(
// CPU: bb::unsigned_quotient<bb::Round::up, 32>(
// CPU: bb::unsigned_remainder<32>(
// CPU: bb::shift_left<32>(
// CPU: bb::unsigned_max(
// CPU: bb::unsigned_less(
// CPU: bb::from_unsigned<T, float, 32>(
// CPU: bb::to_signed<32>(

// CUDA: (int)((unsigned int){{.*}} + (unsigned int)
// CUDA: bb::scalar::quotient<bb::scalar::Round::towards_zero, int>(
// CUDA: bb::scalar::quotient<bb::scalar::Round::down, int>(
// CUDA: bb::scalar::unsigned_quotient<bb::scalar::Round::up, int>(
// CUDA: bb::scalar::unsigned_remainder<int>(
// CUDA: bb::scalar::shift_left<32, int>(
// CUDA: bb::scalar::unsigned_max<int>(
// CUDA: (unsigned){{.*}} < (unsigned)
// CUDA: (float)(unsigned int)
// CUDA: bb::scalar::to_signed<32, int>(
func.func @narrow(%x: tensor<5xi32>, %y: tensor<5xi32>) -> tensor<5xi32> {
  %r = array.elementwise (%a = %x, %b = %y) : tensor<5xi32>, tensor<5xi32> -> tensor<5xi32> {
    %0 = arith.addi %a, %b : i32
    %1 = arith.divsi %0, %b : i32
    %2 = arith.floordivsi %1, %b : i32
    %3 = arith.ceildivui %2, %b : i32
    %4 = arith.remui %3, %b : i32
    %5 = arith.shli %4, %b : i32
    %6 = arith.maxui %5, %b : i32
    %7 = arith.cmpi ult, %6, %a : i32
    %8 = arith.select %7, %6, %a : i32
    %9 = arith.uitofp %8 : i32 to f32
    %10 = arith.fptosi %9 : f32 to i32
    array.yield %10 : i32
  }
  func.return %r : tensor<5xi32>
}

// WIDE: using T = double;
// WIDE: const std::int64_t* const x
// WIDE: bb::wrapping_mul(
// WIDE: bb::narrow<32>(
func.func @wide(%x: tensor<5xi64>) -> tensor<5xi32> {
  %r = array.elementwise (%a = %x) : tensor<5xi64> -> tensor<5xi32> {
    %0 = arith.muli %a, %a : i64
    %1 = arith.trunci %0 : i64 to i32
    array.yield %1 : i32
  }
  func.return %r : tensor<5xi32>
}

// The index is below 7, so its product with 1000 fits lanes of 32 bits, and does not wrap around.
// INDICES: using T = float;
// INDICES-NOT: wrapping
// INDICES: return bb::ok
func.func @indices(%x: tensor<7xf32>) -> tensor<7xf32> {
  %i = array.iota axis 0 : tensor<7xi64>
  %r = array.elementwise (%a = %x, %b = %i) : tensor<7xf32>, tensor<7xi64> -> tensor<7xf32> {
    %k = arith.constant 1000 : i64
    %0 = arith.muli %b, %k : i64
    %1 = arith.sitofp %0 : i64 to f32
    %2 = arith.mulf %a, %1 : f32
    array.yield %2 : f32
  }
  func.return %r : tensor<7xf32>
}

// SUMS: bb::from_bits<T>(bb::wrapping_add(bb::bits_of(acc[0]), bb::keep(
// SUMS: bb::sum(bb::bits_of(acc[0]))
// SUMS: bb::contract_integers<32>(
// CUDA-SUMS: bb::scalar::sum_of()(
// CUDA-SUMS: bb::scalar::multiply_added<int>(
func.func @sums(%x: tensor<5x7xi32>, %w: tensor<7x3xi32>) -> (tensor<5xi32>, tensor<5x3xi32>) {
  %s = array.reduce sum %x axes [1] : tensor<5x7xi32> -> tensor<5xi32>
  %p = array.matmul %x, %w : tensor<5x7xi32>, tensor<7x3xi32> -> tensor<5x3xi32>
  func.return %s, %p : tensor<5xi32>, tensor<5x3xi32>
}
