// SPDX-License-Identifier: Apache-2.0
// Where a webhook's client configuration points.
#include <gtest/gtest.h>

#include <string>

#include "embedded/apiserver/request/endpoint.hpp"

namespace athanor::apiserver::target_test {
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

TEST(Endpoints, LinkLocalIsKnownInEveryForm) {
  for (const char* address :
       {"169.254.0.1", "169.254.169.254:80", "[fe80::1]:443", "fe80::1", "[febf::1%eth0]:1"}) {
    EXPECT_TRUE(is_link_local(address)) << address;
  }
  for (const char* address : {"127.0.0.1:80", "169.253.1.1:80", "[fec0::1]:1", "::1", "host:80",
                              "host", "", "169.254.example.com:80"}) {
    EXPECT_FALSE(is_link_local(address)) << address;
  }
}

}  // namespace
}  // namespace athanor::apiserver::target_test
