// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/audit/audit_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace athanor::apiserver {
namespace {

constexpr std::array<std::string_view, 4> kLevels = {"None", "Metadata", "Request",
                                                     "RequestResponse"};
constexpr std::array<std::string_view, 3> kStages = {"RequestReceived", "ResponseStarted",
                                                     "ResponseComplete"};

// The enumerator of a name; nullopt: there is none.
template <class Enum, std::size_t Size>
std::optional<Enum> named(const std::array<std::string_view, Size>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? std::nullopt
                              : std::optional(static_cast<Enum>(found - names.begin()));
}

std::vector<std::string> strings(const Value& list) {
  std::vector<std::string> texts;
  for (const Value& item : list.items()) {
    texts.push_back(item.str());
  }
  return texts;
}

bool has(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

Result<std::vector<AuditStage>> parse_stages(const Value& list, std::string_view path) {
  std::vector<AuditStage> stages;
  for (const Value& item : list.items()) {
    const std::string_view name = item.as_string();
    if (name == "Panic") {
      continue;  // nothing panics here
    }
    const auto stage = named<AuditStage>(kStages, name);
    if (!stage) {
      return Error::bad_request(
          fmt::format("{}: Invalid value: \"{}\": allowed stages are "
                      "RequestReceived,ResponseStarted,ResponseComplete,Panic",
                      path, name));
    }
    stages.push_back(*stage);
  }
  return stages;
}

Result<AuditRule> parse_rule(const Value& value, const std::string& path) {
  AuditRule rule;
  const std::string_view level = value["level"].as_string();
  const auto known = named<AuditLevel>(kLevels, level);
  if (!known) {
    return Error::bad_request(
        level.empty()
            ? fmt::format("{}.level: Required value", path)
            : fmt::format("{}.level: Unsupported value: \"{}\": supported values: \"None\", "
                          "\"Metadata\", \"Request\", \"RequestResponse\"",
                          path, level));
  }
  rule.level = *known;
  rule.users = strings(value["users"]);
  rule.groups = strings(value["userGroups"]);
  rule.verbs = strings(value["verbs"]);
  rule.namespaces = strings(value["namespaces"]);
  rule.urls = strings(value["nonResourceURLs"]);
  for (const Value& item : value["resources"].items()) {
    rule.resources.push_back({.group = item["group"].str(),
                              .resources = strings(item["resources"]),
                              .names = strings(item["resourceNames"])});
    if (rule.resources.back().resources.empty() && !rule.resources.back().names.empty()) {
      return Error::bad_request(fmt::format(
          "{}.resources: Invalid value: using resourceNames requires at least one resource", path));
    }
  }
  if (!rule.urls.empty() && (!rule.resources.empty() || !rule.namespaces.empty())) {
    return Error::bad_request(fmt::format(
        "{}.nonResourceURLs: Invalid value: rules cannot apply to both regular resources and "
        "non-resource URLs",
        path));
  }
  ATHANOR_TRY(rule.omitted, parse_stages(value["omitStages"], path + ".omitStages"));
  return rule;
}

bool matches_url(const AuditRule& rule, const Attributes& attributes) {
  return !attributes.is_resource && std::ranges::any_of(rule.urls, [&](std::string_view url) {
    return url == attributes.path ||
           (url.ends_with('*') && attributes.path.starts_with(url.substr(0, url.size() - 1)));
  });
}

// "pods", "pods/log", "pods/*", "*/scale", "*".
bool matches_name(std::string_view pattern, const Attributes& attributes) {
  const std::string& sub = attributes.subresource;
  const std::string whole = sub.empty() ? attributes.resource : attributes.resource + "/" + sub;
  if (pattern == whole || pattern == "*") {
    return true;
  }
  if (sub.empty()) {
    return false;
  }
  return (pattern.starts_with("*/") && pattern.substr(2) == sub) ||
         (pattern.ends_with("/*") && pattern.substr(0, pattern.size() - 2) == attributes.resource);
}

bool matches_resource(const AuditRule& rule, const Attributes& attributes) {
  if (!attributes.is_resource ||
      (!rule.namespaces.empty() && !has(rule.namespaces, attributes.ns))) {
    return false;
  }
  return rule.resources.empty() ||
         std::ranges::any_of(rule.resources, [&](const AuditResources& wanted) {
           return wanted.group == attributes.group &&
                  (wanted.resources.empty() ||
                   ((wanted.names.empty() || has(wanted.names, attributes.name)) &&
                    std::ranges::any_of(wanted.resources, [&](std::string_view pattern) {
                      return matches_name(pattern, attributes);
                    })));
         });
}

bool matches(const AuditRule& rule, const Attributes& attributes) {
  const UserInfo* user = attributes.user;
  if (!rule.users.empty() && (user == nullptr || !has(rule.users, user->name))) {
    return false;
  }
  if (!rule.groups.empty() &&
      (user == nullptr || std::ranges::none_of(rule.groups, [&](const std::string& group) {
         return user->in_group(group);
       }))) {
    return false;
  }
  if (!rule.verbs.empty() && !has(rule.verbs, attributes.verb)) {
    return false;
  }
  if (!rule.namespaces.empty() || !rule.resources.empty()) {
    return matches_resource(rule, attributes);
  }
  return rule.urls.empty() || matches_url(rule, attributes);
}

}  // namespace

std::string_view level_name(AuditLevel level) {
  return kLevels.at(static_cast<std::size_t>(level));
}

std::string_view stage_name(AuditStage stage) {
  return kStages.at(static_cast<std::size_t>(stage));
}

Result<AuditPolicy> parse_audit_policy(const Value& document) {
  if (document["kind"].as_string() != "Policy" ||
      document["apiVersion"].as_string() != "audit.k8s.io/v1") {
    return Error::bad_request("no Policy of audit.k8s.io/v1");
  }
  AuditPolicy policy;
  ATHANOR_TRY(const auto omitted, parse_stages(document["omitStages"], "omitStages"));
  const bool omit_managed_fields = document["omitManagedFields"].as_bool();
  const Value& rules = document["rules"];
  for (const Value& item : rules.items()) {
    ATHANOR_TRY(AuditRule rule, parse_rule(item, fmt::format("rules[{}]", policy.rules.size())));
    rule.omitted.insert(rule.omitted.end(), omitted.begin(), omitted.end());
    const Value& own = item["omitManagedFields"];
    rule.omit_managed_fields = own.is_null() ? omit_managed_fields : own.as_bool();
    policy.rules.push_back(std::move(rule));
  }
  if (policy.rules.empty()) {
    return Error::bad_request("loaded illegal policy with 0 rules");
  }
  return policy;
}

const AuditRule* audit_rule(const AuditPolicy& policy, const Attributes& attributes) {
  const auto found = std::ranges::find_if(
      policy.rules, [&](const AuditRule& rule) { return matches(rule, attributes); });
  return found == policy.rules.end() || found->level == AuditLevel::None ? nullptr : &*found;
}

}  // namespace athanor::apiserver
