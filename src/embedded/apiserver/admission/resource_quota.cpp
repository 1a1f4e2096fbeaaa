// SPDX-License-Identifier: Apache-2.0
// ResourceQuotas: every create reserves what it needs in the quotas' status, in one transaction
// with the object, so that no race oversteps a limit. What goes away is given back by the quota
// controller's recount (docs/spec/apiserver.md 15.1).
#include <fmt/format.h>

#include "embedded/apiserver/admission/quota_usage.hpp"
#include "embedded/apiserver/admission/steps.hpp"

namespace athanor::apiserver {
namespace {

// "cpu=2,pods=1"
std::string text_of(const Amounts& amounts) {
  std::string text;
  for (const auto& [name, quantity] : amounts) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, quantity.text());
  }
  return text;
}

// What the write takes of the names in `hard`; what an update gives back does not count. An object
// that comes into the scope of the quota is new to it.
Amounts needed(const AdmissionAttributes& request, const Value& quota, const Value& hard) {
  const ResourceInfo& resource = *request.resource;
  Amounts needs;
  const bool held = request.operation == Operation::Update &&
                    in_quota_scope(quota, resource.group, resource.plural, request.old_object);
  const Amounts before =
      held ? quota_usage(resource.group, resource.plural, request.old_object) : Amounts();
  for (const auto& [name, quantity] :
       quota_usage(resource.group, resource.plural, request.object)) {
    Quantity more = quantity;
    if (const auto old = before.find(name); old != before.end()) {
      more -= old->second;
    }
    if (hard.contains(name) && !more.is_zero() && !more.is_negative()) {
      needs.emplace(name, more);
    }
  }
  return needs;
}

// What is used now. A status that does not speak of the spec's limits is not up to date: counted.
Value current_use(const AdmissionContext& context, const Value& quota, const Value& hard) {
  const Value& status = quota["status"];
  if (!context.options.counts_quotas) {
    return status["used"];
  }
  if (status["hard"] == hard && !status["used"].is_null()) {
    return status["used"];
  }
  return used_value(namespace_usage(context.store, quota, hard), hard);
}

// The names that are not counted yet.
std::string uncounted(const Amounts& needs, const Value& used) {
  std::string names;
  for (const auto& [name, quantity] : needs) {
    if (!used.contains(name)) {
      names += (names.empty() ? "" : ",") + name;
    }
  }
  return names;
}

StatusResult<void> reserve(AdmissionAttributes& request, const AdmissionContext& context,
                           const store::Stored& stored) {
  const Value& quota = stored.body;
  // Where another one's controller counts, a quota holds from its first count on.
  const Value& hard = quota[context.options.counts_quotas ? "spec" : "status"]["hard"];
  const ResourceInfo& resource = *request.resource;
  if (!in_quota_scope(quota, resource.group, resource.plural, request.object)) {
    return {};
  }
  if (creates(request, "", "pods")) {
    if (const std::string missing = missing_amounts(request.object["spec"], hard);
        !missing.empty()) {
      return refuse(request,
                    fmt::format("failed quota: {}: must specify {}", stored.key.name, missing));
    }
  }
  const Amounts needs = needed(request, quota, hard);
  if (needs.empty()) {
    return {};
  }
  Value used = current_use(context, quota, hard);
  if (const std::string unknown = uncounted(needs, used); !unknown.empty()) {
    return refuse(request, fmt::format("status unknown for quota: {}, resources: {}",
                                       stored.key.name, unknown));
  }
  Amounts over_needs;
  Amounts over_used;
  Amounts over_hard;
  for (const auto& [name, more] : needs) {
    const Quantity held = Quantity::parse(used[name]).value_or(Quantity());
    const auto limit = Quantity::parse(hard[name]);
    if (limit && held + more > *limit) {
      over_needs.emplace(name, more);
      over_used.emplace(name, held);
      over_hard.emplace(name, *limit);
    }
    used.set(name, (held + more).with_format(limit ? limit->format() : more.format()).text());
  }
  if (!over_needs.empty()) {
    return refuse(request, fmt::format("exceeded quota: {}, requested: {}, used: {}, limited: {}",
                                       stored.key.name, text_of(over_needs), text_of(over_used),
                                       text_of(over_hard)));
  }
  Value changed = quota;
  changed.member("status").set("hard", hard);
  changed.member("status").set("used", std::move(used));
  request.extra_writes.push_back({.resource = "resourcequotas",
                                  .key = stored.key,
                                  .body = std::move(changed),
                                  .expected = stored.revision});
  return {};
}

// Updates that can need more of a quota, or change the scope that the object is in.
bool is_counted_update(const AdmissionAttributes& request) {
  if (request.operation != Operation::Update) {
    return false;
  }
  const std::string& plural = request.resource->plural;
  if (!request.subresource.empty()) {
    return plural == "pods" && request.subresource == "resize";
  }
  constexpr const char* kDeadline = "activeDeadlineSeconds";
  return plural == "services" || plural == "persistentvolumeclaims" ||
         (plural == "pods" &&
          request.object["spec"][kDeadline] != request.old_object["spec"][kDeadline]);
}

StatusResult<void> validate_quota(AdmissionAttributes& request, const AdmissionContext& context) {
  const bool created = request.operation == Operation::Create && request.subresource.empty();
  if ((!created && !is_counted_update(request)) || !request.resource->namespaced) {
    return {};
  }
  const auto page = context.store.list("resourcequotas", {.ns = request.key.ns});
  if (!page.ok()) {
    return {};
  }
  for (const store::StoredPtr& quota : page->items) {
    ATHANOR_TRY_VOID(reserve(request, context, *quota));
  }
  return {};
}

}  // namespace

AdmissionStep resource_quota_step() {
  return {.name = "ResourceQuota", .mutate = {}, .validate = &validate_quota};
}

}  // namespace athanor::apiserver
