// RUN: bb-opt %s -p block-to-kernel | filecheck %s

#whole = {M = #block.dim<8, whole>}

// An operation on arrays that stands between two operations of a kernel, and has to do with neither.
// CHECK-LABEL: func.func @unrelated(
// CHECK-NEXT:    %z = kernel.launch @unrelated_kernel1(%x)
// CHECK-NEXT:    %y = array.relu %x
// CHECK-NEXT:    func.return
func.func @unrelated(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>) attributes {block.dims = #whole} {
  %X = block.partition %x [M] : tensor<8xf32> -> !block.vector<M x f32, global>
  %a = block.load %X : !block.vector<M x f32, global>
  %y = array.relu %x : tensor<8xf32>
  %s = block.row_sum %a acc f32 : !block.vector<M x f32>
  %t = block.store %s : !block.scalar<f32>
  %z = block.assemble %t [] : !block.scalar<f32, global> -> tensor<f32>
  func.return %y, %z : tensor<8xf32>, tensor<f32>
}

// One that the kernel reads comes before it, one that reads what the kernel makes comes after it.
// CHECK-LABEL: func.func @around(
// CHECK-NEXT:    %y = array.relu %x
// CHECK-NEXT:    %[[A:.*]], %[[C:.*]] = kernel.launch @around_kernel1(%x, %y)
// CHECK-NEXT:    %b = array.relu %[[A]]
// CHECK-NEXT:    func.return %b, %[[C]]
func.func @around(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {block.dims = #whole} {
  %X = block.partition %x [M] : tensor<8xf32> -> !block.vector<M x f32, global>
  %1 = block.load %X : !block.vector<M x f32, global>
  %A = block.store %1 : !block.vector<M x f32>
  %a = block.assemble %A [M] : !block.vector<M x f32, global> -> tensor<8xf32>
  %b = array.relu %a : tensor<8xf32>
  %y = array.relu %x : tensor<8xf32>
  %Y = block.partition %y [M] : tensor<8xf32> -> !block.vector<M x f32, global>
  %2 = block.load %Y : !block.vector<M x f32, global>
  %3 = block.add %1, %2 : !block.vector<M x f32>
  %C = block.store %3 : !block.vector<M x f32>
  %c = block.assemble %C [M] : !block.vector<M x f32, global> -> tensor<8xf32>
  func.return %b, %c : tensor<8xf32>, tensor<8xf32>
}

// One that reads what the kernel makes and gives what the kernel reads makes two kernels of it. The item that
// both need is stored by the first one and loaded by the second one.
// CHECK-LABEL: kernel.func @across_kernel1(%x : {{.*}}) outs(%{{.*}} : !kernel.array<8xf32>, %{{.*}} : !kernel.array<8xf32>)
// CHECK-LABEL: kernel.func @across_kernel2(
// CHECK-LABEL: func.func @across(
// CHECK-NEXT:    %[[OUT:.*]], %[[ITEM:.*]] = kernel.launch @across_kernel1(%x)
// CHECK-NEXT:    %y = array.relu %{{.*}}
// CHECK-NEXT:    %z = kernel.launch @across_kernel2(%{{.*}}, %y)
// CHECK-NEXT:    func.return %z
func.func @across(%x: tensor<8xf32>) -> tensor<8xf32> attributes {block.dims = #whole} {
  %X = block.partition %x [M] : tensor<8xf32> -> !block.vector<M x f32, global>
  %1 = block.load %X : !block.vector<M x f32, global>
  %2 = block.mul %1, %1 : !block.vector<M x f32>
  %A = block.store %2 : !block.vector<M x f32>
  %a = block.assemble %A [M] : !block.vector<M x f32, global> -> tensor<8xf32>
  %y = array.relu %a : tensor<8xf32>
  %Y = block.partition %y [M] : tensor<8xf32> -> !block.vector<M x f32, global>
  %3 = block.load %Y : !block.vector<M x f32, global>
  %4 = block.add %1, %3 : !block.vector<M x f32>
  %Z = block.store %4 : !block.vector<M x f32>
  %z = block.assemble %Z [M] : !block.vector<M x f32, global> -> tensor<8xf32>
  func.return %z : tensor<8xf32>
}

// So does a look into a tensor that the kernel makes.
// CHECK-LABEL: func.func @looks_back(
// CHECK-NEXT:    kernel.launch @looks_back_kernel1(%x)
// CHECK-NEXT:    %z = kernel.launch @looks_back_kernel2(
// CHECK-NEXT:    func.return %z
func.func @looks_back(%x: tensor<8xf32>) -> tensor<8xf32> attributes {block.dims = #whole} {
  %X = block.partition %x [M] : tensor<8xf32> -> !block.vector<M x f32, global>
  %1 = block.load %X : !block.vector<M x f32, global>
  %2 = block.mul %1, %1 : !block.vector<M x f32>
  %A = block.store %2 : !block.vector<M x f32>
  %a = block.assemble %A [M] : !block.vector<M x f32, global> -> tensor<8xf32>
  %Y = block.partition %a [M] : tensor<8xf32> -> !block.vector<M x f32, global>
  %3 = block.load %Y : !block.vector<M x f32, global>
  %4 = block.add %1, %3 : !block.vector<M x f32>
  %Z = block.store %4 : !block.vector<M x f32>
  %z = block.assemble %Z [M] : !block.vector<M x f32, global> -> tensor<8xf32>
  func.return %z : tensor<8xf32>
}

// Two chains each of which reads a list of the other are one kernel.
// CHECK-LABEL: func.func @crossed(
// CHECK-NEXT:    kernel.launch @crossed_kernel1(%x)
// CHECK-NEXT:    func.return
func.func @crossed(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {block.dims = #whole} {
  %X = block.partition %x [M] : tensor<8xf32> -> !block.vector<M x f32, global>
  %1 = block.load %X : !block.vector<M x f32, global>
  %2 = block.load %X : !block.vector<M x f32, global>
  %A = block.store %1 : !block.vector<M x f32>
  %B = block.store %2 : !block.vector<M x f32>
  %3 = block.load %B : !block.vector<M x f32, global>
  %4 = block.load %A : !block.vector<M x f32, global>
  %5 = block.add %1, %3 : !block.vector<M x f32>
  %6 = block.mul %2, %4 : !block.vector<M x f32>
  %C = block.store %5 : !block.vector<M x f32>
  %D = block.store %6 : !block.vector<M x f32>
  %c = block.assemble %C [M] : !block.vector<M x f32, global> -> tensor<8xf32>
  %d = block.assemble %D [M] : !block.vector<M x f32, global> -> tensor<8xf32>
  func.return %c, %d : tensor<8xf32>, tensor<8xf32>
}
