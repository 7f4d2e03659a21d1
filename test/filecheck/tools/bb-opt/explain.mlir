// RUN: bb-opt %s -p array-decompose,array-to-block,block-fuse --explain | filecheck %s
// RUN: bb-opt %s -p array-decompose,array-to-block,block-fuse --explain --pseudo-code | filecheck %s --check-prefix=CODE
// RUN: bb-opt %s -p "array-decompose,array-to-block,block-fuse{snapshot=all}" --explain | filecheck %s
// RUN: bb-opt %s -p "array-decompose,array-to-block,block-fuse{extend=false}" --explain | filecheck %s --check-prefix=FIRST
// RUN: not bb-opt %s -p array-decompose --explain 2>&1 | filecheck %s --check-prefix=NONE

// CHECK:       @softmax: 5 nests, 6 intermediate lists; 54 loads and 36 stores move 469 kB; 73.2 kflop
// CHECK:       To snapshot 0, by the laws alone:
// CHECK-NEXT:  1  fuse-map-reduction         reduced while made: %max at [M]{{ +}}469 -> {{[0-9]+}} kB
// CHECK:       exp-of-shift               shift out of exp: %exp at [M][N]
// CHECK:       = 1 nest, 1 intermediate list private to an iteration; 12 loads and 12 stores move 230 kB;
// CHECK:       To snapshot 1: make %exp a second time, in the map over N (kept: a structural law
// CHECK:       split-map                  made a second time: %Probs_m at [M][N]
// CHECK-NEXT:  fuse-consecutive-maps
// CHECK-NEXT:  = 1 nest, 0 intermediate lists; 12 loads and 6 stores move 173 kB;
// CHECK-NOT:   To snapshot
// CHECK:       Snapshots
// CHECK-NEXT:        nests  lists    loads  stores     moved    flops  recomputed  reached by
// CHECK-NEXT:     -      5      6       54      36    469 kB   73.2 k           0  (as given)
// CHECK-NEXT:     0      1      1       12      12    230 kB   43.6 k           0  the laws alone
// CHECK-NEXT:     1      1      0       12       6    173 kB   58.0 k           0  make %exp a second time
// CHECK:       Laws that fired
// CHECK:         exp-of-shift x1: A row shift under an exponential is a row scale of the exponential.
// CHECK:       Refused
// CHECK-NEXT:    fuse-sibling-maps: the second map needs a result of the first
// CHECK-NEXT:        %sum at [M][N]{{.*}}in the last snapshot
// CHECK:         fuse-consecutive-maps: another operation stands between the maps
// CHECK-NEXT:        %Probs_m at [M][N]{{.*}}in snapshot 0, overcome later

// The pseudo-code after a step is what the next step starts from.
// CODE:       @softmax: 5 nests
// CODE:                 store Exp[m, n] = exp(load Shifted[m, n])
// CODE:       To snapshot 0, by the laws alone:
// CODE-NEXT:  fuse-map-reduction
// CODE:             softmax(x[M, N]) -> probs[M, N]
// CODE:       To snapshot 1
// CODE:       fuse-consecutive-maps
// CODE:             forall m in M:
// CODE-NEXT:            total = 0
// CODE-NEXT:            for n in N:
// CODE-NEXT:                total += row_sum(exp(load x[m, n]))
// CODE:                 forall n in N:
// CODE-NEXT:                store probs[m, n] = row_scale(exp(load x[m, n]), inv_total)
// CODE:       Snapshots

// FIRST:     = 1 nest, 1 intermediate list
// FIRST-NOT: To snapshot 1

// NONE: bb-opt: error: --explain tells what the pass block-fuse did, but there is none in the pipeline
func.func @softmax(%x: tensor<150x96xf32>) -> tensor<150x96xf32> {
  %probs = array.softmax %x axis 1 : tensor<150x96xf32>
  func.return %probs : tensor<150x96xf32>
}
