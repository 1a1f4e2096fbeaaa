// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/policies/webhook_validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "embedded/apiserver/policies/policy_validation.hpp"
#include "embedded/kinds/edit.hpp"
#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kMaxConditions = 64;

// The first "%" that no two hexadecimal digits follow, with what follows.
std::string broken_escape(std::string_view url) {
  for (std::size_t i = url.find('%'); i != std::string_view::npos; i = url.find('%', i + 1)) {
    const std::string_view escape = url.substr(i, 3);
    if (escape.size() < 3 || std::isxdigit(static_cast<unsigned char>(escape[1])) == 0 ||
        std::isxdigit(static_cast<unsigned char>(escape[2])) == 0) {
      return std::string(escape);
    }
  }
  return {};
}

void check_url(FieldErrors& errors, const std::string& path, std::string_view url) {
  constexpr std::string_view kScheme = "https://";
  constexpr std::string_view kForm = "; desired format: https://host[/path]";
  if (const std::string escape = broken_escape(url); !escape.empty()) {
    errors.push_back(FieldError::required(
        path, fmt::format("url must be a valid URL: parse {}: invalid URL escape {}{}",
                          go_quote(url), go_quote(escape), kForm)));
    return;
  }
  const std::size_t colon = url.find("://");
  const std::string_view scheme = colon == std::string_view::npos ? "" : url.substr(0, colon);
  if (scheme != "https") {
    errors.push_back(FieldError::invalid(
        path, scheme, fmt::format("'https' is the only allowed URL scheme{}", kForm)));
  }
  const std::string_view rest =
      colon == std::string_view::npos ? "/" : url.substr(colon + kScheme.size() - 5);
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
    check_admission_rule(errors, rules[i], at(path, i));
  }
}

void check_webhook(FieldErrors& errors, const Value& hook, const std::string& path) {
  const std::string_view name = hook["name"].as_string();
  if (name.empty()) {
    errors.push_back(FieldError::required(path + ".name"));
  } else {
    const std::size_t before = errors.size();
    check_name(errors, path + ".name", name, &validate_dns1123_subdomain);
    if (errors.size() == before && std::count(name.begin(), name.end(), '.') < 2) {
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
    check_choice_always(errors, path + ".sideEffects", hook["sideEffects"],
                        {"None", "NoneOnDryRun"});
  }
  const std::int64_t timeout = hook["timeoutSeconds"].as_int(10);
  if (timeout < 1 || timeout > 30) {
    errors.push_back(FieldError::invalid(path + ".timeoutSeconds", timeout,
                                         "the timeout value must be between 1 and 30 seconds"));
  }
  for (const auto& [field, choices] :
       {std::pair<std::string_view, std::vector<std::string>>{"failurePolicy", {"Fail", "Ignore"}},
        {"matchPolicy", {"Equivalent", "Exact"}},
        {"reinvocationPolicy", {"IfNeeded", "Never"}}}) {
    if (!hook[field].is_null()) {
      check_choice_always(errors, below(path, field), hook[field], choices);
    }
  }
  for (const std::string_view selector : {"namespaceSelector", "objectSelector"}) {
    check_label_selector(errors, below(path, selector), hook[selector]);
  }
  check_webhook_client(errors, hook["clientConfig"], path + ".clientConfig");
  check_rules(errors, hook["rules"], path + ".rules");
  check_conditions(errors, hook["matchConditions"], path + ".matchConditions");
  check_condition_expressions(errors, hook["matchConditions"], path + ".matchConditions", false);
}

}  // namespace

void check_admission_rule(FieldErrors& errors, const Value& rule, const std::string& path) {
  for (const auto& [field, what] :
       {std::pair<std::string_view, std::string_view>{"operations", "operations"},
        {"apiGroups", "API groups"},
        {"apiVersions", "API versions"},
        {"resources", {}}}) {
    const Value& list = rule[field];
    require(errors, below(path, field), list);
    const bool any = std::ranges::any_of(list.items(),
                                         [](const Value& item) { return item.as_string() == "*"; });
    if (any && list.size() > 1 && !what.empty()) {
      errors.push_back(
          FieldError::invalid(below(path, field), list,
                              fmt::format("if '*' is present, must not specify other {}", what)));
    }
    for (std::size_t i = 0; i < list.size() && field != "apiGroups"; ++i) {
      if (field == "operations") {
        check_choice_always(errors, at(below(path, field), i), list[i],
                            {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"});
      } else {
        require(errors, at(below(path, field), i), Value(list[i].as_string()));
      }
    }
  }
  check_choice(errors, path + ".scope", rule["scope"], {"*", "Cluster", "Namespaced"});
}

void check_webhook_client(FieldErrors& errors, const Value& client, const std::string& path) {
  const bool url = !client["url"].is_null();
  const bool service = !client["service"].is_null();
  if (url == service) {
    errors.push_back(FieldError::required(path, "exactly one of url or service is required"));
  } else if (url) {
    check_url(errors, path + ".url", client["url"].as_string());
  } else {
    // The reference mixes the two up.
    require(errors, path + ".service.name", client["service"]["namespace"]);
    require(errors, path + ".service.namespace", client["service"]["name"]);
    if (const std::int64_t port = client["service"]["port"].as_int(443); port < 1 || port > 65535) {
      errors.push_back(
          FieldError::invalid(path + ".service.port", port,
                              "port is not valid: must be between 1 and 65535, inclusive"));
    }
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
