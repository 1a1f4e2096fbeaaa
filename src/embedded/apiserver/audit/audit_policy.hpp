// SPDX-License-Identifier: Apache-2.0
// Which requests are audited, and how much of them (docs/spec/apiserver.md 18): audit.k8s.io/v1
// Policy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "embedded/apiserver/request/authorize.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Each level says all that the ones before it say.
enum class AuditLevel : std::uint8_t { None, Metadata, Request, RequestResponse };
// Returns the name in documents: "RequestResponse".
std::string_view level_name(AuditLevel level);

// When an audit event is written.
enum class AuditStage : std::uint8_t {
  RequestReceived,
  ResponseStarted,  // of long-running requests, and of those without a user
  ResponseComplete,
};
// Returns the name in documents: "ResponseComplete".
std::string_view stage_name(AuditStage stage);

// The resources of one group that a rule matches.
struct AuditResources {
  std::string group{};
  std::vector<std::string> resources{};  // "pods", "pods/log", "pods/*", "*/scale", "*"; empty: all
  std::vector<std::string> names{};      // empty: all
};

// Empty lists match everything.
struct AuditRule {
  AuditLevel level = AuditLevel::None;
  std::vector<std::string> users{}, groups{}, verbs{}, namespaces{}, urls{};
  std::vector<AuditResources> resources{};
  std::vector<AuditStage> omitted{};
  bool omit_managed_fields = false;
};

// The first rule that matches counts.
struct AuditPolicy {
  std::vector<AuditRule> rules{};
};

// Parses a policy. Errors: another kind, no rules, unknown levels or stages, contradicting rules.
Result<AuditPolicy> parse_audit_policy(const Value& document);

// Returns the rule for a request (with stages that the whole policy omits); nullptr: none.
const AuditRule* audit_rule(const AuditPolicy& policy, const Attributes& attributes);

}  // namespace athanor::apiserver
