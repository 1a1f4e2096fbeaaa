// SPDX-License-Identifier: Apache-2.0
// Which rule of an audit policy a request falls under (docs/spec/apiserver.md 18).
#include "embedded/apiserver/audit/audit_policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/text/yaml.hpp"

namespace athanor::apiserver::audit_policy_test {
namespace {

using testing::HasSubstr;

constexpr std::string_view kHead = "apiVersion: audit.k8s.io/v1\nkind: Policy\n";

Result<AuditPolicy> policy(std::string_view rules) {
  return parse_audit_policy(*yaml::parse(std::string(kHead) + std::string(rules)));
}

struct Case {
  std::string_view rule{};  // of one line, without its level
  bool matches = false;
};

// Of "alice" (group "devs") who reads the log of pod "p" in "team".
class AuditRules : public testing::TestWithParam<Case> {};

TEST_P(AuditRules, MatchARequestOrNot) {
  const auto parsed = policy("rules: [{level: Metadata" + std::string(GetParam().rule) + "}]");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  UserInfo user;
  user.name = "alice";
  user.groups = {"devs"};
  Attributes attributes;
  attributes.user = &user;
  attributes.verb = "get";
  attributes.version = "v1";
  attributes.resource = "pods";
  attributes.subresource = "log";
  attributes.ns = "team";
  attributes.name = "p";
  EXPECT_EQ(audit_rule(*parsed, attributes) != nullptr, GetParam().matches) << GetParam().rule;
}

INSTANTIATE_TEST_SUITE_P(
    Table, AuditRules,
    testing::Values(
        Case{"", true}, Case{", users: [alice]", true}, Case{", users: [bob]", false},
        Case{", userGroups: [ops, devs]", true}, Case{", userGroups: [ops]", false},
        Case{", verbs: [get]", true}, Case{", verbs: ['*']", false},
        Case{", namespaces: [team]", true}, Case{", namespaces: [other]", false},
        Case{", resources: [{group: ''}]", true}, Case{", resources: [{group: apps}]", false},
        Case{", resources: [{group: '', resources: [pods]}]", false},
        Case{", resources: [{group: '', resources: [pods/log]}]", true},
        Case{", resources: [{group: '', resources: ['pods/*']}]", true},
        Case{", resources: [{group: '', resources: ['*/log']}]", true},
        Case{", resources: [{group: '', resources: ['*']}]", true},
        Case{", resources: [{group: '', resources: [pods/log], resourceNames: [p]}]", true},
        Case{", resources: [{group: '', resources: [pods/log], resourceNames: [q]}]", false},
        Case{", nonResourceURLs: ['*']", false}));

TEST(AuditPolicies, TheFirstMatchingRuleCounts) {
  const auto parsed = policy(
      "omitStages: [RequestReceived]\n"
      "rules:\n"
      "- {level: None, nonResourceURLs: ['/healthz*']}\n"
      "- {level: Request, verbs: [get], omitStages: [ResponseStarted]}\n"
      "- {level: RequestResponse}\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  Attributes attributes;
  attributes.is_resource = false;
  attributes.verb = "get";
  attributes.path = "/healthz/ping";
  EXPECT_EQ(audit_rule(*parsed, attributes), nullptr);
  attributes.path = "/version";
  const AuditRule* rule = audit_rule(*parsed, attributes);
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(rule->level, AuditLevel::Request);
  EXPECT_THAT(rule->omitted, testing::UnorderedElementsAre(AuditStage::RequestReceived,
                                                           AuditStage::ResponseStarted));
  attributes.verb = "post";
  EXPECT_EQ(audit_rule(*parsed, attributes)->level, AuditLevel::RequestResponse);
}

TEST(AuditPolicies, BadOnesAreRefused) {
  EXPECT_THAT(policy("rules: []").error().message, HasSubstr("0 rules"));
  EXPECT_THAT(policy("rules: [{level: All}]").error().message,
              HasSubstr("rules[0].level: Unsupported value: \"All\""));
  EXPECT_THAT(policy("rules: [{level: None, omitStages: [Never]}]").error().message,
              HasSubstr("rules[0].omitStages: Invalid value: \"Never\""));
  EXPECT_THAT(
      policy("rules: [{level: None, namespaces: [a], nonResourceURLs: ['*']}]").error().message,
      HasSubstr("rules cannot apply to both"));
  EXPECT_FALSE(parse_audit_policy(*yaml::parse("kind: Policy\napiVersion: policy/v1\n")).ok());
}

}  // namespace
}  // namespace athanor::apiserver::audit_policy_test
