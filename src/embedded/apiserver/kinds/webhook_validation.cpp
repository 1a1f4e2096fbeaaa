// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/kinds/webhook_validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "embedded/apiserver/kinds/edit.hpp"
#include "embedded/apiserver/kinds/policy_validation.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kMaxConditions = 64;

void check_url(FieldErrors& errors, const std::string& path, std::string_view url) {
  constexpr std::string_view kScheme = "https://";
  constexpr std::string_view kForm = "; desired format: https://host[/path]";
  if (!url.starts_with(kScheme)) {
    const std::size_t end = url.find("://");
    const std::string_view scheme = end == std::string_view::npos ? "" : url.substr(0, end);
    errors.push_back(FieldError::invalid(
        path, scheme, fmt::format("'https' is the only allowed URL scheme{}", kForm)));
    return;
  }
  const std::string_view rest = url.substr(kScheme.size());
  const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  if (host.empty()) {
    errors.push_back(FieldError::invalid(path, "", fmt::format("host must be specified{}", kForm)));
  }
  if (host.find('@') != std::string_view::npos) {
    errors.push_back(FieldError::invalid(path, host.substr(0, host.find('@')),
                                         "user information is not permitted in the URL"));
  }
  if (const std::size_t hash = rest.find('#'); hash != std::string_view::npos) {
    errors.push_back(
        FieldError::invalid(path, rest.substr(hash + 1), "fragments are not permitted in the URL"));
  }
  if (const std::size_t question = rest.find('?'); question != std::string_view::npos) {
    errors.push_back(FieldError::invalid(path, rest.substr(question + 1),
                                         "query parameters are not permitted in the URL"));
  }
}

void check_conditions(FieldErrors& errors, const Value& conditions, const std::string& path) {
  if (conditions.size() > kMaxConditions) {
    errors.push_back(FieldError::too_many(path, static_cast<std::int64_t>(conditions.size()),
                                          static_cast<std::int64_t>(kMaxConditions)));
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const std::string here = at(path, i);
    require_name(errors, here + ".name", conditions[i]["name"].as_string(),
                 &validate_qualified_name);
    require(errors, here + ".expression", conditions[i]["expression"]);
    if (!names.insert(conditions[i]["name"].str()).second) {
      errors.push_back(FieldError::duplicate(here + ".name", conditions[i]["name"]));
    }
  }
}

void check_rules(FieldErrors& errors, const Value& rules, const std::string& path) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::string here = at(path, i);
    for (const std::string_view field : {"operations", "apiGroups", "apiVersions", "resources"}) {
      require(errors, below(here, field), rules[i][field]);
    }
    for (std::size_t j = 0; j < rules[i]["operations"].size(); ++j) {
      check_choice(errors, at(here + ".operations", j), rules[i]["operations"][j],
                   {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"});
    }
    check_choice(errors, here + ".scope", rules[i]["scope"], {"*", "Cluster", "Namespaced"});
  }
}

void check_webhook(FieldErrors& errors, const Value& hook, const std::string& path) {
  const std::string_view name = hook["name"].as_string();
  if (name.empty()) {
    errors.push_back(FieldError::required(path + ".name"));
  } else {
    check_name(errors, path + ".name", name, &validate_dns1123_subdomain);
    if (std::count(name.begin(), name.end(), '.') < 2) {
      errors.push_back(
          FieldError::invalid(path + ".name", name,
                              "should be a domain with at least three segments separated by dots"));
    }
  }
  const Value& versions = hook["admissionReviewVersions"];
  std::set<std::string> named;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const std::string version = versions[i].str();
    const std::string here = at(path + ".admissionReviewVersions", i);
    if (!named.insert(version).second) {
      errors.push_back(FieldError::invalid(here, version, "duplicate version"));
      continue;
    }
    check_name(errors, here, version, &validate_dns1035_label);
  }
  if (versions.empty()) {
    errors.push_back(
        FieldError::required(path + ".admissionReviewVersions", "must specify one of v1, v1beta1"));
  } else if (std::none_of(versions.items().begin(), versions.items().end(), [](const Value& item) {
               return is_one_of(item.as_string(), {"v1", "v1beta1"});
             })) {
    errors.push_back(FieldError::invalid(path + ".admissionReviewVersions", versions,
                                         "must include at least one of v1, v1beta1"));
  }
  if (hook["sideEffects"].is_null()) {
    errors.push_back(
        FieldError::required(path + ".sideEffects", "must specify one of None, NoneOnDryRun"));
  } else {
    check_choice(errors, path + ".sideEffects", hook["sideEffects"], {"None", "NoneOnDryRun"});
  }
  const std::int64_t timeout = hook["timeoutSeconds"].as_int(10);
  if (timeout < 1 || timeout > 30) {
    errors.push_back(FieldError::invalid(path + ".timeoutSeconds", timeout,
                                         "the timeout value must be between 1 and 30 seconds"));
  }
  check_choice(errors, path + ".failurePolicy", hook["failurePolicy"], {"Fail", "Ignore"});
  check_choice(errors, path + ".matchPolicy", hook["matchPolicy"], {"Equivalent", "Exact"});
  check_choice(errors, path + ".reinvocationPolicy", hook["reinvocationPolicy"],
               {"IfNeeded", "Never"});
  for (const std::string_view selector : {"namespaceSelector", "objectSelector"}) {
    check_label_selector(errors, below(path, selector), hook[selector]);
  }
  check_webhook_client(errors, hook["clientConfig"], path + ".clientConfig");
  check_rules(errors, hook["rules"], path + ".rules");
  check_conditions(errors, hook["matchConditions"], path + ".matchConditions");
  check_condition_expressions(errors, hook["matchConditions"], path + ".matchConditions", false);
}

}  // namespace

void check_webhook_client(FieldErrors& errors, const Value& client, const std::string& path) {
  const bool url = !client["url"].is_null();
  const bool service = !client["service"].is_null();
  if (url == service) {
    errors.push_back(FieldError::required(path, "exactly one of url or service is required"));
  } else if (url) {
    check_url(errors, path + ".url", client["url"].as_string());
  } else {
    require(errors, path + ".service.name", client["service"]["name"], "service name is required");
    require(errors, path + ".service.namespace", client["service"]["namespace"],
            "service namespace is required");
    check_port(errors, path + ".service.port", client["service"]["port"].as_int(443));
  }
}

FieldErrors validate_webhooks(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  std::set<std::string> names;
  for (std::size_t i = 0; i < object["webhooks"].size(); ++i) {
    const Value& hook = object["webhooks"][i];
    check_webhook(errors, hook, at("webhooks", i));
    if (!names.insert(hook["name"].str()).second) {
      errors.push_back(FieldError::duplicate(at("webhooks", i) + ".name", hook["name"]));
    }
  }
  return errors;
}

FieldErrors validate_webhooks_update(const Value& object, const Value& /*old_object*/,
                                     const KindContext& context) {
  return validate_webhooks(object, context);
}

}  // namespace athanor::apiserver
