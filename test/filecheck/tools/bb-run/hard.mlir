// RUN: bb-run %s --random hard --check --entry norm | filecheck %s --check-prefix=NORM
// RUN: bb-run %s --random hard:7 --entry ints | filecheck %s --check-prefix=INTS
// RUN: not bb-run %s --random hard --check --entry norm -p array-decompose,array-to-block,block-fuse 2>&1 | filecheck %s --check-prefix=FUSED
// RUN: not bb-run %s --random hard: 2>&1 | filecheck %s --check-prefix=SEED
// RUN: not bb-run %s --random soft:1 2>&1 | filecheck %s --check-prefix=SOFT

//      NORM: @norm on the interpreter
//      NORM:   check %y: worst error {{.*}}: ok
// NORM-NEXT:   check %y, outliers: worst error of a row {{.*}}: ok
// NORM-NEXT:   check %y, a mean of 1000 deviations: worst error of a row {{.*}}: ok
// NORM-NEXT:   check %y, small: worst error of a row {{.*}}: ok
// NORM-NEXT:   check %y, tiny: worst error of a row {{.*}}: ok
// NORM-NEXT:   check %y, large: worst error of a row {{.*}}: {{ok|as written}}
// NORM-NEXT:   check %y, the largest: worst error of a row {{.*}}: {{ok|as written}}
// NORM-NEXT:   check %y, zeros and denormals: worst error of a row {{.*}}: ok
// NORM-NEXT:   check %y, equal: worst error of a row {{.*}}: ok
// NORM-NEXT:   check %y, NaN and infinities: worst error of a row {{.*}}: ok

// Fused, and not stabilised: the raw exponential overflows.

//      FUSED:   check %y, a mean of 1000 deviations: worst error of a row inf, {{.*}} as written: OUTSIDE
//      FUSED: bb-run: error: result %y of @norm, for the hard inputs 'a mean of 1000 deviations', is further from the float64 reference than its bound allows
func.func @norm(%x: tensor<20x24xf32>) -> tensor<20x24xf32> {
  %y = array.softmax %x axis 1 : tensor<20x24xf32>
  func.return %y : tensor<20x24xf32>
}

//      INTS:   %i: 64xi32, min -8, mean {{.*}}, max 8
// INTS-NEXT:   extreme integers: %i: min -2.14748e+09, mean {{.*}}, max 2.14748e+09
func.func @ints(%i: tensor<64xi32>) -> tensor<64xi32> {
  func.return %i : tensor<64xi32>
}

// SEED: bb-run: error: argument --random: takes an integer from 0, 'hard' or 'hard:SEED', not 'hard:'
// SOFT: bb-run: error: argument --random: takes an integer from 0, 'hard' or 'hard:SEED', not 'soft:1'
