// RUN: bb-opt --list-passes | filecheck %s
// RUN: bb-opt --list-rules | filecheck %s --check-prefix=RULES
// RUN: bb-opt --version | filecheck %s --check-prefix=VERSION
// RUN: bb-opt --help | filecheck %s --check-prefix=HELP

// CHECK-DAG: {{^}}block-apply {{ +}}Apply the named rewrite rules until none of them matches any more.
// CHECK-DAG: {{^}}cse {{ +}}Merge operations that compute the same value.
// RULES: {{^}}exp-of-shift {{ +}}A row shift under an exponential is a row scale of the exponential.
// RULES: {{^}}swap-scale-dot {{ +}}Scales travel down: past contractions, row sums
// RULES-NEXT: {{^}}  left operand {{ +}}A row scale of the left operand of a contraction is a row scale of its result.
// VERSION: bb-opt {{\d+\.\d+\.\d+}} (xDSL 0.75.0)
// HELP: usage: bb-opt
// HELP: --verify-diagnostics
