//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_PLAN_PLANATTR_TD
#define ATTN_DIALECT_PLAN_PLANATTR_TD

include "dialect/AttnDialect.td"
include "dialect/AttnEnums.td"
include "mlir/IR/AttrTypeBase.td"

def Attn_PlanNumber : DefaultValuedParameter<"int64_t", "0">;

def Attn_PlanAttr : AttrDef<Attn_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "how a kernel computes an op";
  let description = [{
    As `attn.plan` of an `attn.attention`, of its gradients and tangents, of an
    `attn.projection` or an `attn.multi_token_attention`, says into what the op is cut and how that lies.
    `attn-plan` writes it, from `#attn.target` and the types of the op, and every
    pass after it does what it says. What a user has written stays; `attn-plan`
    adds the rest, or says why it cannot be carried out.

    ```mlir
    %r = attn.attention ins(...) outs(...)
        {attn.plan = #attn.plan<layout = lanes, heads = 1, rows = 64, lanes = 16,
                                head_size = 64, keys = 64, chunk = 1024>}
    ```

    | name | of | |
    |---|---|---|
    | `layout` | attention, its gradients and tangents | how operands of a tile lie, as of `attn.online_attention` |
    | `heads` | attention, its gradients | query heads whose queries are rows of one tile: all that share keys and values, or 1 (GQA packing) |
    | `rows` | all | rows of a tile: query rows, of all its heads, or tokens |
    | `rest` | attention | the plan of the rows after as many whole tiles as there are, if they are computed in another way |
    | `lanes` | attention, its gradients and tangents, projection | elements of a vector: rows of a tile, or columns, are computed by multiples of it; on a GPU, rows of a warp |
    | `head_size` | attention | elements of rows of queries and keys, those that are padded with 0 among them; of derivatives, only if there are such |
    | `keys` | attention, its gradients and tangents | keys of a block, if what they are read from does not make it smaller; of multi-token attention, those of a strip of scores, if it does not have all that a tile sees |
    | `chunk` | attention | keys of a part that is computed in parallel with others of one tile (split-KV); of gradients in matrix tiles, keys whose sums stay in the second level while all rows go by |
    | `columns` | projection | columns of a tile |
    | `features` | projection | features of a block: what is multiplied before the next rows of a tile |
    | `packs` | attention in pairs, its gradients and tangents in matrix tiles, projection | where the values, or the rows, are packed: in each `block` of keys, `shared` by all tiles, before them, or `kept` by a tile for the next of its thread |
    | `ahead` | attention, projection | bytes of a stream of keys, values or weights from memory that are fetched ahead of where they are read: blocks that come next, or, not said, what the memory of the target needs |
    | `warpgroups` | attention | on a GPU of sm_90a, four warps multiply together (`wgmma`), each of them 16 rows |
    | `batch_invariant` | attention | all numbers of queries are computed in one order of sums: a query's bits do not depend on how many come with it |

    What is 0 is not said.
  }];
  let parameters = (ins
    OptionalParameter<"::std::optional<::mlir::attn::OnlineLayout>">:$layout,
    Attn_PlanNumber:$heads, Attn_PlanNumber:$rows, Attn_PlanNumber:$lanes,
    Attn_PlanNumber:$head_size, Attn_PlanNumber:$keys, Attn_PlanNumber:$chunk,
    Attn_PlanNumber:$columns, Attn_PlanNumber:$features,
    OptionalParameter<"::std::optional<::mlir::attn::Packs>">:$packs,
    Attn_PlanNumber:$ahead,
    DefaultValuedParameter<"bool", "false">:$warpgroups,
    DefaultValuedParameter<"bool", "false">:$batch_invariant,
    OptionalParameter<"::mlir::attn::PlanAttr">:$rest);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr ::llvm::StringLiteral kName = "attn.plan";

    static PlanAttr get(::mlir::MLIRContext *context,
                        const PlanFields &fields);
    PlanFields getFields() const;
  }];
}

#endif // ATTN_DIALECT_PLAN_PLANATTR_TD
