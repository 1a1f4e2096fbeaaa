// SPDX-License-Identifier: Apache-2.0
// NetworkPolicies, Ingresses and service addresses (docs/spec/apiserver.md 14).
#include <fmt/format.h>

#include <array>
#include <utility>

#include "embedded/kinds/cells.hpp"
#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/kind_table.hpp"
#include "embedded/kinds/network/address_kinds.hpp"
#include "embedded/kinds/network/ingress_rules.hpp"

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

void check_policy_port(FieldErrors& errors, const Value& port, const std::string& path) {
  check_choice(errors, path + ".protocol", port["protocol"], {"TCP", "UDP", "SCTP"});
  const Value& number = port["port"];
  const Value& end = port["endPort"];
  if (number.is_null()) {
    if (!end.is_null()) {
      errors.push_back(FieldError::invalid(path + ".endPort", end,
                                           "may not be specified when `port` is not specified"));
    }
    return;
  }
  if (!end.is_null() && number.is_string()) {
    errors.push_back(FieldError::invalid(path + ".endPort", end,
                                         "may not be specified when `port` is non-numeric"));
  }
  check_port_or_name(errors, path + ".port", number);
  if (!end.is_null() && number.is_number()) {
    if (end.as_int() < number.as_int()) {
      errors.push_back(FieldError::invalid(path + ".endPort", number,
                                           "must be greater than or equal to `port`"));
    }
    check_port(errors, path + ".endPort", end.as_int());
  }
}

void check_policy_peer(FieldErrors& errors, const Value& peer, const std::string& path) {
  std::size_t count = 0;
  for (const std::string_view selector : {"podSelector", "namespaceSelector"}) {
    if (peer[selector].is_object()) {
      ++count;
      check_label_selector(errors, below(path, selector), peer[selector]);
    }
  }
  const bool block = peer["ipBlock"].is_object();
  if (block) {
    const Value& cidr = peer["ipBlock"]["cidr"];
    if (require(errors, path + ".ipBlock.cidr", cidr)) {
      check_cidr(errors, path + ".ipBlock.cidr", cidr.as_string());
    }
  }
  if (count == 0 && !block) {
    errors.push_back(FieldError::required(path, "must specify a peer"));
  } else if (count > 0 && block) {
    errors.push_back(FieldError::forbidden(path, "may not specify both ipBlock and another peer"));
  }
}

FieldErrors validate_network_policy(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  check_label_selector(errors, "spec.podSelector", spec["podSelector"]);
  for (const auto& [direction, peers] :
       {std::pair<std::string_view, std::string_view>{"ingress", "from"}, {"egress", "to"}}) {
    for (std::size_t i = 0; i < spec[direction].size(); ++i) {
      const Value& rule = spec[direction][i];
      const std::string here = at(below("spec", direction), i);
      for (std::size_t k = 0; k < rule["ports"].size(); ++k) {
        check_policy_port(errors, rule["ports"][k], at(here + ".ports", k));
      }
      for (std::size_t k = 0; k < rule[peers].size(); ++k) {
        check_policy_peer(errors, rule[peers][k], at(below(here, peers), k));
      }
    }
  }
  const Value& types = spec["policyTypes"];
  if (types.size() > 2) {
    errors.push_back(FieldError::invalid("spec.policyTypes", types,
                                         "may not specify more than two policyTypes"));
    return errors;
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!is_one_of(types[i].as_string(), {"Ingress", "Egress"})) {
      errors.push_back(
          FieldError::not_supported(at("spec.policyTypes", i), types[i], {"Ingress", "Egress"}));
    }
  }
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
  return check_ingress_spec(object["spec"]);
}

FieldErrors validate_ingress_update(const Value& object, const Value& /*old_object*/,
                                    const KindContext& context) {
  return context.subresource.empty() ? check_ingress_spec(object["spec"])
                                     : check_load_balancer(object["status"]);
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
  return check_ingress_class_spec(object["spec"]);
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
    KindRow{.group = kGroup,
            .plural = "ipaddresses",
            .behaviour = {.validate_create = &validate_address,
                          .validate_update = &validate_address_update,
                          .cells = &address_cells}},
    KindRow{.group = kGroup,
            .plural = "servicecidrs",
            .behaviour = {.validate_create = &validate_service_network,
                          .validate_update = &validate_service_network_update,
                          .cells = &service_cidr_cells}},
};

}  // namespace

std::span<const KindRow> network_rows() {
  return kRows;
}

}  // namespace athanor::apiserver
