// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/webhook_steps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/ascii.hpp"
#include "embedded/apiserver/authorize.hpp"
#include "kube/json.hpp"
#include "kube/patch.hpp"
#include "runtime/view/select.hpp"

namespace athanor::lab {
namespace {

using apiserver::AdmissionContext;
using apiserver::AdmissionStep;
using apiserver::StatusResult;
using Asked = apiserver::AdmissionRequest;
using Config = std::map<std::string, Value, std::less<>>;

constexpr std::string_view kRights = "subject-access:";

// The store as controllers see it.
class StoreSnapshot final : public Snapshot {
 public:
  StoreSnapshot(const AdmissionContext& context, const Config& config)
      : context_(context), config_(config) {}

  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const override {
    const auto stored = context_.store.get(store::resource_name(kind.plural, kind.group), key);
    return stored == nullptr ? std::nullopt : std::optional(Object(stored->body));
  }

  [[nodiscard]] std::vector<Object> list(const Kind& kind, const Select& select) const override {
    std::vector<Object> objects;
    const auto page =
        context_.store.list(store::resource_name(kind.plural, kind.group), {.ns = select.ns});
    if (!page.ok()) {
      return objects;
    }
    for (const store::StoredPtr& item : page->items) {
      Object object(item->body);
      if (selects(kind, select, object, {})) {
        objects.push_back(std::move(object));
      }
    }
    return objects;
  }

  [[nodiscard]] Observed observe(std::string_view query, Duration /*max_age*/) const override {
    if (!query.starts_with(kRights)) {
      return {.error = Error::unavailable("admission asks nobody"), .at = context_.now};
    }
    const auto spec = json::parse(query.substr(kRights.size()));
    if (!spec.ok()) {
      return {.error = spec.error(), .at = context_.now};
    }
    return {.value = Value::object({{"allowed", may(*spec)}}), .at = context_.now};
  }

  [[nodiscard]] const Value& config(std::string_view section) const override {
    static const Value kNone;
    const auto at = config_.find(section);
    return at == config_.end() ? kNone : at->second;
  }

 private:
  [[nodiscard]] bool may(const Value& spec) const {
    apiserver::UserInfo user{.name = spec["user"].str(), .uid = spec["uid"].str()};
    for (const Value& group : spec["groups"].items()) {
      user.groups.push_back(group.str());
    }
    const Value& what = spec["resourceAttributes"];
    const apiserver::Attributes attributes{.user = &user,
                                           .verb = what["verb"].str(),
                                           .group = what["group"].str(),
                                           .version = what["version"].str(),
                                           .resource = what["resource"].str(),
                                           .subresource = what["subresource"].str(),
                                           .ns = what["namespace"].str(),
                                           .name = what["name"].str()};
    return context_.authorizer.authorize(attributes).allowed;
  }

  const AdmissionContext& context_;
  const Config& config_;
};

bool wants(const Webhook& webhook, const Asked& asked) {
  const std::string_view operation = apiserver::operation_name(asked.operation);
  return std::ranges::any_of(webhook.rules, [&](const WebhookRule& rule) {
    const auto operations = words_of(rule.operations, ' ');
    return rule.kind->group == asked.resource->group &&
           rule.kind->version == asked.resource->version &&
           rule.kind->plural == asked.resource->plural && rule.subresource == asked.subresource &&
           std::ranges::find(operations, operation) != operations.end();
  });
}

AdmissionRequest to_request(const Asked& asked) {
  AdmissionRequest request{.operation = static_cast<AdmissionRequest::Operation>(asked.operation),
                           .group = asked.resource->group,
                           .version = asked.resource->version,
                           .resource = asked.resource->plural,
                           .kind = asked.resource->kind,
                           .subresource = asked.subresource,
                           .key = asked.key,
                           .object = asked.object,
                           .old_object = asked.old_object,
                           .options = asked.options,
                           .dry_run = asked.dry_run};
  if (asked.user != nullptr) {
    request.user = asked.user->name;
    request.groups = asked.user->groups;
    request.user_info = asked.user->to_value();
  }
  return request;
}
static_assert(static_cast<int>(apiserver::Operation::Connect) ==
                  static_cast<int>(AdmissionRequest::Operation::Connect),
              "both list the operations in one order");

StatusResult<void> ask(const Webhook& webhook, const Config& config, Asked& asked,
                       const AdmissionContext& context) {
  if (!wants(webhook, asked)) {
    return {};
  }
  const StoreSnapshot snapshot(context, config);
  Reads reads;
  const Verdict verdict = webhook.admit(View(snapshot, reads), to_request(asked), context.now);
  asked.warnings.insert(asked.warnings.end(), verdict.warnings.begin(), verdict.warnings.end());
  if (!verdict.allowed) {
    return apiserver::status::of(
        {.code = verdict.code,
         .reason = verdict.reason.empty() ? "Forbidden" : verdict.reason,
         .message = fmt::format("admission webhook \"{}\" denied the request: {}", webhook.name,
                                verdict.message)});
  }
  if (webhook.mutating && verdict.patch.is_list()) {
    auto patched = apply_json_patch(asked.object, verdict.patch);
    if (!patched.ok()) {
      return apiserver::status::internal(patched.error().message);
    }
    asked.object = *std::move(patched);
  }
  return {};
}

}  // namespace

std::vector<AdmissionStep> webhook_steps(const std::vector<Webhook>& webhooks,
                                         const Config& config) {
  const auto shared = std::make_shared<const Config>(config);
  std::vector<AdmissionStep> steps;
  for (const Webhook& webhook : webhooks) {
    auto step = [webhook, shared](Asked& asked, const AdmissionContext& context) {
      return ask(webhook, *shared, asked, context);
    };
    AdmissionStep one{.name = std::string(webhook.name)};
    (webhook.mutating ? one.mutate : one.validate) = std::move(step);
    steps.push_back(std::move(one));
  }
  return steps;
}

}  // namespace athanor::lab
