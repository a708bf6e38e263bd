// RUN: attn-opt %s --transform-interpreter --verify-diagnostics

// Its state has a number of queries that is not that of the lanes.

func.func @rows(%q: tensor<3x16xf32>, %k: tensor<?x16xf32>, %o: tensor<3x16xf32>,
                %m: tensor<8xf32>, %n: index, %e: i1) -> tensor<3x16xf32> {
  // expected-error @below {{in rows, has no partial reduction}}
  %r:3 = attn.online_attention in_rows
      ins(%q, %k, %k : tensor<3x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>)
      outs(%o, %m, %m : tensor<3x16xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x16xf32>, tensor<8xf32>, tensor<8xf32>
  return %r#0 : tensor<3x16xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.online_attention"]} in %root
        : (!transform.any_op) -> !transform.any_op
    // expected-error @+2 {{could not tile reduction}}
    %fills:3, %split, %merges:3, %loop =
        transform.structured.tile_reduction_using_forall %op by num_threads = [4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op,
           !transform.any_op, !transform.any_op, !transform.any_op,
           !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
