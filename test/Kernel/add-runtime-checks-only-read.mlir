// RUN: attn-opt %s -attn-add-runtime-checks=only-read -canonicalize | FileCheck %s
// RUN: attn-opt %s -attn-add-runtime-checks -canonicalize | FileCheck %s --check-prefix=COUNTS

!cache = tensor<?x2x16x8xf32>

// Each page in the used part of the table is compared with those that are written, of
// which none may be the same. Otherwise pages are counted.
// CHECK-LABEL: func.func @append
// CHECK-NOT: linalg.fill
// CHECK-NOT: tensor.insert
// CHECK: cf.assert {{.*}}a page to be written is not one of the cache's
// CHECK: scf.for %[[M:.*]] = %c0
// CHECK: scf.for %[[USED:.*]] = %c0
// CHECK: %[[PAGE:.*]] = tensor.extract %[[TABLE:.*]][%[[M]], %[[USED]]]
// CHECK: scf.for %[[N:.*]] = %c0
// CHECK: scf.for %[[K:.*]] = %{{.*}}
// CHECK-DAG: arith.cmpi eq, %[[M]], %[[N]]
// CHECK-DAG: arith.cmpi eq, %[[USED]], %[[K]]
// CHECK-DAG: tensor.extract %[[TABLE]][%[[N]], %[[K]]]
// CHECK: cf.assert {{.*}}a page to be written stands elsewhere
// CHECK: attn.cache_append
// CHECK-NOT: attn.checks_only_read
// COUNTS-LABEL: func.func @append
// COUNTS: linalg.fill
// COUNTS: tensor.insert
func.func @append(%rows: tensor<?x2x?x8xf32>, %cache: !cache, %lengths: tensor<?xi32>,
                  %table: tensor<?x?xi32>) -> !cache {
  %r = attn.cache_append ins(%rows : tensor<?x2x?x8xf32>) outs(%cache : !cache)
      lengths(%lengths : tensor<?xi32>) table(%table : tensor<?x?xi32>)
  return %r : !cache
}
