// SPDX-License-Identifier: Apache-2.0
// What extends the API or governs its use: webhooks, admission policies, API services,
// certificates, flow control (docs/spec/apiserver.md 14).
#include <fmt/format.h>

#include <array>

#include "embedded/apiserver/policies/policy_validation.hpp"
#include "embedded/apiserver/policies/webhook_validation.hpp"
#include "embedded/kinds/cells.hpp"
#include "embedded/kinds/certificate_kind.hpp"
#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/kind_table.hpp"
#include "kube/text/text.hpp"
#include "kube/value/condition.hpp"

namespace athanor::apiserver {
namespace {

void default_scopes(Value& holder, std::string_view list) {
  edit_items(holder, list, [](Value& rule) { default_to(rule, "scope", "*"); });
}

void default_webhook(Value& hook) {
  default_to(hook, "failurePolicy", "Fail");
  default_to(hook, "matchPolicy", "Equivalent");
  default_to(hook, "namespaceSelector", Value::object());
  default_to(hook, "objectSelector", Value::object());
  default_to(hook, "timeoutSeconds", 10);
  default_scopes(hook, "rules");
  if (hook["clientConfig"]["service"].is_object()) {
    edit_member(hook, "clientConfig", [](Value& client) {
      edit_member(client, "service", [](Value& service) { default_to(service, "port", 443); });
    });
  }
}

void default_validating(Value& object, const KindContext& /*context*/) {
  edit_items(object, "webhooks", default_webhook);
}

void default_mutating(Value& object, const KindContext& /*context*/) {
  edit_items(object, "webhooks", [](Value& hook) {
    default_webhook(hook);
    default_to(hook, "reinvocationPolicy", "Never");
  });
}

Cells webhook_cells(const Value& object, Instant now) {
  return {name_cell(object), static_cast<std::int64_t>(object["webhooks"].size()),
          age_cell(object, now)};
}

void default_match(Value& match) {
  default_to(match, "matchPolicy", "Equivalent");
  default_to(match, "namespaceSelector", Value::object());
  default_to(match, "objectSelector", Value::object());
  default_scopes(match, "resourceRules");
  default_scopes(match, "excludeResourceRules");
}

void default_policy(Value& object, const KindContext& /*context*/) {
  edit_member(object, "spec", [](Value& spec) {
    default_to(spec, "failurePolicy", "Fail");
    if (spec["matchConstraints"].is_object()) {
      edit_member(spec, "matchConstraints", default_match);
    }
  });
}

void default_policy_binding(Value& object, const KindContext& /*context*/) {
  if (object["spec"]["matchResources"].is_object()) {
    edit_member(object, "spec",
                [](Value& spec) { edit_member(spec, "matchResources", default_match); });
  }
}

Cells policy_cells(const Value& object, Instant now) {
  const Value& spec = object["spec"];
  const Value& kind = spec["paramKind"];
  return {name_cell(object), static_cast<std::int64_t>(spec["validations"].size()),
          kind.is_null()
              ? std::string(kUnset)
              : fmt::format("{}/{}", kind["apiVersion"].as_string(), kind["kind"].as_string()),
          age_cell(object, now)};
}

Cells policy_binding_cells(const Value& object, Instant now) {
  const Value& spec = object["spec"];
  const Value& param = spec["paramRef"];
  std::string text(kUnset);
  if (param.is_object()) {
    text = param["namespace"].as_string().empty()
               ? fmt::format("*/{}", param["name"].as_string())
               : fmt::format("{}/{}", param["namespace"].as_string(), param["name"].as_string());
  }
  return {name_cell(object), spec["policyName"].str(), text, age_cell(object, now)};
}

void default_api_service(Value& object, const KindContext& /*context*/) {
  if (object["spec"]["service"].is_object()) {
    edit_member(object, "spec", [](Value& spec) {
      edit_member(spec, "service", [](Value& service) { default_to(service, "port", 443); });
    });
  }
}

FieldErrors validate_api_service(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  const std::string wanted =
      fmt::format("{}.{}", spec["version"].as_string(), spec["group"].as_string());
  const std::string name = object["metadata"]["name"].str();
  if (name != wanted) {
    errors.push_back(FieldError::invalid(
        "metadata.name", name,
        fmt::format("must be `spec.version+\".\"+spec.group`: {}", go_quote(wanted))));
  }
  require(errors, "spec.version", spec["version"]);
  for (const std::string_view priority : {"groupPriorityMinimum", "versionPriority"}) {
    const std::int64_t most = priority == "versionPriority" ? 1000 : 20000;
    const std::int64_t value = spec[priority].as_int();
    if (value <= 0 || value > most) {
      errors.push_back(FieldError::invalid(below("spec", priority), value,
                                           fmt::format("must be positive and less than {}", most)));
    }
  }
  return errors;
}

FieldErrors validate_api_service_update(const Value& object, const Value& /*old_object*/,
                                        const KindContext& context) {
  return context.subresource.empty() ? validate_api_service(object, context) : FieldErrors{};
}

Cells api_service_cells(const Value& object, Instant now) {
  const Value& service = object["spec"]["service"];
  const Value& available = find_condition(object["status"]["conditions"], "Available");
  std::string text = available.is_null() ? "Unknown" : available["status"].str();
  if (!available.is_null() && text != "True") {
    text += fmt::format(" ({})", available["reason"].as_string());
  }
  return {name_cell(object),
          service.is_object()
              ? fmt::format("{}/{}", service["namespace"].as_string(), service["name"].as_string())
              : std::string("Local"),
          text, age_cell(object, now)};
}

Cells certificate_cells(const Value& object, Instant now) {
  const Value& spec = object["spec"];
  const Value& conditions = object["status"]["conditions"];
  std::string state;
  for (const std::string_view type : {"Denied", "Approved", "Failed"}) {
    if (!find_condition(conditions, type).is_null()) {
      state += (state.empty() ? "" : ",") + std::string(type);
    }
  }
  if (state.empty()) {
    state = "Pending";
  }
  if (!object["status"]["certificate"].as_string().empty()) {
    state += ",Issued";
  }
  const Value& seconds = spec["expirationSeconds"];
  return {
      name_cell(object),
      age_cell(object, now),
      text_cell(spec["signerName"]),
      spec["username"].str(),
      seconds.is_null() ? std::string(kNone) : format_age(std::chrono::seconds(seconds.as_int())),
      state};
}

void default_flow_schema(Value& object, const KindContext& /*context*/) {
  edit_member(object, "spec", [](Value& spec) { default_zero(spec, "matchingPrecedence", 1000); });
}

Cells flow_schema_cells(const Value& object, Instant now) {
  const Value& spec = object["spec"];
  const std::string_view dangling =
      find_condition(object["status"]["conditions"], "Dangling")["status"].as_string();
  return {name_cell(object),
          text_cell(spec["priorityLevelConfiguration"]["name"]),
          std::to_string(spec["matchingPrecedence"].as_int()),
          text_cell(spec["distinguisherMethod"]["type"]),
          age_cell(object, now),
          dangling.empty() ? std::string("?") : std::string(dangling)};
}

Cells priority_level_cells(const Value& object, Instant now) {
  const Value& spec = object["spec"];
  const Value& limited = spec["limited"];
  const Value& queuing = limited["limitResponse"]["queuing"];
  const auto number = [](const Value& value) {
    return value.is_null() ? std::string(kNone) : scalar_text(value);
  };
  const Value& shares = limited.is_object() ? limited["nominalConcurrencyShares"]
                                            : spec["exempt"]["nominalConcurrencyShares"];
  return {
      name_cell(object),         spec["type"].str(),          number(shares),
      number(queuing["queues"]), number(queuing["handSize"]), number(queuing["queueLengthLimit"]),
      age_cell(object, now)};
}

constexpr std::string_view kAdmission = "admissionregistration.k8s.io";
constexpr std::string_view kFlow = "flowcontrol.apiserver.k8s.io";

constexpr std::array kRows = {
    KindRow{.group = kAdmission,
            .plural = "validatingwebhookconfigurations",
            .behaviour = {.apply_defaults = &default_validating,
                          .validate_create = &validate_webhooks,
                          .validate_update = &validate_webhooks_update,
                          .cells = &webhook_cells}},
    KindRow{.group = kAdmission,
            .plural = "mutatingwebhookconfigurations",
            .behaviour = {.apply_defaults = &default_mutating,
                          .validate_create = &validate_webhooks,
                          .validate_update = &validate_webhooks_update,
                          .cells = &webhook_cells}},
    KindRow{.group = kAdmission,
            .plural = "validatingadmissionpolicies",
            .behaviour = {.apply_defaults = &default_policy,
                          .validate_create = &validate_policy,
                          .validate_update = &validate_policy_update,
                          .cells = &policy_cells}},
    KindRow{.group = kAdmission,
            .plural = "validatingadmissionpolicybindings",
            .behaviour = {.apply_defaults = &default_policy_binding,
                          .validate_create = &validate_policy_binding,
                          .validate_update = &validate_policy_binding_update,
                          .cells = &policy_binding_cells}},
    KindRow{.group = "apiregistration.k8s.io",
            .plural = "apiservices",
            .behaviour = {.apply_defaults = &default_api_service,
                          .validate_create = &validate_api_service,
                          .validate_update = &validate_api_service_update,
                          .cells = &api_service_cells}},
    KindRow{.group = "certificates.k8s.io",
            .plural = "certificatesigningrequests",
            .behaviour = {.prepare_create = &prepare_certificate_request,
                          .prepare_update = &prepare_certificate_update,
                          .cells = &certificate_cells}},
    KindRow{.group = kFlow,
            .plural = "flowschemas",
            .behaviour = {.apply_defaults = &default_flow_schema, .cells = &flow_schema_cells}},
    KindRow{.group = kFlow,
            .plural = "prioritylevelconfigurations",
            .behaviour = {.cells = &priority_level_cells}},
};

}  // namespace

std::span<const KindRow> extension_rows() {
  return kRows;
}

}  // namespace athanor::apiserver
