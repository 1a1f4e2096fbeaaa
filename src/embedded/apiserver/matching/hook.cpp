// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/matching/hook.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "embedded/apiserver/matching/admission_cel.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kMutating = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
constexpr std::string_view kValidating =
    "validatingwebhookconfigurations.admissionregistration.k8s.io";
constexpr std::int64_t kDefaultTimeout = 10;  // seconds

std::vector<std::string> texts(const Value& list) {
  std::vector<std::string> result;
  result.reserve(list.size());
  for (const Value& item : list.items()) {
    result.push_back(item.str());
  }
  return result;
}

// An absent selector selects everything.
Result<LabelSelector> selector_of(const Value& selector) {
  return selector.is_null() ? LabelSelector() : LabelSelector::from_value(selector);
}

std::string review_version(const Value& versions) {
  for (const Value& version : versions.items()) {
    if (version.as_string() == "v1" || version.as_string() == "v1beta1") {
      return version.str();
    }
  }
  return "v1";
}

Result<Hook> read_hook(const Value& body, const std::string& configuration, std::size_t index,
                       bool mutating) {
  Hook hook;
  hook.name = body["name"].str();
  hook.configuration = configuration;
  hook.id = fmt::format("{}/{}/{}", configuration, hook.name, index);
  hook.client_config = body["clientConfig"];
  for (const Value& rule : body["rules"].items()) {
    hook.rules.push_back({.operations = texts(rule["operations"]),
                          .groups = texts(rule["apiGroups"]),
                          .versions = texts(rule["apiVersions"]),
                          .resources = texts(rule["resources"]),
                          .scope = rule["scope"].str()});
  }
  ATHANOR_TRY(hook.namespaces, selector_of(body["namespaceSelector"]));
  ATHANOR_TRY(hook.objects, selector_of(body["objectSelector"]));
  hook.conditions = compile_conditions(body["matchConditions"], {});
  hook.timeout = std::chrono::seconds(body["timeoutSeconds"].as_int(kDefaultTimeout));
  hook.review_version = review_version(body["admissionReviewVersions"]);
  hook.mutating = mutating;
  hook.ignores_failure = body["failurePolicy"].as_string() == "Ignore";
  hook.equivalent = body["matchPolicy"].as_string() != "Exact";
  hook.reinvocable = body["reinvocationPolicy"].as_string() == "IfNeeded";
  const std::string_view effects = body["sideEffects"].as_string();
  hook.takes_dry_run = effects == "None" || effects == "NoneOnDryRun";
  return hook;
}

}  // namespace

std::shared_ptr<const Hooks> HookCache::hooks(const store::Store& store) {
  auto page = store.list(mutating_ ? kMutating : kValidating, {});
  const MutexLock lock(mutex_);
  if (!page.ok() || page->items == read_) {
    return hooks_;
  }
  auto hooks = std::make_shared<Hooks>();
  for (const store::StoredPtr& stored : page->items) {
    const Value& list = stored->body["webhooks"];
    for (std::size_t i = 0; i < list.size(); ++i) {
      auto hook = read_hook(list[i], stored->key.name, i, mutating_);
      if (hook.ok()) {
        hooks->push_back(*std::move(hook));
      } else {
        log::warn("a webhook cannot be read", {{"configuration", stored->key.name},
                                               {"webhook", list[i]["name"].str()},
                                               {"error", hook.error().message}});
      }
    }
  }
  read_ = std::move(page->items);
  hooks_ = std::move(hooks);
  return hooks_;
}

bool has_webhooks(const store::Store& store) {
  return store.count(kMutating, "") + store.count(kValidating, "") > 0;
}

}  // namespace athanor::apiserver
