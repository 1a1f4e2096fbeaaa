// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/webhook_steps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/ascii.hpp"
#include "embedded/store/store.hpp"
#include "kube/patch.hpp"
#include "runtime/view/select.hpp"

namespace athanor::lab {
namespace {

using Config = std::map<std::string, Value, std::less<>>;
using apiserver::AdmissionContext;
using apiserver::StatusResult;

// The store as a Snapshot. Observations are unknown to it: admission never waits for the outside.
class StoreSnapshot final : public Snapshot {
 public:
  StoreSnapshot(const store::Store& store, const Config& config) : store_(store), config_(config) {}

  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const override {
    const store::StoredPtr stored = store_.get(store::resource_name(kind.plural, kind.group), key);
    return stored ? std::optional(Object(stored->body)) : std::nullopt;
  }
  [[nodiscard]] std::vector<Object> list(const Kind& kind, const Select& select) const override {
    std::vector<Object> objects;
    const auto page = store_.list(store::resource_name(kind.plural, kind.group), {.ns = select.ns});
    if (page.ok()) {
      for (const store::StoredPtr& stored : page->items) {
        Object object(stored->body);
        if (selects(kind, select, object, {})) {
          objects.push_back(std::move(object));
        }
      }
    }
    return objects;
  }
  [[nodiscard]] Observed observe(std::string_view /*query*/, Duration /*max_age*/) const override {
    return {};
  }
  [[nodiscard]] const Value& config(std::string_view section) const override {
    static const Value kNone;
    const auto found = config_.find(section);
    return found == config_.end() ? kNone : found->second;
  }

 private:
  const store::Store& store_;
  const Config& config_;
};

AdmissionRequest::Operation operation_of(apiserver::Operation operation) {
  switch (operation) {
    case apiserver::Operation::Create:
      return AdmissionRequest::Operation::Create;
    case apiserver::Operation::Update:
      return AdmissionRequest::Operation::Update;
    case apiserver::Operation::Delete:
      return AdmissionRequest::Operation::Delete;
    case apiserver::Operation::Connect:
      return AdmissionRequest::Operation::Connect;
  }
  return AdmissionRequest::Operation::Create;
}

bool matches(const WebhookRule& rule, const apiserver::AdmissionRequest& request) {
  if (request.resource->group != rule.kind->group ||
      request.resource->plural != rule.kind->plural || request.subresource != rule.subresource) {
    return false;
  }
  const auto words = words_of(rule.operations, ' ');
  return std::ranges::find(words, apiserver::operation_name(request.operation)) != words.end();
}

StatusResult<void> ask(const Webhook& webhook, const Config& config,
                       apiserver::AdmissionRequest& request, const AdmissionContext& context) {
  if (std::ranges::none_of(webhook.rules,
                           [&](const WebhookRule& rule) { return matches(rule, request); })) {
    return {};
  }
  const AdmissionRequest question{.operation = operation_of(request.operation),
                                  .group = request.resource->group,
                                  .version = request.resource->version,
                                  .resource = request.resource->plural,
                                  .kind = request.resource->kind,
                                  .subresource = request.subresource,
                                  .key = request.key,
                                  .user = request.user == nullptr ? "" : request.user->name,
                                  .object = request.object,
                                  .old_object = request.old_object,
                                  .options = request.options,
                                  .dry_run = request.dry_run};
  const StoreSnapshot snapshot(context.store, config);
  Reads reads;
  Verdict verdict = webhook.admit(View(snapshot, reads), question, context.now);
  std::ranges::move(verdict.warnings, std::back_inserter(request.warnings));
  if (!verdict.allowed) {
    return apiserver::status::of(
        Error{.code = verdict.code,
              .reason = verdict.reason,
              .message = fmt::format("admission webhook \"{}\" denied the request: {}",
                                     webhook.name, verdict.message)});
  }
  if (webhook.mutating && !verdict.patch.is_null()) {
    auto changed = apply_json_patch(request.object, verdict.patch);
    if (!changed.ok()) {
      return apiserver::status::of(changed.error());
    }
    request.object = *std::move(changed);
  }
  return {};
}

}  // namespace

std::vector<apiserver::AdmissionStep> webhook_steps(const std::vector<Webhook>& webhooks,
                                                    const Config& config) {
  const auto shared = std::make_shared<const Config>(config);
  std::vector<apiserver::AdmissionStep> steps;
  for (const Webhook& webhook : webhooks) {
    const auto run = [webhook, shared](apiserver::AdmissionRequest& request,
                                       const AdmissionContext& context) {
      return ask(webhook, *shared, request, context);
    };
    apiserver::AdmissionStep step{.name = std::string(webhook.name)};
    (webhook.mutating ? step.mutate : step.validate) = run;
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace athanor::lab
