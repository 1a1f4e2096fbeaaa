// SPDX-License-Identifier: Apache-2.0
// Patterns, idents, and answers of podresources (docs/spec/numa.md 9.4).
#include "systems/numa/exporter/pod_filter.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"
#include "unit/systems/numa/exporter/recorded.hpp"

namespace athanor::numa::pod_filter_test {
namespace {

TEST(NumaPodFilter, MatchesShellPatterns) {
  struct Row {
    const char* pattern;
    const char* text;
    bool matches;
  };
  constexpr Row kRows[] = {
      {"*", "", true},
      {"*", "anything", true},
      {"*", "a/b", false},
      {"pod-*", "pod-a", true},
      {"pod-*", "pod", false},
      {"?", "a", true},
      {"?", "", false},
      {"?", "/", false},
      {"[a-c]x", "bx", true},
      {"[a-c]x", "dx", false},
      {"[^a-c]x", "dx", true},
      {"[^a-c]x", "bx", false},
      {"a*b*c", "aXbYbZc", true},
      {"a*b*c", "aXbY", false},
      {"\\*", "*", true},
      {"\\*", "a", false},
      {"image-pruner-*", "image-pruner-1", true},
      {"[]a]", "]", false},
      {"[", "[", false},
      {"", "", true},
      {"", "a", false},
      {"*a", "aaaa", true},
      {"[a\\-c]", "-", true},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(matches_glob(row.pattern, row.text), row.matches) << row.pattern << " " << row.text;
  }
  // Quadratic at most.
  EXPECT_FALSE(matches_glob("*a*a*a*a*a*a*a*b", std::string(20000, 'a')));
}

TEST(NumaPodFilter, ReadsIdents) {
  const auto ident = parse_ident(" ns / pod /container ");
  ASSERT_TRUE(ident.ok());
  EXPECT_EQ(ident->ns + "," + ident->pod + "," + ident->container, "ns,pod,container");
  EXPECT_EQ(parse_ident("ns/pod").error().message, "malformed ident: \"ns/pod\"");
  EXPECT_EQ(parse_ident("a/b/c/d").error().message, "malformed ident: \"a/b/c/d\"");
}

TEST(NumaPodResources, RoundTripsItsJson) {
  const auto pods = testing::example_pods();
  const auto again = read_list(to_value(pods));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(json::print(to_value(*again)), json::print(to_value(pods)));
  const auto allocatable = testing::example_allocatable();
  EXPECT_EQ(json::print(to_value(read_allocatable(to_value(allocatable)).value())),
            json::print(to_value(allocatable)));
  EXPECT_EQ(read_get(Value::object({{"pod_resources", to_value(pods)["pod_resources"][0]}}))->key,
            (Key{"default", "pod-a"}));
}

TEST(NumaPodResources, NamesInvalidMembers) {
  const auto why = [](const char* text) {
    const auto list = read_list(json::parse(text).value());
    return list.ok() ? std::string("read") : list.error().message;
  };
  EXPECT_EQ(why("[]"), "answer: must be an object");
  EXPECT_EQ(why(R"({"pod_resources": {}})"), "pod_resources: must be a list");
  EXPECT_EQ(why(R"({"pod_resources": [{"containers": [{"cpu_ids": [-1]}]}]})"),
            "pod_resources[0].containers[0].cpu_ids: must be an id");
  EXPECT_EQ(why(R"({"pod_resources": [{"containers": [{"cpu_ids": [99999999999]}]}]})"),
            "pod_resources[0].containers[0].cpu_ids: must be an id");
  EXPECT_EQ(why(R"({"pod_resources": [{"containers": [{"memory": [{"size": "x"}]}]}]})"),
            "pod_resources[0].containers[0].memory[0].size: must be a number of bytes");
  EXPECT_EQ(why(R"({"pod_resources": [{"name": 5}]})"), "pod_resources[0].name: must be a text");
  // A node below 0 means no locality.
  const auto nowhere = read_list(
      json::parse(R"({"pod_resources": [{"containers": [{"devices": [{"resource_name": "r",
        "device_ids": ["a"], "topology": {"nodes": [{"ID": -1}]}}]}]}]})")
          .value());
  ASSERT_TRUE(nowhere.ok());
  EXPECT_TRUE(nowhere->front().containers.front().devices.front().nodes.empty());
}

}  // namespace
}  // namespace athanor::numa::pod_filter_test
