// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/auth/policy_rule.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kAll = "*";

std::vector<std::string> texts_of_rule(const Value& list) {
  std::vector<std::string> result;
  for (const Value& item : list.items()) {
    result.push_back(item.str());
  }
  return result;
}

bool has(const std::vector<std::string>& texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

bool has_or_all(const std::vector<std::string>& texts, std::string_view text) {
  return has(texts, kAll) || has(texts, text);
}

bool covers_resource(const std::vector<std::string>& resources, const Attributes& attributes) {
  if (attributes.subresource.empty()) {
    return has_or_all(resources, attributes.resource);
  }
  return has_or_all(resources, attributes.resource + "/" + attributes.subresource) ||
         has(resources, "*/" + attributes.subresource);
}

bool covers_url(const std::vector<std::string>& urls, std::string_view path) {
  return std::any_of(urls.begin(), urls.end(), [&](std::string_view url) {
    if (url == path) {
      return true;
    }
    if (!url.ends_with('*')) {
      return false;
    }
    url.remove_suffix(1);
    return path.starts_with(url);
  });
}

Value list_of_texts(const std::vector<std::string>& texts) {
  std::vector<Value> items(texts.begin(), texts.end());
  return Value::list(std::move(items));
}

}  // namespace

bool PolicyRule::allows(const Attributes& attributes) const {
  if (!has_or_all(verbs, attributes.verb)) {
    return false;
  }
  if (!attributes.is_resource) {
    return covers_url(non_resource_urls, attributes.path);
  }
  return has_or_all(api_groups, attributes.group) && covers_resource(resources, attributes) &&
         (resource_names.empty() ||
          (!attributes.name.empty() && has(resource_names, attributes.name)));
}

std::string quoted_list(const std::vector<std::string>& texts) {
  std::string result = "[";
  for (const std::string& text : texts) {
    result += (result.size() > 1 ? " " : "") + go_quote(text);
  }
  return result + "]";
}

std::string PolicyRule::text() const {
  std::string result;
  const auto add = [&](std::string_view name, const std::vector<std::string>& values) {
    if (!values.empty()) {
      result += fmt::format("{}{}:{}", result.empty() ? "" : ", ", name, quoted_list(values));
    }
  };
  add("APIGroups", api_groups);
  add("Resources", resources);
  add("NonResourceURLs", non_resource_urls);
  add("ResourceNames", resource_names);
  add("Verbs", verbs);
  return "{" + result + "}";
}

Value PolicyRule::to_value() const {
  Value value = Value::object({{"verbs", list_of_texts(verbs)}});
  const auto add = [&](std::string_view name, const std::vector<std::string>& values) {
    if (!values.empty()) {
      value.set(name, list_of_texts(values));
    }
  };
  add("apiGroups", api_groups);
  add("resources", resources);
  add("resourceNames", resource_names);
  add("nonResourceURLs", non_resource_urls);
  return value;
}

PolicyRule read_rule(const Value& rule) {
  return {.verbs = texts_of_rule(rule["verbs"]),
          .api_groups = texts_of_rule(rule["apiGroups"]),
          .resources = texts_of_rule(rule["resources"]),
          .resource_names = texts_of_rule(rule["resourceNames"]),
          .non_resource_urls = texts_of_rule(rule["nonResourceURLs"])};
}

std::vector<PolicyRule> read_rules(const Value& rules) {
  std::vector<PolicyRule> result;
  for (const Value& rule : rules.items()) {
    result.push_back(read_rule(rule));
  }
  return result;
}

std::vector<PolicyRule> split_rule(const PolicyRule& rule) {
  std::vector<PolicyRule> parts;
  for (const std::string& url : rule.non_resource_urls) {
    for (const std::string& verb : rule.verbs) {
      parts.push_back({.verbs = {verb}, .non_resource_urls = {url}});
    }
  }
  for (const std::string& group : rule.api_groups) {
    for (const std::string& resource : rule.resources) {
      for (const std::string& verb : rule.verbs) {
        const PolicyRule part{.verbs = {verb}, .api_groups = {group}, .resources = {resource}};
        if (rule.resource_names.empty()) {
          parts.push_back(part);
        }
        for (const std::string& name : rule.resource_names) {
          parts.push_back(part);
          parts.back().resource_names = {name};
        }
      }
    }
  }
  return parts;
}

std::vector<PolicyRule> join_rules(const std::vector<PolicyRule>& parts) {
  std::vector<PolicyRule> joined;
  for (const PolicyRule& part : parts) {
    const auto same = std::find_if(joined.begin(), joined.end(), [&](const PolicyRule& other) {
      return other.api_groups == part.api_groups && other.resources == part.resources &&
             other.resource_names == part.resource_names &&
             other.non_resource_urls == part.non_resource_urls;
    });
    if (same == joined.end() || !part.non_resource_urls.empty()) {
      joined.push_back(part);
      continue;
    }
    for (const std::string& verb : part.verbs) {
      if (!has(same->verbs, verb)) {
        same->verbs.push_back(verb);
      }
    }
  }
  return joined;
}

}  // namespace athanor::apiserver
