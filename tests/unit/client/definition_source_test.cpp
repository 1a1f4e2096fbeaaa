// SPDX-License-Identifier: Apache-2.0
// Redirects of servers that serve definitions. The fetches:
// tests/e2e/lab/test_pipeline_resolvers.py.
#include "client/definition_source.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace athanor::client::definition_source_test {
namespace {

std::string next(const std::string& from, const std::string& location) {
  return redirected(from, location).value_or("refused");
}

TEST(DefinitionSource, FollowsItsServerAndHttps) {
  EXPECT_EQ(next("http://a.example/x?y", "/z"), "http://a.example/z");
  EXPECT_EQ(next("http://a.example/x", "http://A.example/z"), "http://A.example/z");
  EXPECT_EQ(next("http://a.example/x", "https://b.example/z"), "https://b.example/z");
}

TEST(DefinitionSource, RefusesOtherRedirects) {
  for (const char* location :
       {"http://127.0.0.1:8080/", "http://a.example.evil/", "http://a.example:81/x", "//b/x", "",
        "file:///etc/passwd", "http://a.example@b/x", "x"}) {
    EXPECT_EQ(next("http://a.example/x", location), "refused") << location;
  }
}

TEST(DefinitionSource, AnswersBadQuestions) {
  DefinitionSource source;
  std::optional<Result<Value>> answer;
  source.ask("definition:{}", [&](Result<Value> got) { answer = std::move(got); });
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->ok());
}

}  // namespace
}  // namespace athanor::client::definition_source_test
