//===- FailingCalls.h - Drivers whose calls fail ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_FAILINGCALLS_H
#define ATTN_TEST_UNIT_FAILINGCALLS_H

#include "attn/error.h"
#include "test/Unit/MockCUDADriver.h"

#include "gmock/gmock.h"

#include <functional>
#include <string>

namespace attn::test {

/// Runs `everything` once for each call of the driver, which fails with `code`,
/// alone or with all after it. The error has to say `what`, and nothing may be
/// left over.
inline void expectEveryFailureIsSaid(const std::function<Status()> &everything,
                                     int code, const std::string &what) {
  // What has nobody to report an error to; the context is for the others of it.
  constexpr const char *givesBack =
      "cu(Ctx(Push|Pop)Current|DevicePrimaryCtxRelease|StreamDestroy|"
      "EventDestroy|Mem(Free|PoolDestroy)|ModuleUnload)(_v2)?";
  MockDriver &driver = MockDriver::get();
  driver.fail(0, 0);
  Status status = everything();
  ASSERT_TRUE(status) << status.error().message;
  const std::size_t calls = driver.calls;
  ASSERT_GT(calls, 30u);
  EXPECT_EQ(driver.countLive(), 0u);
  for (bool forever : {false, true})
    for (std::size_t call = 1; call <= calls; ++call) {
      SCOPED_TRACE("call " + std::to_string(call));
      driver.reset();
      driver.fail(call, code, forever);
      status = everything();
      EXPECT_EQ(driver.countLive(), 0u);
      EXPECT_EQ(MockDriver::current(), nullptr);
      if (status)
        EXPECT_THAT(driver.failedFirst, testing::MatchesRegex(givesBack));
      else
        EXPECT_THAT(status.error().message, testing::HasSubstr(": " + what));
    }
}

} // namespace attn::test

#endif // ATTN_TEST_UNIT_FAILINGCALLS_H
