// SPDX-License-Identifier: Apache-2.0
#include "runtime/rights/webhook_registration.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/digest.hpp"

namespace athanor {
namespace {

Value registered_rule_of(const WebhookRule& rule) {
  Value operations = Value::list();
  std::string_view left = rule.operations;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(' '), left.size());
    operations.push_back(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  std::string resource(rule.kind->plural);
  if (!rule.subresource.empty()) {
    resource += "/";
    resource += rule.subresource;
  }
  return Value::object({{"apiGroups", Value::list({rule.kind->group})},
                        {"apiVersions", Value::list({rule.kind->version})},
                        {"operations", operations},
                        {"resources", Value::list({resource})},
                        {"scope", rule.kind->namespaced ? "Namespaced" : "Cluster"}});
}

Value client_config(const Webhook& webhook, const WebhookTarget& target) {
  const std::string path = webhook.url_path();
  Value config = Value::object();
  if (!target.ca_bundle.empty()) {
    config.set("caBundle", base64_encode(target.ca_bundle));
  }
  if (!target.url.empty()) {
    config.set("url", target.url + path);
  } else {
    config.set("service", Value::object({{"name", target.service},
                                         {"namespace", target.ns},
                                         {"path", path},
                                         {"port", target.port}}));
  }
  return config;
}

}  // namespace

Value webhook_configuration(std::span<const Webhook> webhooks, bool mutating,
                            const std::string& name, const WebhookTarget& target) {
  Value list = Value::list();
  for (const Webhook& webhook : webhooks) {
    if (webhook.mutating != mutating) {
      continue;
    }
    Value rules = Value::list();
    for (const WebhookRule& rule : webhook.rules) {
      rules.push_back(registered_rule_of(rule));
    }
    Value entry = Value::object({{"name", webhook.name},
                                 {"admissionReviewVersions", Value::list({"v1"})},
                                 {"sideEffects", "None"},
                                 {"failurePolicy", webhook.ignore_failure ? "Ignore" : "Fail"},
                                 {"matchPolicy", "Equivalent"},
                                 {"timeoutSeconds", webhook.timeout_seconds},
                                 {"rules", rules},
                                 {"clientConfig", client_config(webhook, target)}});
    if (!webhook.ns.empty()) {
      entry.set_path({"namespaceSelector", "matchLabels"},
                     Value::object({{"kubernetes.io/metadata.name", webhook.ns}}));
    }
    if (!webhook.except.empty()) {
      Value names = Value::list();
      for (const std::string_view one : webhook.except) {
        names.push_back(one);
      }
      entry.set_path({"namespaceSelector", "matchExpressions"},
                     Value::list({Value::object({{"key", "kubernetes.io/metadata.name"},
                                                 {"operator", "NotIn"},
                                                 {"values", std::move(names)}})}));
    }
    if (!webhook.condition.empty()) {
      entry.set(
          "matchConditions",
          Value::list({Value::object({{"name", "concerned"}, {"expression", webhook.condition}})}));
    }
    list.push_back(std::move(entry));
  }
  if (list.empty()) {
    return {};
  }
  return Value::object(
      {{"apiVersion", "admissionregistration.k8s.io/v1"},
       {"kind", mutating ? "MutatingWebhookConfiguration" : "ValidatingWebhookConfiguration"},
       {"metadata", Value::object({{"name", name}})},
       {"webhooks", list}});
}

}  // namespace athanor
