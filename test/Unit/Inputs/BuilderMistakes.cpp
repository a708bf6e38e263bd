//===- BuilderMistakes.cpp - What compilers say of wrong masks ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Right without MISTAKES. With them, each is one error, in which compilers say,
// or show, the line before it.
//
//===----------------------------------------------------------------------===//

#include "attn/attention.h"

#include <cmath>

using namespace attn;

[[maybe_unused]] static const Tensor<float, 2> table("table");

auto right = mask([](Index b, Index h, Index q, Index k) {
  return (true || k <= q) && (k & 3) != 0 && !false;
});

// What meets what, and what it gives.
template <typename T, typename U> T is(U result) {
  static_assert(std::same_as<T, U>);
  return result;
}
auto mixed = score([](Expr s, Index b, Index h, Index q, Index k) -> Expr {
  Expr sums = is<Real>(s + 1) + is<Real>(2.5 * s) + is<Real>(k * 0.5) +
              is<Real>(s - k) + is<Real>(q / s) + is<Real>(-s) + s * 1.5F;
  Bool any = is<Bool>(s < 1) || is<Bool>(0.5 >= s) || is<Bool>(k == 2.5) ||
             is<Bool>(s != k) || is<Bool>(q < k) || is<Bool>(1 <= q);
  Index whole = is<Index>(q + 1) - is<Index>(3 / (k | 1));
  return select(any, max(sums, 0.0), pow(exp(s), 2) + whole);
});

#ifdef MISTAKES

// SAYS: a mask takes (b, h, q, k), each an attn::Index
auto x1 = mask([](Index b, Index h, Index q) { return h < q; });

// SAYS: a mask takes (b, h, q, k), each an attn::Index
auto x2 = mask([](int b, int h, int q, int k) { return k <= q; });

// SAYS: a mask gives an attn::Bool, such as k <= q
auto x3 = mask([](Index b, Index h, Index q, Index k) { return 1.0f; });

// SAYS: a mask gives an attn::Bool, such as k <= q
auto x4 = mask([](Index b, Index h, Index q, Index k) { return q - k; });

// SAYS: Use select(c, a, b) instead of if.
auto x5 = mask([](Index b, Index h, Index q, Index k) -> Bool {
  if (k <= q)
    return k % 4 == 0;
  return false;
});

// SAYS: Use select(c, a, b) instead of if.
auto x6 = score([](Expr s, Index b, Index h, Index q, Index k) -> Expr {
  return k < q ? s : s + 1;
});

// SAYS: Compare: k % 4 == 0 && ...
auto x7 = mask(
    [](Index b, Index h, Index q, Index k) -> Bool { return k % 4 && k <= q; });

// SAYS: Compare it, as in k % 4 == 0.
auto x8 = mask([](Index b, Index h, Index q, Index k) -> Bool { return !k; });

// SAYS: a score takes (s, b, h, q, k), an attn::Expr and four attn::Index
auto x9 = score([](Index b, Index h, Index q, Index k) { return Expr(q); });

// SAYS: a score gives an attn::Expr, such as s - abs(q - k)
auto x =
    score([](Expr s, Index b, Index h, Index q, Index k) { return k < q; });

// SAYS: an element has as many indices as its tensor has dimensions, each an
// attn::Index
auto x10 = score([](Expr s, Index b, Index h, Index q, Index k) -> Expr {
  return s + table(h);
});

// SAYS: an element has as many indices as its tensor has dimensions, each an
// attn::Index
auto x11 = score([](Expr s, Index b, Index h, Index q, Index k) -> Expr {
  return s + table(s, k);
});

// SAYS: Use a function of attn, as in exp(s), and not std::exp.
auto x12 = score([](Expr s, Index b, Index h, Index q, Index k) -> Expr {
  return std::exp(s);
});

#endif // MISTAKES
