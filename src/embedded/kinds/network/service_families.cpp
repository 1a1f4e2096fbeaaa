// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/network/service_families.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/edit.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kPolicyPath = "spec.ipFamilyPolicy";
constexpr std::string_view kSingle = "SingleStack";
constexpr std::string_view kBoth = "RequireDualStack";
constexpr std::string_view kOlder = "IPv4";
constexpr std::string_view kNewer = "IPv6";
constexpr std::string_view kHeadless = "None";
constexpr std::string_view kIpsPath = "spec.clusterIPs";

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

bool is_newer(const Value& ip) {
  return ip.as_string().find(':') != std::string_view::npos;
}

// What is wrong with addresses and families whatever the cluster can do.
void check_addresses(FieldErrors& errors, const Value& spec) {
  const std::string_view one = spec["clusterIP"].as_string();
  const Value& ips = spec["clusterIPs"];
  const Value shown = ips.empty() && !one.empty() ? Value::list({Value(one)}) : ips;
  if (!one.empty() && shown[0].as_string() != one) {
    errors.push_back(FieldError::invalid(kIpsPath, ips, "first value must match `clusterIP`"));
  } else if (one.empty() && !ips.empty()) {
    errors.push_back(
        FieldError::invalid(kIpsPath, ips, "must be empty when `clusterIP` is not specified"));
  }
  const std::size_t before = errors.size();
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (i > 0 || shown[i].as_string() != kHeadless) {
      check_ip(errors, at(std::string(kIpsPath), i), shown[i].as_string());
    } else if (shown.size() > 1) {
      errors.push_back(
          FieldError::invalid(kIpsPath, ips, "'None' must be the first and only value"));
    }
  }
  const bool valid = errors.size() == before;
  if (shown.size() > 2) {
    errors.push_back(FieldError::invalid(kIpsPath, ips, "may only hold up to 2 values"));
  }
  if (!valid) {
    return;
  }
  if (shown.size() > 1 && (shown.size() > 2 || is_newer(shown[0]) == is_newer(shown[1]))) {
    errors.push_back(
        FieldError::invalid(kIpsPath, ips, "may specify no more than one IP for each IP family"));
  }
  const Value& families = spec["ipFamilies"];
  for (std::size_t i = 0;
       i < std::min(shown.size(), families.size()) && shown[0].as_string() != kHeadless; ++i) {
    const std::string_view family = families[i].as_string();
    if ((family == kOlder && is_newer(shown[i])) || (family == kNewer && !is_newer(shown[i]))) {
      errors.push_back(FieldError::invalid(
          at(std::string(kIpsPath), i), shown[i],
          fmt::format("expected an {} value as indicated by `ipFamilies[{}]`", family, i)));
    }
  }
}

FieldErrors shape_errors(const Value& spec) {
  FieldErrors errors;
  const Value& families = spec["ipFamilies"];
  for (std::size_t i = 0; i < families.size(); ++i) {
    check_choice_always(errors, at("spec.ipFamilies", i), families[i],
                        {std::string(kOlder), std::string(kNewer)});
    if (i > 0 && families[i] == families[0]) {
      errors.push_back(FieldError::duplicate(at("spec.ipFamilies", i), families[i]));
    }
  }
  if (!spec["ipFamilyPolicy"].is_null()) {
    check_choice_always(errors, std::string(kPolicyPath), spec["ipFamilyPolicy"],
                        {"PreferDualStack", "RequireDualStack", "SingleStack"});
  }
  check_addresses(errors, spec);
  return errors;
}

// Whether the policy allows as many as there are.
FieldErrors stack_errors(const Value& spec, const Value& old_spec) {
  FieldErrors errors;
  const Value& policy = spec["ipFamilyPolicy"];
  const Value& ips = spec["clusterIPs"];
  const auto refuse = [&](std::string_view why) {
    errors.push_back(FieldError::invalid(kPolicyPath, policy, why));
  };
  if (is_reduced(spec, old_spec)) {
    refuse("must be 'SingleStack' to release the secondary IP family");
  }
  if (policy.as_string() == kSingle) {
    constexpr std::string_view kText =
        "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified";
    for (const auto& [field, name] :
         {std::pair{"clusterIPs", "cluster IPs"}, std::pair{"ipFamilies", "IP families"}}) {
      if (spec[field].size() == 2) {
        refuse(fmt::format(kText, name));
      }
    }
  }
  for (std::size_t i = spec["ipFamilies"].size(); i < ips.size(); ++i) {
    if (is_newer(ips[i])) {
      errors.push_back(FieldError::invalid(at(std::string(kIpsPath), i), ips,
                                           "IPv6 is not configured on this cluster"));
    }
  }
  return errors;
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
    if (is_newer(spec["clusterIP"]) || is_newer(spec["clusterIPs"][0])) {
      return;
    }
    spec.set("ipFamilies", Value::list({kOlder}));
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

FieldErrors family_errors(const Value& service, const Value& old_service) {
  const Value& spec = service["spec"];
  if (is_external(spec)) {
    return {};
  }
  FieldErrors errors = shape_errors(spec);
  if (errors.empty()) {
    errors = stack_errors(spec, old_service["spec"]);
  }
  if (!errors.empty() || takes_any(spec)) {
    return errors;
  }
  if (spec["ipFamilyPolicy"].as_string() == kBoth) {
    errors.push_back(FieldError::invalid(kPolicyPath, spec["ipFamilyPolicy"],
                                         "this cluster is not configured for dual-stack services"));
  }
  const Value& families = spec["ipFamilies"];
  for (std::size_t i = 0; i < families.size(); ++i) {
    if (families[i].as_string() != kOlder) {
      errors.push_back(FieldError::invalid(at("spec.ipFamilies", i), families[i],
                                           "not configured on this cluster"));
    }
  }
  return errors;
}

}  // namespace athanor::apiserver
