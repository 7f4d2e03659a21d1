// RUN: bb-opt --list-passes | filecheck %s
// RUN: bb-opt --version | filecheck %s --check-prefix=VERSION
// RUN: bb-opt --help | filecheck %s --check-prefix=HELP

// CHECK-DAG: {{^}}block-apply {{ +}}Apply the named rewrite rules until none of them matches any more.
// CHECK-DAG: {{^}}cse {{ +}}Merge operations that compute the same value.
// VERSION: bb-opt {{\d+\.\d+\.\d+}} (xDSL 0.75.0)
// HELP: usage: bb-opt
// HELP: --verify-diagnostics
