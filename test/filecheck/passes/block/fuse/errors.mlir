// RUN: not bb-opt %s -p "array-to-block,block-fuse{snapshot=1}" 2>&1 | filecheck %s --check-prefix=NUMBER
// RUN: not bb-opt %s -p "array-to-block,block-fuse{snapshot=-1}" 2>&1 | filecheck %s --check-prefix=NEGATIVE
// RUN: not bb-opt %s -p "array-to-block,block-fuse{snapshot=first}" 2>&1 | filecheck %s --check-prefix=SNAPSHOT
// RUN: not bb-opt %s -p "array-to-block,block-fuse{budget=0}" 2>&1 | filecheck %s --check-prefix=BUDGET
// RUN: not bb-opt %s -p "array-to-block,block-fuse{whole=Q}" 2>&1 | filecheck %s --check-prefix=DIM
// RUN: not bb-opt %s -p "array-to-block,block-fuse{whole=H}" 2>&1 | filecheck %s --check-prefix=BATCH
// RUN: not bb-opt %s -p "block-fuse" 2>&1 | filecheck %s --check-prefix=ARRAYS
// RUN: not bb-opt %s -p "array-to-block,block-fuse{trace=%t.none/trace.jsonl}" 2>&1 | filecheck %s --check-prefix=TRACE
// RUN: not bb-opt %s -p "array-to-block,block-fuse{rules=fuse-everything}" 2>&1 | filecheck %s --check-prefix=RULE

// NUMBER: error: {{.*}}there is no snapshot 1, only snapshot 0 was found
// NEGATIVE: error: pass 'block-fuse': option 'snapshot' must not be negative, got -1
// SNAPSHOT: error: pass 'block-fuse': option 'snapshot' must be last, best-traffic, same-work, all or a number, got 'first'
// BUDGET: error: pass 'block-fuse': option 'budget' must be at least 1, got 0
// DIM: error: pass 'block-fuse': no function has a dim Q; the dims are H, M, N
// BATCH: errors.mlir:{{[0-9]+}}:1: error: pass 'block-fuse': 'func.func' op batch dim H cannot be whole: its items have no axis over it
// ARRAYS: error: pass 'block-fuse': there is no block program to fuse; run array-to-block first
// TRACE: error: pass 'block-fuse': cannot write the trace to {{.*}}trace.jsonl: no such file or directory
// RULE: error: {{.*}}there is no rule named 'fuse-everything'
func.func @exponentials(%x: tensor<3x130x70xf32> {bb.dims = ["H", "M", "N"]}) -> tensor<3x130x70xf32> {
  %out = array.elementwise (%a = %x) : tensor<3x130x70xf32> -> tensor<3x130x70xf32> {
    %e = math.exp %a : f32
    array.yield %e : f32
  }
  func.return %out : tensor<3x130x70xf32>
}
