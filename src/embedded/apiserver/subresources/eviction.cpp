// SPDX-License-Identifier: Apache-2.0
// Eviction: a delete that asks the disruption budgets first (docs/spec/apiserver.md 12.3).
#include <fmt/format.h>

#include "api/disruption_budget.hpp"
#include "embedded/apiserver/request/respond.hpp"
#include "embedded/apiserver/subresources/pod_subresources.hpp"
#include "embedded/apiserver/write/decode.hpp"
#include "embedded/apiserver/write/delete.hpp"
#include "embedded/apiserver/write/write.hpp"
#include "kube/value/condition.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kBudgets = "poddisruptionbudgets.policy";
constexpr int kAttempts = 5;
constexpr int kBudgetNotObserved = 10;  // seconds until a retry

std::vector<store::StoredPtr> budgets_of(const store::Store& store, const store::Stored& pod) {
  std::vector<store::StoredPtr> matching;
  auto page = store.list(kBudgets, {.ns = pod.key.ns});
  if (!page.ok()) {
    return matching;
  }
  for (store::StoredPtr& budget : page->items) {
    if (api::budget_selects(budget->body, pod.body)) {
      matching.push_back(std::move(budget));
    }
  }
  return matching;
}

StatusError blocked(const Value& budget, int retry_after) {
  StatusError error = status::too_many_requests(
      "Cannot evict pod as it would violate the pod's disruption budget.", retry_after);
  error.details->causes.push_back(
      {.reason = "DisruptionBudget",
       .message = fmt::format("The disruption budget {} needs {} healthy pods and has {} currently",
                              budget["metadata"]["name"].as_string(),
                              budget["status"]["desiredHealthy"].as_int(),
                              budget["status"]["currentHealthy"].as_int()),
       .field = {}});
  return error;
}

// Takes one disruption from the budget; true once it is taken.
StatusResult<bool> take(Call& call, const store::Stored& budget, const store::Stored& pod,
                        bool dry_run) {
  const Value& body = budget.body;
  if (!api::is_observed(body)) {
    return blocked(body, kBudgetNotObserved);
  }
  if (body["status"]["disruptionsAllowed"].as_int() <= 0) {
    return blocked(body, 0);
  }
  if (dry_run) {
    return true;
  }
  Value changed = body;
  const Value status = api::status_after_disruption(body, pod.key.name, call.now);
  for (const Member& member : status.members()) {
    changed.set_path({"status", member.key()}, member.value);
  }
  store::Write write;
  write.resource = budget.resource;
  write.key = budget.key;
  write.body = std::move(changed);
  write.expected = budget.revision;
  return call.core.store.commit({&write, 1}, call.now).ok();
}

StatusResult<void> ask_budgets(Call& call, const Key& key, bool dry_run) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const store::StoredPtr pod = call.core.store.get("pods", key);
    if (pod == nullptr || !api::needs_budget(pod->body)) {
      return {};
    }
    const auto budgets = budgets_of(call.core.store, *pod);
    if (budgets.size() > 1) {
      StatusError error = status::internal("");
      error.message =
          "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
          "not support.";
      return error;
    }
    if (budgets.empty() || api::unhealthy_may_go(pod->body, budgets.front()->body)) {
      return {};
    }
    ATHANOR_TRY(const bool taken, take(call, *budgets.front(), *pod, dry_run));
    if (taken) {
      return {};
    }
  }
  return status::too_many_requests("the disruption budget changed too often, try again", 0);
}

// Adds condition DisruptionTarget to the pod. Best effort: the eviction does not depend on it.
void mark_disrupted(Call& call, const Key& key) {
  const store::StoredPtr pod = call.core.store.get("pods", key);
  if (pod == nullptr || pod->body["metadata"].contains("deletionTimestamp")) {
    return;
  }
  Value changed = pod->body;
  Value conditions = changed["status"]["conditions"];
  set_condition(conditions, api::evicted_condition(), call.now);
  changed.set_path({"status", "conditions"}, conditions);
  store::Write write;
  write.resource = pod->resource;
  write.key = pod->key;
  write.body = std::move(changed);
  write.expected = pod->revision;
  static_cast<void>(call.core.store.commit({&write, 1}, call.now));
}

}  // namespace

StatusResult<Response> handle_eviction(Call& call) {
  ATHANOR_TRY(const Document document,
              parse_body(call, {.api_version = "policy/v1", .kind = "Eviction"}, true));
  Value eviction = document.value;
  const std::string kind = eviction["kind"].str();
  const std::string version = eviction["apiVersion"].str();
  if ((!kind.empty() && kind != "Eviction") ||
      (!version.empty() && version != "policy/v1" && version != "policy/v1beta1")) {
    return status::bad_request(
        fmt::format("no kind \"{}\" is registered for version \"{}\" in scheme", kind, version));
  }
  const std::string named = eviction["metadata"]["name"].str();
  if (!named.empty() && named != call.path.name) {
    return status::bad_request("name in URL does not match name in Eviction object");
  }
  ATHANOR_TRY(DeleteOptions options, parse_delete_options(eviction["deleteOptions"]));
  ATHANOR_TRY(WriteOptions posted, read_write_options(call.request, "CreateOptions"));
  options.dry_run = options.dry_run || posted.dry_run;
  posted.dry_run = options.dry_run;
  const Key key = call.key();
  if (call.core.store.get("pods", key) == nullptr) {
    return status::not_found(call.qualified_resource(), key.name);
  }
  eviction.set("kind", "Eviction");
  eviction.set("apiVersion", version.empty() ? "policy/v1" : version);
  ATHANOR_TRY_VOID(admit_posted(call, "eviction", eviction, posted));
  options.admitted = true;
  ATHANOR_TRY_VOID(ask_budgets(call, key, options.dry_run));
  if (!options.dry_run) {
    mark_disrupted(call, key);
  }
  ATHANOR_TRY(const Deleted deleted, delete_object(call, key, options));
  Response response = value_response(call, success_status(std::nullopt, 201), 201);
  response.durable_after = deleted.revision;
  return response;
}

}  // namespace athanor::apiserver
