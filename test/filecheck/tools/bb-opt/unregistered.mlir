// RUN: bb-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: not bb-opt %s 2>&1 | filecheck %s --check-prefix=STRICT

// CHECK: %0 = "blok.unknown"() : () -> i32
// STRICT: error: operation 'blok.unknown' is not registered: there is no dialect 'blok'; did you mean 'block'?
%0 = "blok.unknown"() : () -> i32
