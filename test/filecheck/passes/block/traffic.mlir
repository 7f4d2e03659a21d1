// RUN: bb-opt %s -p block-traffic | filecheck %s --strict-whitespace
// RUN: bb-opt %s -p block-traffic | bb-opt -p block-traffic | filecheck %s --strict-whitespace
// RUN: bb-opt %s -p 'block-traffic{format=json file=%t.json}' | filecheck %s --check-prefix=PROGRAM
// RUN: filecheck %s --check-prefix=JSON < %t.json
// RUN: bb-opt %s -p 'block-traffic{format=json}' -o %t.mlir | filecheck %s --check-prefix=JSON
// RUN: bb-opt %s -p 'block-traffic{file=%t.txt}' -o %t.mlir && filecheck %s < %t.txt
// RUN: not bb-opt %s -p 'block-traffic{format=yaml}' 2>&1 | filecheck %s --check-prefix=FORMAT
// RUN: not bb-opt %s -p 'block-traffic{file=%t.none/x}' 2>&1 | filecheck %s --check-prefix=FILE

// FORMAT: bb-opt: error: pass 'block-traffic': option 'format' is table or json, not 'yaml'
// FILE: error: pass 'block-traffic': cannot write '{{.*}}x': no such file or directory
// PROGRAM-NOT: traffic of
// PROGRAM: func.func @row_sums(

// The extents and block sizes of M and K are known: 3 blocks of rows, 2 of columns.

//      CHECK: {{^}}// traffic of @row_sums: M = 160 in blocks of 64, K = 64 in blocks of 32
// CHECK-NEXT: {{^}}//  nest     loads     stores   bytes loaded   bytes stored   flops
// CHECK-NEXT: {{^}}//  ──{{─+}}
// CHECK-NEXT: {{^}}//  Sums     #K·#M     #M       4·K·M          4·M            K·M + #K·M
// CHECK-NEXT: {{^}}//           = 6       = 3      = 40,960       = 640          = 10,560
// CHECK-NEXT: {{^}}//  Sums_1   #K·#M     #M       4·K·M          4·M            K·M + #K·M
// CHECK-NEXT: {{^}}//           = 6       = 3      = 40,960       = 640          = 10,560
// CHECK-NEXT: {{^}}//  total    2·#K·#M   2·#M     8·K·M          8·M            2·K·M + 2·#K·M
// CHECK-NEXT: {{^}}//           = 12      = 6      = 81,920       = 1,280        = 21,120

//      JSON: "functions": {
// JSON-NEXT:   "row_sums": {
// JSON-NEXT:     "dims": {
// JSON-NEXT:       "M": {
// JSON-NEXT:         "extent": 160,
// JSON-NEXT:         "block_size": 64,
// JSON-NEXT:         "blocking": "blocked"
//      JSON:     "nests": [
// JSON-NEXT:       {
// JSON-NEXT:         "name": "Sums",
// JSON-NEXT:         "op": "block.map",
// JSON-NEXT:         "loads": {
// JSON-NEXT:           "expression": "#K·#M",
// JSON-NEXT:           "number": 6
// JSON-NEXT:         },
//      JSON:         "bytes_loaded": {
// JSON-NEXT:           "expression": "4·K·M",
// JSON-NEXT:           "number": 40960
//      JSON:         "name": "Sums_1",
//      JSON:     "total": {
// JSON-NEXT:       "loads": {
// JSON-NEXT:         "expression": "2·#K·#M",
// JSON-NEXT:         "number": 12
func.func @row_sums(%x: tensor<160x64xf32>) -> (tensor<160xf32>, tensor<160xf32>)
    attributes {block.dims = {M = #block.dim<160, block = 64>, K = #block.dim<64, block = 32>}} {
  %X = block.partition %x [M, K] : tensor<160x64xf32> -> !block.list<M, K, block<M x K x f32>>
  %Sums = block.map @M (%X_m = %X) -> (stack) : !block.list<M, K, block<M x K x f32>> {
    %sum = block.map @K (%X_mk = %X_m) -> (sum) : !block.list<K, block<M x K x f32>> {
      %b = block.load %X_mk : !block.block<M x K x f32, global>
      %part = block.row_sum %b acc f32 : !block.block<M x K x f32>
      block.yield %part : !block.vector<M x f32>
    }
    %stored = block.store %sum : !block.vector<M x f32>
    block.yield %stored : !block.vector<M x f32, global>
  }
  %Sums_1 = block.map @M (%X_m = %X) -> (stack) : !block.list<M, K, block<M x K x f32>> {
    %sum = block.map @K (%X_mk = %X_m) -> (sum) : !block.list<K, block<M x K x f32>> {
      %b = block.load %X_mk : !block.block<M x K x f32, global>
      %part = block.row_sum %b acc f32 : !block.block<M x K x f32>
      block.yield %part : !block.vector<M x f32>
    }
    %stored = block.store %sum : !block.vector<M x f32>
    block.yield %stored : !block.vector<M x f32, global>
  }
  %sums = block.assemble %Sums [M] : !block.list<M, vector<M x f32>> -> tensor<160xf32>
  %again = block.assemble %Sums_1 [M] : !block.list<M, vector<M x f32>> -> tensor<160xf32>
  func.return %sums, %again : tensor<160xf32>, tensor<160xf32>
}

// A batch dim has as many blocks as elements; a whole dim of unknown extent has one; an i1 takes a byte.

//      CHECK: {{^}}// traffic of @negated: B = 8 (batch), M = ? (whole)
//      CHECK: {{^}}//  Not {{ *}}B {{ *}}B {{ *}}B·M {{ *}}B·M {{ *}}B·M
// CHECK-NEXT: {{^}}//  {{ +}}= 8 {{ *}}= 8{{$}}
//      CHECK: {{^}}// not counted, because no block moves in them: array.custom (2 times), func.call
//      JSON:   "negated": {
//      JSON:         "extent": 8,
//      JSON:         "blocking": "batch"
//      JSON:         "extent": null,
// JSON-NEXT:         "block_size": null,
// JSON-NEXT:         "blocking": "whole"
//      JSON:         "bytes_loaded": {
// JSON-NEXT:           "expression": "B·M",
// JSON-NEXT:           "number": null
//      JSON:     "uncounted": [
// JSON-NEXT:       "array.custom",
// JSON-NEXT:       "array.custom",
// JSON-NEXT:       "func.call"
func.func @negated(%x: tensor<8x?xi1>) -> tensor<8x?xi1>
    attributes {block.dims = {B = #block.dim<8, batch>, M = #block.dim<?, whole>}} {
  %y = array.custom @f(%x) : (tensor<8x?xi1>) -> tensor<8x?xi1>
  %z = array.custom @f(%y) : (tensor<8x?xi1>) -> tensor<8x?xi1>
  %Z = block.partition %z [B, M] : tensor<8x?xi1> -> !block.list<B, vector<M x i1>>
  %Not = block.map @B (%Z_b = %Z) -> (stack) : !block.list<B, vector<M x i1>> {
    %b = block.load %Z_b : !block.vector<M x i1, global>
    %not = block.elementwise (%a = %b) : !block.vector<M x i1> -> !block.vector<M x i1> {
      %true = arith.constant true
      %flipped = arith.xori %a, %true : i1
      block.yield %flipped : i1
    }
    %stored = block.store %not : !block.vector<M x i1>
    block.yield %stored : !block.vector<M x i1, global>
  }
  %not = block.assemble %Not [B, M] : !block.list<B, vector<M x i1>> -> tensor<8x?xi1>
  %called = func.call @array_program(%not) : (tensor<8x?xi1>) -> tensor<8x?xi1>
  func.return %called : tensor<8x?xi1>
}

// CHECK: {{^}}// traffic of @array_program: none, there is no block program in it (array-to-block makes one)
func.func @array_program(%x: tensor<8x?xi1>) -> tensor<8x?xi1> {
  func.return %x : tensor<8x?xi1>
}

// CHECK: {{^}}// M: extent of dim M in elements; #M: number of its blocks; = a number, where {{.*}} are known
