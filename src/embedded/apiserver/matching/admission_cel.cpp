// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/matching/admission_cel.hpp"

#include <fmt/format.h>

#include <atomic>

#include "cel/functions/functions.hpp"
#include "cel/rules/schema_type.hpp"
#include "embedded/apiserver/matching/match.hpp"
#include "embedded/apiserver/matching/review.hpp"
#include "embedded/apiserver/request/authorize.hpp"
#include "embedded/apiserver/request/call.hpp"
#include "kube/schema/types.hpp"

namespace athanor::apiserver {
namespace {

using cel::TypeKind;
using cel::TypePtr;

TypePtr simple(TypeKind kind) {
  return cel::simple_type(kind);
}

TypePtr request_type() {
  const TypePtr text = simple(TypeKind::String);
  const TypePtr kind = cel::object_type("kubernetes.GroupVersionKind",
                                        {{"group", text}, {"version", text}, {"kind", text}});
  const TypePtr resource = cel::object_type(
      "kubernetes.GroupVersionResource", {{"group", text}, {"version", text}, {"resource", text}});
  const TypePtr user = cel::object_type("kubernetes.UserInfo",
                                        {{"username", text},
                                         {"uid", text},
                                         {"groups", cel::list_type(text)},
                                         {"extra", cel::map_type(text, cel::list_type(text))}});
  return cel::object_type("kubernetes.AdmissionAttributes", {{"kind", kind},
                                                             {"resource", resource},
                                                             {"subResource", text},
                                                             {"requestKind", kind},
                                                             {"requestResource", resource},
                                                             {"requestSubResource", text},
                                                             {"name", text},
                                                             {"namespace", text},
                                                             {"operation", text},
                                                             {"userInfo", user},
                                                             {"dryRun", simple(TypeKind::Bool)},
                                                             {"options", simple(TypeKind::Dyn)}});
}

TypePtr namespace_type() {
  const SchemaPtr schema = BuiltinTypes::get().by_name("core.v1.Namespace");
  return cel::builtin_type(*schema);
}

Value kind_fields(const ResourceInfo& resource) {
  return Value::object(
      {{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}});
}

Value resource_fields(const ResourceInfo& resource) {
  return Value::object(
      {{"group", resource.group}, {"version", resource.version}, {"resource", resource.plural}});
}

Value request_value(const AdmissionView& view) {
  const AdmissionAttributes& request = view.request;
  Value value = Value::object({{"kind", kind_fields(view.version)},
                               {"resource", resource_fields(view.version)},
                               {"requestKind", kind_fields(*request.resource)},
                               {"requestResource", resource_fields(*request.resource)},
                               {"name", request.key.name},
                               {"namespace", request_namespace(request)},
                               {"operation", operation_name(request.operation)},
                               {"dryRun", request.dry_run},
                               {"options", request.options}});
  if (!request.subresource.empty()) {
    value.set("subResource", request.subresource);
    value.set("requestSubResource", request.subresource);
  }
  value.set("userInfo", request.user != nullptr ? request.user->to_value() : Value::object());
  return value;
}

}  // namespace

cel::Declarations admission_declarations(const AdmissionVariables& variables) {
  static const TypePtr kRequest = request_type();
  static const TypePtr kNamespace = namespace_type();
  cel::Declarations declarations = {{"object", simple(TypeKind::Dyn)},
                                    {"oldObject", simple(TypeKind::Dyn)},
                                    {"request", kRequest}};
  if (variables.authorizer) {
    declarations.emplace("authorizer", cel::named_type("kubernetes.authorization.Authorizer"));
    declarations.emplace("authorizer.requestResource",
                         cel::named_type("kubernetes.authorization.ResourceCheck"));
  }
  if (variables.params) {
    declarations.emplace("params", simple(TypeKind::Dyn));
  }
  if (variables.namespace_object) {
    declarations.emplace("namespaceObject", kNamespace);
  }
  return declarations;
}

cel::AccessAnswer RequestAuthority::ask(const cel::AccessQuestion& question) const {
  UserInfo account;
  const UserInfo* user = request_.user;
  if (!question.service_account_name.empty()) {
    const std::string& ns = question.service_account_namespace;
    account.name = fmt::format("system:serviceaccount:{}:{}", ns, question.service_account_name);
    account.groups = {"system:serviceaccounts", "system:serviceaccounts:" + ns,
                      "system:authenticated"};
    user = &account;
  }
  if (user == nullptr) {
    return {.allowed = true};  // the server itself
  }
  Attributes attributes;
  attributes.user = user;
  attributes.verb = question.verb;
  attributes.is_resource = question.path.empty();
  attributes.path = question.path;
  attributes.group = question.group;
  attributes.version.push_back('*');  // GCC 12 misjudges an assignment here
  attributes.resource = question.resource;
  attributes.subresource = question.subresource;
  attributes.ns = question.ns;
  attributes.name = question.name;
  const Decision decision = context_.authorizer.authorize(attributes);
  return {.allowed = decision.allowed, .reason = decision.reason, .error = {}};
}

StatusResult<AdmissionView> admission_view(const AdmissionAttributes& request,
                                           const ResourceInfo& version,
                                           const AdmissionContext& context) {
  AdmissionView view{.request = request, .version = version};
  if (!request.object.is_null()) {
    ATHANOR_TRY(view.object, in_version(*request.resource, version, request.object, context));
  }
  if (!request.old_object.is_null()) {
    ATHANOR_TRY(view.old_object,
                in_version(*request.resource, version, request.old_object, context));
  }
  return view;
}

cel::Bindings admission_bindings(const AdmissionView& view) {
  static const TypePtr kRequest = request_type();
  const AdmissionAttributes& request = view.request;
  cel::AccessQuestion own;
  own.group = view.version.group;
  own.resource = view.version.plural;
  own.subresource = request.subresource;
  own.ns = request.key.ns;
  own.name = request.key.name;
  return {{"object", cel::adapt(view.object)},
          {"oldObject", cel::adapt(view.old_object)},
          {"request", cel::adapt(request_value(view), kRequest)},
          {"authorizer", cel::authorizer_value()},
          {"authorizer.requestResource", cel::authorizer_value(std::move(own))}};
}

Conditions compile_conditions(const Value& list, const AdmissionVariables& variables) {
  Conditions conditions;
  for (const Value& item : list.items()) {
    Condition condition{.name = item["name"].str(), .expression = item["expression"].str()};
    auto program = cel::Program::compile(condition.expression, admission_declarations(variables));
    if (program.ok()) {
      condition.program = *std::move(program);
    } else {
      condition.error =
          fmt::format("compilation error: compilation failed: {}", program.error().message);
    }
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

std::string evaluation_error(const cel::Program& program, const cel::Val& error) {
  return fmt::format("expression '{}' resulted in error: {}", program.source(), error.text());
}

RequestBudget::RequestBudget(const AdmissionContext& context)
    : call_(context.call), spent_(call_ == nullptr ? own_ : call_->expression_cost) {}

void RequestBudget::spend(std::uint64_t cost) {
  spent_ += static_cast<std::int64_t>(cost);
  // Callers within the process have threads of their own.
  if (busy_ || spent_ <= kCostlyRequest || call_ == nullptr || call_->in_process ||
      call_->costly != nullptr) {
    return;
  }
  std::atomic<int>& running = call_->core.costly;
  busy_ = ++running > kCostlyRequests;
  if (busy_) {
    --running;
  } else {
    call_->costly = {&running, [](std::atomic<int>* counted) { --*counted; }};
  }
}

StatusError RequestBudget::too_busy() {
  return status::too_many_requests(
      "too many requests with costly expressions of webhooks and policies run, please try again "
      "later",
      1);
}

ConditionsVerdict judge_conditions(const Conditions& conditions, const cel::Bindings& bindings,
                                   const cel::Authority& authority, RequestBudget& budget) {
  std::vector<std::string> errors;
  std::int64_t left = cel::kMatchCostBudget;
  for (const Condition& condition : conditions) {
    if (condition.program == nullptr) {
      errors.push_back(condition.error);
      continue;
    }
    if (budget.exhausted()) {
      return {.hold = true, .error = std::string(kRequestOutOfBudget)};
    }
    const cel::Evaluation done = condition.program->evaluate(bindings, {.authority = &authority});
    budget.spend(done.cost);
    if (budget.busy()) {
      return {.hold = true, .error = std::string(kRequestOutOfBudget)};
    }
    left -= static_cast<std::int64_t>(done.cost);
    if (left < 0) {
      return {.hold = true,
              .error =
                  "validation failed due to running out of cost budget, no further "
                  "validation rules will be run"};
    }
    if (done.value.is_false()) {
      return {.hold = false, .error = {}};
    }
    if (done.value.is_error()) {
      errors.push_back(evaluation_error(*condition.program, done.value));
    }
  }
  if (errors.empty()) {
    return {};
  }
  return {
      .hold = true,
      .error = errors.size() == 1 ? errors.front() : fmt::format("[{}]", fmt::join(errors, ", "))};
}

}  // namespace athanor::apiserver
