// SPDX-License-Identifier: Apache-2.0
#include "embedded/bridge/in_process_webhooks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "api/shape.hpp"
#include "base/ascii.hpp"
#include "embedded/apiserver/request/authorize.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "embedded/kinds/status_error.hpp"
#include "embedded/kinds/user_info.hpp"
#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"

namespace athanor::bridge {
namespace {

using apiserver::AdmissionContext;
using apiserver::AdmissionStep;
using apiserver::StatusError;
using apiserver::StatusResult;

// What the steps of one system share; immutable once the server runs.
struct Hooks {
  const System* system = nullptr;
  InProcessWebhooks options{};
  std::vector<Index> indexes{};
  StoredForms forms{};
  // Types of custom kinds, by API version and name.
  std::map<std::pair<std::string, std::string>, const api::TypeInfo*> types{};
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
      break;
  }
  return AdmissionRequest::Operation::Connect;
}

// The rule that the request meets; nullptr: none.
const WebhookRule* matching_rule(const Webhook& webhook,
                                 const apiserver::AdmissionAttributes& request) {
  if (!webhook.ns.empty() && request.key.ns != webhook.ns) {
    return nullptr;
  }
  const auto found = std::ranges::find_if(webhook.rules, [&](const WebhookRule& rule) {
    return rule.kind->plural == request.resource->plural &&
           rule.kind->group == request.resource->group && rule.subresource == request.subresource &&
           std::ranges::count(words_of(rule.operations, ' '),
                              apiserver::operation_name(request.operation)) > 0;
  });
  return found == webhook.rules.end() ? nullptr : &*found;
}

Result<Value> in_version(const System& system, const Value& object, const std::string& version) {
  if (!object.is_object() || object["apiVersion"].as_string() == version) {
    return object;
  }
  if (system.convert != nullptr) {
    return system.convert(object, version);
  }
  Value converted = object;
  converted.set("apiVersion", version);
  return converted;
}

Result<AdmissionRequest> question_of(const System& system, const WebhookRule& rule,
                                     const apiserver::AdmissionAttributes& request) {
  AdmissionRequest question{.operation = operation_of(request.operation),
                            .group = std::string(rule.kind->group),
                            .version = std::string(rule.kind->version),
                            .resource = std::string(rule.kind->plural),
                            .kind = std::string(rule.kind->name),
                            .subresource = request.subresource,
                            .key = request.key,
                            .options = request.options,
                            .dry_run = request.dry_run};
  if (request.user != nullptr) {
    question.user = request.user->name;
    question.groups = request.user->groups;
    question.user_info = request.user->to_value();
  }
  const std::string version(rule.kind->api_version());
  ATHANOR_TRY(question.object, in_version(system, request.object, version));
  ATHANOR_TRY(question.old_object, in_version(system, request.old_object, version));
  return question;
}

StatusError denial(const Webhook& webhook, const Verdict& verdict) {
  const Error error{.code = verdict.code,
                    .reason = verdict.denial_reason(),
                    .message = fmt::format("admission webhook \"{}\" denied the request: {}",
                                           webhook.name, verdict.message)};
  return apiserver::status::of(error);
}

// Answers "subject-access:SPEC" as a SubjectAccessReview would.
Result<Value> answer_right(const AdmissionContext& context, const std::string& query) {
  constexpr std::string_view kRights = "subject-access:";
  if (!query.starts_with(kRights)) {
    return Error::bad_request("a webhook cannot observe " + query);
  }
  ATHANOR_TRY(const Value spec, json::parse(query.substr(kRights.size())));
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
  return Value::object({{"allowed", context.authorizer.authorize(attributes).allowed}});
}

// Returns true if a mutating webhook can change the object: what does not have the form of its kind
// is refused when its schema is checked, after these webhooks.
bool is_changeable(const Hooks& hooks, const WebhookRule& rule, const Value& object) {
  const auto type =
      hooks.types.find({std::string(rule.kind->api_version()), std::string(rule.kind->name)});
  return type == hooks.types.end() || object.is_null() || api::is_shaped(*type->second, object);
}

// Asks one webhook; a mutating one changes request.object.
StatusResult<void> ask(const Hooks& hooks, const Webhook& webhook, const WebhookRule& rule,
                       apiserver::AdmissionAttributes& request, const AdmissionContext& context) {
  const auto question = question_of(*hooks.system, rule, request);
  if (!question.ok()) {
    return apiserver::status::of(question.error());
  }
  if (webhook.mutating && !is_changeable(hooks, rule, question->object)) {
    return {};
  }
  const AnswerQuery answer = [&](const std::string& query) { return answer_right(context, query); };
  StoreSnapshot snapshot(context.store, hooks.options.config, hooks.indexes, answer, context.now);
  snapshot.read_by(hooks.forms);
  Reads reads;
  const Verdict verdict = webhook.admit(View(snapshot, reads), *question, context.now);
  if (hooks.options.answered) {
    hooks.options.answered(webhook, verdict);
  }
  request.warnings.insert(request.warnings.end(), verdict.warnings.begin(), verdict.warnings.end());
  if (!verdict.allowed) {
    return denial(webhook, verdict);
  }
  if (!webhook.mutating || verdict.patch.is_null()) {
    return {};
  }
  auto changed = apply_json_patch(question->object, verdict.patch);
  if (changed.ok()) {
    changed =
        in_version(*hooks.system, *changed, std::string(request.object["apiVersion"].as_string()));
  }
  if (!changed.ok()) {
    return apiserver::status::of(changed.error());
  }
  request.object = *std::move(changed);
  return {};
}

StatusResult<void> ask_all(const Hooks& hooks, bool mutating,
                           apiserver::AdmissionAttributes& request,
                           const AdmissionContext& context) {
  for (const Webhook& webhook : hooks.system->webhooks) {
    if (webhook.mutating != mutating) {
      continue;
    }
    if (const WebhookRule* rule = matching_rule(webhook, request)) {
      if (auto asked = ask(hooks, webhook, *rule, request, context); !asked.ok()) {
        return asked;
      }
    }
  }
  return {};
}

std::map<std::pair<std::string, std::string>, const api::TypeInfo*> types_of(Systems systems) {
  std::map<std::pair<std::string, std::string>, const api::TypeInfo*> types;
  for (const api::CustomKind* custom : kinds_of(systems)) {
    for (const api::VersionInfo& version : custom->versions) {
      types.insert_or_assign({fmt::format("{}/{}", custom->kind->group, version.name),
                              std::string(custom->kind->name)},
                             &version.type());
    }
  }
  return types;
}

AdmissionStep step_of(const std::shared_ptr<const Hooks>& hooks) {
  std::string name(hooks->system->name);
  name.front() = static_cast<char>(name.front() - 'a' + 'A');  // names are lower case
  return {.name = name + "Webhooks",
          .mutate =
              [hooks](apiserver::AdmissionAttributes& request, const AdmissionContext& context) {
                return ask_all(*hooks, true, request, context);
              },
          .validate =
              [hooks](apiserver::AdmissionAttributes& request, const AdmissionContext& context) {
                return ask_all(*hooks, false, request, context);
              }};
}

class SystemConverter final : public apiserver::Converter {
 public:
  explicit SystemConverter(const System& system) : system_(system) {}
  [[nodiscard]] StatusResult<Value> convert(const Value& object, std::string_view /*from_version*/,
                                            std::string_view to_version) const override {
    auto converted = system_.convert(object, to_version);
    if (!converted.ok()) {
      return apiserver::status::of(converted.error());
    }
    return *std::move(converted);
  }

 private:
  const System& system_;
};

}  // namespace

std::vector<AdmissionStep> webhook_steps(const InProcessWebhooks& options) {
  std::vector<AdmissionStep> steps;
  for (const System* system : options.systems) {
    if (system->webhooks.empty()) {
      continue;
    }
    auto hooks = std::make_shared<Hooks>(Hooks{.system = system, .options = options});
    hooks->forms = stored_forms(options.systems);
    hooks->types = types_of(options.systems);
    for (const System* one : options.systems) {
      for (const Operator* op : one->operators) {
        hooks->indexes.insert(hooks->indexes.end(), op->indexes.begin(), op->indexes.end());
      }
    }
    steps.push_back(step_of(hooks));
  }
  return steps;
}

std::function<const apiserver::Converter*(std::string_view, std::string_view)> system_converters(
    Systems systems) {
  auto converters = std::make_shared<std::map<const System*, SystemConverter>>();
  for (const System* system : systems) {
    if (system->convert != nullptr) {
      converters->emplace(system, *system);
    }
  }
  return [systems, converters](std::string_view group,
                               std::string_view kind) -> const apiserver::Converter* {
    const auto found = converters->find(system_of_kind(systems, group, kind));
    return found == converters->end() ? nullptr : &found->second;
  };
}

StoredForms stored_forms(Systems systems) {
  // By group and name: asked for each such object.
  auto converting =
      std::make_shared<std::map<std::pair<std::string, std::string>, const System*>>();
  for (const System* system : systems) {
    if (system->convert == nullptr || system->kinds == nullptr) {
      continue;
    }
    for (const api::CustomKind* custom : system->kinds(Value())) {
      converting->emplace(std::pair(custom->kind->group, custom->kind->name), system);
    }
  }
  return [converting](const Kind& kind, const Value& body) -> Result<Value> {
    const auto found = converting->find({std::string(kind.group), std::string(kind.name)});
    if (found == converting->end()) {
      return Error::not_found("apiVersion alone differs");
    }
    return found->second->convert(body, kind.api_version());
  };
}

}  // namespace athanor::bridge
