// SPDX-License-Identifier: Apache-2.0
// Differences as JSON patches.
#include "runtime/view/admission.hpp"

#include <algorithm>

#include "base/digest.hpp"
#include "runtime/view/webhook_registration.hpp"

namespace athanor {

namespace {

// A member's name as a part of a JSON pointer.
std::string escaped(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

void compare(const std::string& path, const Value& before, const Value& after, int depth,
             Value& patch) {
  if (before == after) {
    return;
  }
  if (depth == 0 || !before.is_object() || !after.is_object()) {
    patch.push_back(Value::object({{"op", "replace"}, {"path", path}, {"value", after}}));
    return;
  }
  for (const Member& member : before.members()) {
    if (!after.contains(member.key())) {
      patch.push_back(
          Value::object({{"op", "remove"}, {"path", path + "/" + escaped(member.key())}}));
    }
  }
  for (const Member& member : after.members()) {
    const std::string at = path + "/" + escaped(member.key());
    if (const Value* old = before.find(member.key())) {
      compare(at, *old, member.value, depth - 1, patch);
    } else {
      patch.push_back(Value::object({{"op", "add"}, {"path", at}, {"value", member.value}}));
    }
  }
}

}  // namespace

Verdict Verdict::refuse(const Error& error) {
  constexpr std::string_view kPreamble = "admission webhook \"";
  constexpr std::string_view kDenied = "\" denied the request: ";
  std::string_view message = error.message;
  const std::size_t end = message.find(kDenied);
  if (message.starts_with(kPreamble) && end != std::string_view::npos) {
    message.remove_prefix(end + kDenied.size());
  }
  return {.allowed = false,
          .code = error.code,
          .reason = error.reason,
          .message = std::string(message)};
}

std::string Verdict::denial_reason() const {
  if (!reason.empty()) {
    return reason;
  }
  switch (code) {
    case 400:
      return "BadRequest";
    case 404:
      return "NotFound";
    case 409:
      return "Conflict";
    case 422:
      return "Invalid";
    case 500:
      return "InternalError";
    default:
      return "Forbidden";
  }
}

std::string Webhook::url_path() const {
  return path.empty() ? "/" + std::string(name) : std::string(path);
}

Verdict Verdict::change(const Value& before, const Value& after) {
  constexpr int kDepth = 2;  // the root's members, and theirs
  Verdict verdict;
  Value patch = Value::list();
  compare("", before, after, kDepth, patch);
  if (!patch.empty()) {
    verdict.patch = std::move(patch);
  }
  return verdict;
}

namespace {

Value rule_of(const WebhookRule& rule) {
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
      rules.push_back(rule_of(rule));
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
