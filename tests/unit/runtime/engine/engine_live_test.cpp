// SPDX-License-Identifier: Apache-2.0
// Reads that go past the caches, and what takes their place.
#include <fmt/format.h>

#include "runtime/view/live.hpp"
#include "unit/runtime/engine_fixture.hpp"

namespace athanor::runtime::engine_live_test {
namespace {

// The answer to a write shows the object as a read at that moment would.
TEST_F(EngineTest, TakesWrittenObjectAsLiveRead) {
  const auto map = [](int version, std::string_view said) {
    return object(kConfigMap, "m", version,
                  fmt::format(R"({{"data": {{"live": "x"}}, "status": {{"live": {}}}}})", said));
  };
  start({map(5, "-1")});
  ASSERT_EQ(others.size(), 1U) << "the first question of the kind is asked";
  feed(Observation{.query = std::get<Probe>(others[0]).query,
                   .value = LiveQuery::answer({map(5, "-1")})});
  auto writes = take_sent();
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].request.body, parsed(R"({"status": {"live": 1}})"));
  feed(WriteResult{.id = writes[0].id, .object = map(101, "1")});
  changed(map(101, "1"));
  EXPECT_EQ(others.size(), 1U) << "the write's answer is this version";
  EXPECT_TRUE(sent.empty());
  changed(map(102, "1"));
  EXPECT_EQ(others.size(), 2U) << "someone else has written";
}

}  // namespace
}  // namespace athanor::runtime::engine_live_test
