// SPDX-License-Identifier: Apache-2.0
// The webhooks of all Mutating- and ValidatingWebhookConfigurations, read once for each change
// (docs/spec/apiserver.md 15.2).
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "embedded/apiserver/matching/condition.hpp"
#include "embedded/store/store.hpp"
#include "kube/names/selector.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// One of a webhook's `rules`; "*" stands for all.
struct HookRule {
  std::vector<std::string> operations{}, groups{}, versions{}, resources{};
  std::string scope{};
};

// One webhook of a configuration, its selectors parsed and its conditions compiled.
struct Hook {
  std::string id{};  // "CONFIGURATION/NAME/INDEX"
  std::string configuration{};
  std::string name{};
  Value client_config{};
  std::vector<HookRule> rules{};
  LabelSelector namespaces{}, objects{};
  Conditions conditions{};  // matchConditions
  std::chrono::seconds timeout{10};
  std::string review_version = "v1";  // of admission.k8s.io
  bool mutating = false;
  bool ignores_failure = false;  // failurePolicy Ignore
  bool equivalent = true;        // matchPolicy Equivalent
  bool reinvocable = false;      // reinvocationPolicy IfNeeded
  bool takes_dry_run = true;     // sideEffects None or NoneOnDryRun
};
using Hooks = std::vector<Hook>;

// The webhooks in the order of their configurations' names, as of the last commit. Thread-safe.
class HookCache {
 public:
  explicit HookCache(bool mutating) : mutating_(mutating) {}
  std::shared_ptr<const Hooks> hooks(const store::Store& store);

 private:
  const bool mutating_;
  Mutex mutex_{};
  std::vector<store::StoredPtr> read_ ATHANOR_GUARDED_BY(mutex_){};  // what hooks_ was made of
  std::shared_ptr<const Hooks> hooks_ ATHANOR_GUARDED_BY(mutex_) = std::make_shared<const Hooks>();
};

// Returns true if any configuration exists.
bool has_webhooks(const store::Store& store);

}  // namespace athanor::apiserver
