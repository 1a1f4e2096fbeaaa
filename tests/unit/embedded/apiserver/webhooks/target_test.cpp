// SPDX-License-Identifier: Apache-2.0
// Where a webhook's client configuration points.
#include <gtest/gtest.h>

#include <string>

#include "embedded/apiserver/webhooks/endpoint.hpp"

namespace athanor::apiserver {
namespace {

struct Written {
  const char* url = "";
  const char* asked = "";
};
class WebhookUrl : public testing::TestWithParam<Written> {};

TEST_P(WebhookUrl, IsAskedWithACleanPath) {
  const auto store = *store::Store::open(store::memory_journal(), {});
  const Target target =
      webhook_target(*store, Value::object({{"url", GetParam().url}}), "timeout=7s");
  EXPECT_EQ(target.request.url, std::string(GetParam().asked) + "?timeout=7s");
}

INSTANTIATE_TEST_SUITE_P(Forms, WebhookUrl,
                         testing::Values(Written{"https://h", "https://h/"},
                                         Written{"https://h:1/a/b", "https://h:1/a/b"},
                                         Written{"https://h//a", "https://h/a"},
                                         Written{"https://h/a//b/", "https://h/a/b"},
                                         Written{"https://h/a/../b/./c", "https://h/b/c"},
                                         Written{"https://h/../a", "https://h/a"}));

}  // namespace
}  // namespace athanor::apiserver
