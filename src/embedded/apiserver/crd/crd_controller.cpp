// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/crd/crd_controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "embedded/apiserver/crd/crd_api_services.hpp"
#include "embedded/apiserver/crd/crd_behaviour.hpp"
#include "embedded/apiserver/crd/crd_names.hpp"
#include "embedded/apiserver/crd/crd_resources.hpp"
#include "embedded/apiserver/read/watch_hub.hpp"
#include "kube/value/condition.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kResource = "customresourcedefinitions.apiextensions.k8s.io";
constexpr std::string_view kCleanup = "customresourcecleanup.apiextensions.k8s.io";

bool is_deleting(const Value& object) {
  return object["metadata"].contains("deletionTimestamp");
}

void set_crd_condition(Value& crd, std::string_view type, std::string_view status,
                       std::string_view reason, std::string_view message, Instant now) {
  set_condition(crd.member("status").member("conditions"),
                {.type = std::string(type),
                 .status = std::string(status),
                 .reason = std::string(reason),
                 .message = std::string(message)},
                now);
}

bool is_protected(std::string_view group) {
  return group.ends_with(".k8s.io") || group.ends_with(".kubernetes.io");
}

void set_approval(Value& crd, Instant now) {
  if (!is_protected(crd["spec"]["group"].as_string())) {
    return;
  }
  const std::string_view approval =
      crd["metadata"]["annotations"]["api-approved.kubernetes.io"].as_string();
  if (approval.starts_with("unapproved")) {
    set_crd_condition(crd, "KubernetesAPIApprovalPolicyConformant", "False", "UnapprovedAnnotation",
                      fmt::format("not approved: \"{}\"", approval), now);
  } else {
    set_crd_condition(crd, "KubernetesAPIApprovalPolicyConformant", "True", "ApprovedAnnotation",
                      fmt::format("approved in {}", approval), now);
  }
}

}  // namespace

bool CrdController::write(const store::Stored& stored, Value body, Instant now) {
  if (body == stored.body) {
    return true;
  }
  store::Write change;
  change.resource = std::string(kResource);
  change.key = stored.key;
  change.body = std::move(body);
  change.expected = stored.revision;
  return core_.store.commit({&change, 1}, now).ok();
}

void CrdController::serve(const Value& crd, Served& served, bool terminating) {
  CrdServing serving;
  serving.schemas = core_.dependencies.crd_schemas;
  serving.schema_revision = core_.store.revision();
  serving.terminating = terminating;
  if (core_.dependencies.converter) {
    serving.converter = core_.dependencies.converter(crd["spec"]["group"].as_string(),
                                                     crd["spec"]["names"]["kind"].as_string());
  }
  auto resources = crd_resources(crd, serving);
  if (!resources.empty()) {
    served.storage = resources.front()->storage;
  }
  core_.registry.set_custom(crd["metadata"]["name"].str(), std::move(resources));
  registry_changed_ = true;
  served.serving = true;
  served.terminating = terminating;
  served.generation = crd["metadata"]["generation"].as_int();
}

void CrdController::sync_one(const store::Stored& stored, Instant now) {
  Served& served = served_[stored.key.name];
  const Value& crd = stored.body;
  if (is_deleting(crd)) {
    if (served.storage.empty()) {
      served.storage = store::resource_name(crd["spec"]["names"]["plural"].as_string(),
                                            crd["spec"]["group"].as_string());
    }
    const bool accepted = condition_is(crd["status"]["conditions"], "Established", "True");
    if (!served.terminating && accepted) {
      serve(crd, served, true);
    }
    finish(stored, served, now);
    return;
  }
  if (served.seen == stored.revision) {
    return;
  }
  Value changed = crd;
  const NameConflict conflict = find_name_conflict(crd, *core_.registry.table());
  const bool established = condition_is(crd["status"]["conditions"], "Established", "True");
  if (conflict.reason.empty()) {
    changed.set_path({"status", "acceptedNames"}, crd["spec"]["names"]);
    set_crd_condition(changed, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now);
    set_crd_condition(changed, "Established", "True", "InitialNamesAccepted",
                      "the initial names have been accepted", now);
  } else {
    set_crd_condition(changed, "NamesAccepted", "False", conflict.reason, conflict.message, now);
    if (!established) {
      set_crd_condition(changed, "Established", "False", "NotAccepted",
                        "not all names are accepted", now);
    }
  }
  set_approval(changed, now);
  const bool serves = conflict.reason.empty() || established;
  if (serves && (!served.serving || served.generation != crd["metadata"]["generation"].as_int())) {
    serve(crd, served, false);
  }
  // Without accepted names it is looked at again with every sync: the name may become free.
  if (write(stored, std::move(changed), now) && serves) {
    const store::StoredPtr latest = core_.store.get(kResource, stored.key);
    served.seen = latest != nullptr ? latest->revision : 0;
  }
}

bool CrdController::delete_instances(const std::string& storage, Instant now) {
  const auto page = core_.store.list(storage, {});
  if (!page.ok()) {
    return false;
  }
  bool left = false;
  for (const store::StoredPtr& instance : page->items) {
    store::Write change;
    change.resource = storage;
    change.key = instance->key;
    change.expected = instance->revision;
    if (!instance->body["metadata"]["finalizers"].empty()) {
      left = true;
      if (is_deleting(instance->body)) {
        continue;
      }
      Value body = instance->body;
      Value& metadata = body.member("metadata");
      metadata.set("deletionTimestamp", format_time(now));
      metadata.set("deletionGracePeriodSeconds", 0);
      metadata.set("generation", metadata["generation"].as_int() + 1);
      change.body = std::move(body);
    }
    left = !core_.store.commit({&change, 1}, now).ok() || left;
  }
  return !left;
}

void CrdController::finish(const store::Stored& stored, Served& served, Instant now) {
  const auto items = stored.body["metadata"]["finalizers"].items();
  const bool ours = std::any_of(items.begin(), items.end(), [](const Value& finalizer) {
    return finalizer.as_string() == kCleanup;
  });
  if (!ours) {
    return;
  }
  if (!delete_instances(served.storage, now)) {
    Value waiting = stored.body;
    set_crd_condition(waiting, "Terminating", "True", "InstanceDeletionInProgress",
                      "CustomResource deletion is in progress", now);
    if (!write(stored, std::move(waiting), now)) {
      log::debug("a definition changed while it was being deleted", {{"crd", stored.key.name}});
    }
    return;
  }
  Value finalizers = Value::list();
  for (const Value& finalizer : items) {
    if (finalizer.as_string() != kCleanup) {
      finalizers.push_back(finalizer);
    }
  }
  if (!finalizers.empty()) {
    Value done = stored.body;
    set_crd_condition(done, "Terminating", "False", "InstanceDeletionCompleted",
                      "removed all instances", now);
    done.member("metadata").set("finalizers", std::move(finalizers));
    if (!write(stored, std::move(done), now)) {
      log::debug("a definition changed while it was being deleted", {{"crd", stored.key.name}});
    }
    return;
  }
  // Nothing of the group may be answered once the definition is gone.
  forget(stored.key.name, served);
  store::Write removal;
  removal.resource = std::string(kResource);
  removal.key = stored.key;
  removal.expected = stored.revision;
  if (core_.store.commit({&removal, 1}, now).ok()) {
    served_.erase(stored.key.name);
  }
}

void CrdController::forget(const std::string& name, const Served& served) {
  core_.registry.set_custom(name, {});
  registry_changed_ = true;
  if (!served.storage.empty()) {
    core_.watches->end(served.storage);
  }
}

void CrdController::sync(Instant now) {
  const MutexLock lock(mutex_);
  const auto page = core_.store.list(kResource, {});
  if (!page.ok()) {
    return;
  }
  std::set<std::string, std::less<>> present;
  for (const store::StoredPtr& stored : page->items) {
    present.insert(stored->key.name);
    sync_one(*stored, now);
  }
  std::erase_if(served_, [&](const auto& entry) {
    if (present.contains(entry.first)) {
      return false;
    }
    forget(entry.first, entry.second);
    return true;
  });
  if (std::exchange(registry_changed_, false)) {
    sync_custom_api_services(core_, now);
  }
}

}  // namespace athanor::apiserver
