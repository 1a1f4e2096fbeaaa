// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/kinds/service_families.hpp"

#include <string_view>

#include "embedded/apiserver/kinds/checks.hpp"
#include "embedded/apiserver/kinds/edit.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kPolicyPath = "spec.ipFamilyPolicy";
constexpr std::string_view kSingle = "SingleStack";
constexpr std::string_view kBoth = "RequireDualStack";

bool is_external(const Value& spec) {
  return spec["type"].as_string() == "ExternalName";
}

// Who selects nothing may have endpoints of both families.
bool takes_any(const Value& spec) {
  return is_headless(spec) && spec["selector"].empty();
}

// Only who says that one family is enough gives the other back.
bool is_reduced(const Value& spec, const Value& old_spec) {
  return spec["ipFamilyPolicy"].as_string() != kSingle && !spec["ipFamilies"].empty() &&
         spec["ipFamilies"].size() < old_spec["ipFamilies"].size();
}

void choose(Value& spec, const Value& old_spec) {
  if (spec["ipFamilyPolicy"].is_null()) {
    const Value& before = old_spec["ipFamilyPolicy"];
    spec.set("ipFamilyPolicy",
             !before.is_null() ? before : Value(takes_any(spec) ? kBoth : kSingle));
  }
  const bool single = spec["ipFamilyPolicy"].as_string() == kSingle;
  if (single && spec["ipFamilies"].size() > 1 && spec["ipFamilies"] == old_spec["ipFamilies"]) {
    const Value first = spec["ipFamilies"][0];
    spec.set("ipFamilies", Value::list({first}));
  }
  if (is_reduced(spec, old_spec) ||
      (!takes_any(spec) && spec["ipFamilyPolicy"].as_string() == kBoth)) {
    return;  // not to be had
  }
  if (spec["ipFamilies"].empty()) {
    spec.set("ipFamilies", Value::list({"IPv4"}));
  }
  if (takes_any(spec) && !single && spec["ipFamilies"].size() < 2) {
    const bool newer = spec["ipFamilies"][0].as_string() == "IPv6";
    spec.member("ipFamilies").push_back(newer ? "IPv4" : "IPv6");
  }
}

}  // namespace

bool is_headless(const Value& spec) {
  return spec["clusterIP"].as_string() == "None" ||
         (!spec["clusterIPs"].empty() && spec["clusterIPs"][0].as_string() == "None");
}

void choose_families(Value& service, const Value& old_service) {
  if (!is_external(service["spec"])) {
    edit_member(service, "spec", [&](Value& spec) { choose(spec, old_service["spec"]); });
  }
}

std::vector<FieldError> family_errors(const Value& service, const Value& old_service) {
  const Value& spec = service["spec"];
  const Value& policy = spec["ipFamilyPolicy"];
  const Value& families = spec["ipFamilies"];
  std::vector<FieldError> errors;
  if (is_external(spec)) {
    return errors;
  }
  if (is_reduced(spec, old_service["spec"])) {
    errors.push_back(FieldError::invalid(
        kPolicyPath, policy, "must be 'SingleStack' to release the secondary IP family"));
  }
  if (policy.as_string() == kSingle && families.size() == 2) {
    errors.push_back(FieldError::invalid(kPolicyPath, policy,
                                         "must be 'RequireDualStack' or 'PreferDualStack' when "
                                         "multiple IP families are specified"));
  }
  if (!errors.empty() || takes_any(spec)) {
    return errors;
  }
  if (policy.as_string() == kBoth) {
    errors.push_back(FieldError::invalid(kPolicyPath, policy,
                                         "this cluster is not configured for dual-stack services"));
  }
  for (std::size_t i = 0; i < families.size(); ++i) {
    if (families[i].as_string() != "IPv4") {
      errors.push_back(FieldError::invalid(at("spec.ipFamilies", i), families[i],
                                           "not configured on this cluster"));
    }
  }
  return errors;
}

}  // namespace athanor::apiserver
