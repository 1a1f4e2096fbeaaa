// SPDX-License-Identifier: Apache-2.0
// NetworkPolicies, Ingresses and service addresses (spec/apiserver.md 14).
#include <fmt/format.h>

#include <array>

#include "embedded/apiserver/kinds/cells.hpp"
#include "embedded/apiserver/kinds/checks.hpp"
#include "embedded/apiserver/kinds/edit.hpp"
#include "embedded/apiserver/kinds/kind_table.hpp"

namespace athanor::apiserver {
namespace {

void default_network_policy(Value& object, const KindContext& /*context*/) {
  edit_member(object, "spec", [](Value& spec) {
    for (const std::string_view direction : {"ingress", "egress"}) {
      edit_items(spec, direction, [](Value& rule) {
        edit_items(rule, "ports", [](Value& port) { default_to(port, "protocol", "TCP"); });
      });
    }
    if (spec["policyTypes"].empty()) {
      Value types = Value::list({"Ingress"});
      if (!spec["egress"].empty()) {
        types.push_back("Egress");
      }
      spec.set("policyTypes", std::move(types));
    }
  });
}

FieldErrors validate_network_policy(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  check_label_selector(errors, "spec.podSelector", object["spec"]["podSelector"]);
  return errors;
}

FieldErrors validate_network_policy_update(const Value& object, const Value& /*old_object*/,
                                           const KindContext& context) {
  return validate_network_policy(object, context);
}

Cells network_policy_cells(const Value& object, Instant now) {
  return {name_cell(object), selector_cell(object["spec"]["podSelector"]), age_cell(object, now)};
}

FieldErrors validate_ingress(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  if (spec["rules"].empty() && spec["defaultBackend"].is_null()) {
    errors.push_back(FieldError::invalid("spec", spec.is_null() ? Value::object() : spec,
                                         "either `defaultBackend` or `rules` must be specified"));
  }
  for (std::size_t i = 0; i < spec["rules"].size(); ++i) {
    const Value& paths = spec["rules"][i]["http"]["paths"];
    for (std::size_t j = 0; j < paths.size(); ++j) {
      const std::string here = at(at("spec.rules", i) + ".http.paths", j);
      if (require(errors, here + ".pathType", paths[j]["pathType"], "pathType must be specified")) {
        check_choice(errors, here + ".pathType", paths[j]["pathType"],
                     {"Exact", "ImplementationSpecific", "Prefix"});
      }
    }
  }
  return errors;
}

FieldErrors validate_ingress_update(const Value& object, const Value& /*old_object*/,
                                    const KindContext& context) {
  return context.subresource.empty() ? validate_ingress(object, context) : FieldErrors{};
}

Cells ingress_cells(const Value& object, Instant now) {
  const Value& spec = object["spec"];
  std::vector<std::string> hosts;
  for (const Value& rule : spec["rules"].items()) {
    if (!rule["host"].as_string().empty()) {
      hosts.push_back(rule["host"].str());
    }
  }
  std::vector<std::string> addresses;
  for (const Value& address : object["status"]["loadBalancer"]["ingress"].items()) {
    addresses.push_back(text_or(address["ip"], address["hostname"].as_string()));
  }
  const std::string_view annotated =
      object["metadata"]["annotations"]["kubernetes.io/ingress.class"].as_string();
  return {name_cell(object),
          text_cell(spec["ingressClassName"], annotated.empty() ? kNone : annotated),
          hosts.empty() ? std::string("*") : join(hosts, ","),
          join(addresses, ","),
          spec["tls"].empty() ? "80" : "80, 443",
          age_cell(object, now)};
}

Cells ingress_class_cells(const Value& object, Instant now) {
  const Value& parameters = object["spec"]["parameters"];
  std::string text(kNone);
  if (parameters.is_object()) {
    text = parameters["kind"].str();
    if (!parameters["apiGroup"].as_string().empty()) {
      text += fmt::format(".{}", parameters["apiGroup"].as_string());
    }
    text += fmt::format("/{}", parameters["name"].as_string());
  }
  return {name_cell(object), object["spec"]["controller"].str(), text, age_cell(object, now)};
}

FieldErrors validate_ingress_class(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  require(errors, "spec.controller", object["spec"]["controller"]);
  return errors;
}

FieldErrors validate_ingress_class_update(const Value& object, const Value& old_object,
                                          const KindContext& context) {
  FieldErrors errors = validate_ingress_class(object, context);
  check_unchanged(errors, "spec.controller", object["spec"]["controller"],
                  old_object["spec"]["controller"]);
  return errors;
}

void default_ingress_class(Value& object, const KindContext& /*context*/) {
  if (object["spec"]["parameters"].is_object()) {
    edit_member(object, "spec", [](Value& spec) {
      edit_member(spec, "parameters",
                  [](Value& parameters) { default_to(parameters, "scope", "Cluster"); });
    });
  }
}

Cells address_cells(const Value& object, Instant /*now*/) {
  const Value& parent = object["spec"]["parentRef"];
  std::string text = parent["resource"].str();
  if (!parent["group"].as_string().empty()) {
    text += fmt::format(".{}", parent["group"].as_string());
  }
  if (!parent["namespace"].as_string().empty()) {
    text += fmt::format("/{}", parent["namespace"].as_string());
  }
  text += fmt::format("/{}", parent["name"].as_string());
  return {name_cell(object), text};
}

Cells service_cidr_cells(const Value& object, Instant now) {
  return {name_cell(object), list_cell(object["spec"]["cidrs"]), age_cell(object, now)};
}

constexpr std::string_view kGroup = "networking.k8s.io";

constexpr std::array kRows = {
    KindRow{.group = kGroup,
            .plural = "networkpolicies",
            .behaviour = {.apply_defaults = &default_network_policy,
                          .validate_create = &validate_network_policy,
                          .validate_update = &validate_network_policy_update,
                          .cells = &network_policy_cells}},
    KindRow{.group = kGroup,
            .plural = "ingresses",
            .behaviour = {.validate_create = &validate_ingress,
                          .validate_update = &validate_ingress_update,
                          .cells = &ingress_cells}},
    KindRow{.group = kGroup,
            .plural = "ingressclasses",
            .behaviour = {.apply_defaults = &default_ingress_class,
                          .validate_create = &validate_ingress_class,
                          .validate_update = &validate_ingress_class_update,
                          .cells = &ingress_class_cells}},
    KindRow{.group = kGroup, .plural = "ipaddresses", .behaviour = {.cells = &address_cells}},
    KindRow{.group = kGroup, .plural = "servicecidrs", .behaviour = {.cells = &service_cidr_cells}},
};

}  // namespace

std::span<const KindRow> network_rows() {
  return kRows;
}

}  // namespace athanor::apiserver
