//===- BuilderMistakes.cpp - What compilers say of wrong masks ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One mistake for each value of MISTAKE. The line before it is in what a
// compiler says, whose first error it is or explains.
//
//===----------------------------------------------------------------------===//

#include "attn/attention.h"

using namespace attn;

[[maybe_unused]] static const Tensor<float, 2> table("table");

#if MISTAKE == 0
// Nothing is wrong.
auto x = mask([](Index b, Index h, Index q, Index k) {
  return (true || k <= q) && (k & 3) != 0 && !false;
});
#elif MISTAKE == 1
// SAYS: a mask takes (b, h, q, k), each an attn::Index
auto x = mask([](Index b, Index h, Index q) { return h < q; });
#elif MISTAKE == 2
// SAYS: a mask takes (b, h, q, k), each an attn::Index
auto x = mask([](int b, int h, int q, int k) { return k <= q; });
#elif MISTAKE == 3
// SAYS: a mask gives an attn::Bool, such as k <= q
auto x = mask([](Index b, Index h, Index q, Index k) { return 1.0f; });
#elif MISTAKE == 4
// SAYS: a mask gives an attn::Bool, such as k <= q
auto x = mask([](Index b, Index h, Index q, Index k) { return q - k; });
#elif MISTAKE == 5
// SAYS: Use select(c, a, b) instead of if.
auto x = mask([](Index b, Index h, Index q, Index k) -> Bool {
  if (k <= q)
    return k % 4 == 0;
  return false;
});
#elif MISTAKE == 6
// SAYS: Use select(c, a, b) instead of if.
auto x = score([](Expr s, Index b, Index h, Index q, Index k) -> Expr {
  return k < q ? s : s + 1;
});
#elif MISTAKE == 7
// SAYS: Compare: k % 4 == 0 && ...
auto x = mask(
    [](Index b, Index h, Index q, Index k) -> Bool { return k % 4 && k <= q; });
#elif MISTAKE == 8
// SAYS: Compare it, as in k % 4 == 0.
auto x = mask([](Index b, Index h, Index q, Index k) -> Bool { return !k; });
#elif MISTAKE == 9
// SAYS: a score takes (s, b, h, q, k), an attn::Expr and four attn::Index
auto x = score([](Index b, Index h, Index q, Index k) { return Expr(q); });
#elif MISTAKE == 10
// SAYS: a score gives an attn::Expr, such as s - abs(q - k)
auto x =
    score([](Expr s, Index b, Index h, Index q, Index k) { return k < q; });
#elif MISTAKE == 11
// SAYS: an element has as many indices as its tensor has dimensions, each an
// attn::Index
auto x = score([](Expr s, Index b, Index h, Index q, Index k) -> Expr {
  return s + table(h);
});
#elif MISTAKE == 12
// SAYS: an element has as many indices as its tensor has dimensions, each an
// attn::Index
auto x = score([](Expr s, Index b, Index h, Index q, Index k) -> Expr {
  return s + table(s, k);
});
#endif
