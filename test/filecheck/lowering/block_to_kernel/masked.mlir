// RUN: bb-opt %s --pipeline cpu | filecheck %s
// RUN: bb-opt %s --pipeline cpu -t cpp | filecheck %s --check-prefix CPP
// RUN: bb-opt %s --pipeline cuda -t cuda | filecheck %s --check-prefix CUDA

// What a mask hides is left out in a second run, which a kernel makes only where NaN has come out.
// CHECK-LABEL: kernel.func @masked_kernel1
//       CHECK: kernel.sweep [M, N] ({{.*}}) -> (each %seen) : {{.*}} attributes {careful} {
//       CHECK:   arith.select
//       CHECK: kernel.contract %{{.*}}, %{{.*}}, %{{.*}} scale %{{.*}} keeps %seen

// CPP: for (bool careful = false, again = true; again; careful = true) {
// CPP:   if (careful) {
// CPP:   if (!careful || bb::all_finite(
// CPP:     bb::finite_copy(
// CPP:     bb::add_not_finite(
// CPP: again = again || (!careful && bb::any_nan(

// CUDA: BB_DEVICE bool run_[[KERNEL:bbk_[a-z0-9_]+]](
// CUDA:   if (careful) {
// CUDA:   if (careful)
// CUDA:     bb::contract_kept_kn<THREADS, float>([[SUM:[a-z0-9]+]], [[LEFT:[a-z0-9]+]], seen, [[RIGHT:.*]], 0);
// CUDA:   else
// CUDA:     bb::contract_kn([[SUM]], bb::to_operand<float>([[LEFT]]), [[RIGHT]], 0);
// CUDA: again |= bb::any_nan([[SUM]]);
// CUDA: return again;
// CUDA: __device__ __noinline__ void careful_[[KERNEL]](
// CUDA:   run_[[KERNEL]]({{.*}}, true);
// CUDA: __global__ {{.*}} [[KERNEL]](
// CUDA:   const bool again = run_[[KERNEL]]({{.*}}, false);
// CUDA:   if (__syncthreads_or(again)) careful_[[KERNEL]](
func.func @masked(%q: tensor<64x16xf32>, %k: tensor<300x16xf32>, %v: tensor<300x16xf32>, %m: tensor<1x300xi1>) -> tensor<64x16xf32> {
  %o = array.attention %q, %k, %v mask(%m : tensor<1x300xi1>) : tensor<64x16xf32>, tensor<300x16xf32>, tensor<300x16xf32> -> tensor<64x16xf32>
  func.return %o : tensor<64x16xf32>
}
