// SPDX-License-Identifier: Apache-2.0
// Services, Endpoints and EndpointSlices (docs/spec/apiserver.md 14).
#include <fmt/format.h>

#include <array>
#include <set>

#include "embedded/kinds/cells.hpp"
#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/kind_table.hpp"
#include "embedded/kinds/network/address_kinds.hpp"
#include "embedded/kinds/network/service_addresses.hpp"
#include "embedded/kinds/network/service_families.hpp"
#include "embedded/kinds/network/service_rules.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kShownEndpoints = 3;
constexpr std::int64_t kAffinitySeconds = 10800;

void default_type(Value& spec) {
  const std::string type = spec["type"].str();
  if (type == "ExternalName") {
    return;
  }
  default_to(spec, "internalTrafficPolicy", "Cluster");
  if (is_accessible(spec)) {
    default_to(spec, "externalTrafficPolicy", "Cluster");
  }
  if (type == "LoadBalancer") {
    default_to(spec, "allocateLoadBalancerNodePorts", true);
  }
}

void default_service(Value& object, const KindContext& /*context*/) {
  edit_member(object, "spec", [](Value& spec) {
    default_to(spec, "type", "ClusterIP");
    default_to(spec, "sessionAffinity", "None");
    if (spec["sessionAffinity"].as_string() == "ClientIP") {
      edit_member(spec, "sessionAffinityConfig", [](Value& config) {
        edit_member(config, "clientIP",
                    [](Value& client) { default_to(client, "timeoutSeconds", kAffinitySeconds); });
      });
    } else if (spec["sessionAffinity"].as_string() == "None") {
      spec.erase("sessionAffinityConfig");
    }
    edit_items(spec, "ports", [](Value& port) {
      default_to(port, "protocol", "TCP");
      const Value& target = port["targetPort"];
      if (target.is_null() || (target.is_number() && target.as_int() == 0) ||
          (target.is_string() && target.as_string().empty())) {
        const Value number = port["port"];
        port.set("targetPort", number);
      }
    });
    default_type(spec);
  });
  edit_member(object, "status", [](Value& status) {
    default_to(status, "loadBalancer", Value::object());
    if (!status["loadBalancer"]["ingress"].empty()) {
      edit_member(status, "loadBalancer", [](Value& balancer) {
        edit_items(balancer, "ingress", [](Value& ingress) {
          if (!ingress["ip"].as_string().empty()) {
            default_to(ingress, "ipMode", "VIP");
          }
        });
      });
    }
  });
}

void prepare_service(Value& object, const KindContext& /*context*/) {
  choose_families(object, Value());
}

// What a writer leaves out stays as it was allocated, unless the new type has no use for it.
void finish_service_update(Value& object, const Value& old_object, const KindContext& context) {
  if (!context.subresource.empty()) {
    return;
  }
  const Value& old_spec = old_object["spec"];
  edit_member(object, "spec", [&](Value& spec) {
    const std::string type = text_or(spec["type"], "ClusterIP");
    const std::string old_type = old_spec["type"].str();
    if (type != "ExternalName" && old_type != "ExternalName") {
      for (const std::string_view field : {"clusterIP", "clusterIPs"}) {
        if (spec[field].as_string().empty() && spec[field].empty() && !old_spec[field].is_null()) {
          spec.set(field, old_spec[field]);
        }
      }
    }
    if (!spec["clusterIP"].as_string().empty() && spec["clusterIP"] != old_spec["clusterIP"] &&
        (spec["clusterIPs"].empty() || spec["clusterIPs"] == old_spec["clusterIPs"])) {
      const Value first = spec["clusterIP"];
      if (spec["clusterIPs"].empty()) {
        spec.set("clusterIPs", Value::list({first}));
      } else {
        spec.member("clusterIPs").item(0) = first;
      }
    }
    drop_old_type(spec, old_spec);
    if (type == "ExternalName" && old_type != "ExternalName") {
      spec.erase("internalTrafficPolicy");
    }
  });
  choose_families(object, old_object);
  // What a load balancer said is of no service of another type.
  if (object["spec"]["type"].as_string() != "LoadBalancer" &&
      !object["status"]["loadBalancer"].empty()) {
    object.member("status").set("loadBalancer", Value::object());
  }
}

FieldErrors validate_new_service(const Value& object, const KindContext& /*context*/) {
  return check_service(object, Value());
}

// With a service go its addresses and its endpoints: a later service of that name must not find
// them.
std::vector<store::Write> writes_of_service(const Value& object, const Value& old_object,
                                            const KindContext& context) {
  std::vector<store::Write> writes = address_writes(object, old_object, context);
  const Value& metadata = old_object["metadata"];
  const Key key{metadata["namespace"].str(), metadata["name"].str()};
  const store::StoredPtr endpoints =
      object.is_null() ? context.store.get("endpoints", key) : nullptr;
  if (endpoints == nullptr || endpoints->body["metadata"].contains("deletionTimestamp")) {
    return writes;
  }
  store::Write along{.resource = "endpoints", .key = key, .expected = endpoints->revision};
  if (!endpoints->body["metadata"]["finalizers"].empty()) {
    Value ending = endpoints->body;
    ending.member("metadata").set("deletionTimestamp", format_time(context.now));
    ending.member("metadata").set("deletionGracePeriodSeconds", 0);
    along.body = std::move(ending);
  }
  writes.push_back(std::move(along));
  return writes;
}

// What is wrong with its addresses and their families is reported before anything else is checked.
StatusResult<void> allocate_for_service(Value& object, const Value& old_object,
                                        const KindContext& context) {
  if (const FieldErrors errors = family_errors(object, old_object); !errors.empty()) {
    return status::invalid({.name = "Service", .group = ""}, object["metadata"]["name"].as_string(),
                           errors);
  }
  return allocate_service(object, old_object, context);
}

FieldErrors validate_balancer(const Value& object) {
  FieldErrors errors;
  const std::string path = "status.loadBalancer.ingress";
  const Value& ingress = object["status"]["loadBalancer"]["ingress"];
  if (object["spec"]["type"].as_string() != "LoadBalancer") {
    if (!ingress.empty()) {
      errors.push_back(
          FieldError::forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'"));
    }
    return errors;
  }
  for (std::size_t i = 0; i < ingress.size(); ++i) {
    const std::string here = at(path, i);
    const std::string_view ip = ingress[i]["ip"].as_string();
    const std::string_view host = ingress[i]["hostname"].as_string();
    if (!ip.empty()) {
      check_ip(errors, here + ".ip", ip);
      check_choice(errors, here + ".ipMode", ingress[i]["ipMode"], {"Proxy", "VIP"});
    } else if (!ingress[i]["ipMode"].is_null()) {
      errors.push_back(
          FieldError::forbidden(here + ".ipMode", "may not be specified when `ip` is not set"));
    }
    if (!host.empty()) {
      check_name(errors, here + ".hostname", host, &validate_dns1123_subdomain);
    }
  }
  return errors;
}

void warn_of_service(const Value& object, const Value& /*old_object*/, const KindContext& context) {
  const Value& spec = object["spec"];
  if (!context.subresource.empty()) {
    return;
  }
  const std::string_view type = spec["type"].as_string();
  std::vector<std::string>& warnings = *context.warnings;
  if (type == "ClusterIP" && is_headless(spec)) {
    if (!spec["loadBalancerIP"].as_string().empty()) {
      warnings.emplace_back("spec.loadBalancerIP is ignored for headless services");
    }
    if (!spec["externalIPs"].empty()) {
      warnings.emplace_back("spec.externalIPs is ignored for headless services");
    }
    if (spec["sessionAffinity"].as_string() != "None") {
      warnings.emplace_back("spec.SessionAffinity is ignored for headless services");
    }
  }
  if (type == "ExternalName" && !spec["externalIPs"].empty()) {
    warnings.emplace_back("spec.externalIPs is ignored when spec.type is \"ExternalName\"");
  }
  if (type != "ExternalName" && !spec["externalName"].as_string().empty()) {
    warnings.emplace_back("spec.externalName is ignored when spec.type is not \"ExternalName\"");
  }
}

FieldErrors validate_service_update(const Value& object, const Value& old_object,
                                    const KindContext& context) {
  if (context.subresource == "status") {
    return validate_balancer(object);
  }
  if (!context.subresource.empty()) {
    return {};
  }
  FieldErrors errors = check_service(object, old_object);
  const Value& ips = object["spec"]["clusterIPs"];
  const Value& old_ips = old_object["spec"]["clusterIPs"];
  const bool had = old_object["spec"]["type"].as_string() != "ExternalName" && !old_ips.empty();
  const bool has = object["spec"]["type"].as_string() != "ExternalName";
  if (had && has && ips[0] != old_ips[0]) {
    errors.push_back(FieldError::invalid("spec.clusterIPs[0]", ips, "may not change once set"));
  }
  return errors;
}

std::string external_text(const Value& service) {
  const Value& spec = service["spec"];
  const std::string_view type = spec["type"].as_string();
  std::vector<std::string> addresses;
  if (type == "ExternalName") {
    return spec["externalName"].str();
  }
  if (type == "LoadBalancer") {
    for (const Value& ingress : service["status"]["loadBalancer"]["ingress"].items()) {
      addresses.push_back(text_or(ingress["ip"], ingress["hostname"].as_string()));
    }
  }
  for (const Value& ip : spec["externalIPs"].items()) {
    addresses.push_back(ip.str());
  }
  if (addresses.empty()) {
    return type == "LoadBalancer" ? "<pending>" : std::string(kNone);
  }
  return join(addresses, ",");
}

Value ports_cell(const Value& ports) {
  std::vector<std::string> parts;
  for (const Value& port : ports.items()) {
    const std::int64_t node_port = port["nodePort"].as_int();
    parts.push_back(
        node_port > 0 ? fmt::format("{}:{}/{}", port["port"].as_int(), node_port,
                                    port["protocol"].as_string())
                      : fmt::format("{}/{}", port["port"].as_int(), port["protocol"].as_string()));
  }
  return parts.empty() ? Value(kNone) : Value(join(parts, ","));
}

Cells service_cells(const Value& object, Instant now) {
  const Value& spec = object["spec"];
  return {name_cell(object),
          spec["type"].str(),
          text_cell(spec["clusterIP"]),
          external_text(object),
          ports_cell(spec["ports"]),
          age_cell(object, now),
          labels_cell(spec["selector"])};
}

void default_endpoints(Value& object, const KindContext& /*context*/) {
  edit_items(object, "subsets", [](Value& subset) {
    edit_items(subset, "ports", [](Value& port) { default_to(port, "protocol", "TCP"); });
  });
}

void check_endpoint(FieldErrors& errors, const Value& address, const std::string& path) {
  const std::string_view ip = address["ip"].as_string();
  const std::size_t before = errors.size();
  check_ip(errors, path + ".ip", ip);
  if (errors.size() > before) {  // reported by two rules
    errors.push_back(FieldError::invalid(path + ".ip", ip, "must be a valid IP address"));
  }
  if (!address["hostname"].as_string().empty()) {
    check_name(errors, path + ".hostname", address["hostname"].as_string(),
               &validate_dns1123_label);
  }
  if (!address["nodeName"].is_null()) {
    check_name(errors, path + ".nodeName", address["nodeName"].as_string(),
               &validate_dns1123_subdomain);
  }
}

FieldErrors validate_endpoints(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& subsets = object["subsets"];
  for (std::size_t i = 0; i < subsets.size(); ++i) {
    const std::string here = at("subsets", i);
    const Value& ports = subsets[i]["ports"];
    if (subsets[i]["addresses"].empty() && subsets[i]["notReadyAddresses"].empty()) {
      errors.push_back(
          FieldError::required(here, "must specify `addresses` or `notReadyAddresses`"));
    }
    for (const std::string_view list : {"addresses", "notReadyAddresses"}) {
      for (std::size_t k = 0; k < subsets[i][list].size(); ++k) {
        check_endpoint(errors, subsets[i][list][k], at(below(here, list), k));
      }
    }
    for (std::size_t k = 0; k < ports.size(); ++k) {
      const std::string port = at(here + ".ports", k);
      const Value& name = ports[k]["name"];
      if (!name.as_string().empty()) {
        check_name(errors, port + ".name", name.as_string(), &validate_dns1123_label);
      } else if (ports.size() > 1) {
        errors.push_back(FieldError::required(port + ".name"));
      }
      check_port(errors, port + ".port", ports[k]["port"].as_int());
      check_choice(errors, port + ".protocol", ports[k]["protocol"], {"SCTP", "TCP", "UDP"});
    }
  }
  return errors;
}

FieldErrors validate_endpoints_update(const Value& object, const Value& /*old_object*/,
                                      const KindContext& context) {
  return validate_endpoints(object, context);
}

void default_slice(Value& object, const KindContext& /*context*/) {
  edit_items(object, "ports", [](Value& port) {
    default_to(port, "name", "");
    default_to(port, "protocol", "TCP");
  });
}

// An endpoint and its addresses, which are all of the slice's type.
void check_slice_endpoint(FieldErrors& errors, const Value& endpoint, std::string_view type,
                          const std::string& path) {
  const Value& addresses = endpoint["addresses"];
  require(errors, path + ".addresses", addresses, "must contain at least 1 address");
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::string here = at(path + ".addresses", i);
    const std::string_view address = addresses[i].as_string();
    if (type == "FQDN") {
      check_name(errors, here, address, &validate_dns1123_subdomain);
    } else if (is_one_of(type, {"IPv4", "IPv6"})) {
      const std::size_t before = errors.size();
      check_ip(errors, here, address);
      const bool newer = address.find(':') != std::string_view::npos;
      if (errors.size() == before && newer != (type == "IPv6")) {
        errors.push_back(FieldError::invalid(
            here, address, newer ? "must be an IPv4 address" : "must be an IPv6 address"));
      }
    }
  }
  if (!endpoint["nodeName"].is_null()) {
    check_name(errors, path + ".nodeName", endpoint["nodeName"].as_string(),
               &validate_dns1123_subdomain);
  }
  if (!endpoint["hostname"].is_null()) {
    check_name(errors, path + ".hostname", endpoint["hostname"].as_string(),
               &validate_dns1123_label);
  }
}

FieldErrors validate_slice(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  if (require(errors, "addressType", object["addressType"])) {
    check_choice(errors, "addressType", object["addressType"], {"FQDN", "IPv4", "IPv6"});
  }
  const Value& endpoints = object["endpoints"];
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    check_slice_endpoint(errors, endpoints[i], object["addressType"].as_string(),
                         at("endpoints", i));
  }
  std::set<std::string> names;
  const Value& ports = object["ports"];
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::string here = at("ports", i);
    const std::string name = ports[i]["name"].str();
    if (!name.empty()) {
      check_name(errors, here + ".name", name, &validate_dns1123_label);
    }
    if (!names.insert(name).second) {
      errors.push_back(FieldError::duplicate(here + ".name", name));
    }
    check_choice(errors, here + ".protocol", ports[i]["protocol"], {"SCTP", "TCP", "UDP"});
  }
  return errors;
}

FieldErrors validate_slice_update(const Value& object, const Value& old_object,
                                  const KindContext& context) {
  FieldErrors errors = validate_slice(object, context);
  check_unchanged(errors, "addressType", object["addressType"], old_object["addressType"]);
  return errors;
}

// The first few, and how many more there are.
std::string shortened(const std::vector<std::string>& all, std::string_view none) {
  if (all.empty()) {
    return std::string(none);
  }
  const std::size_t shown = std::min(all.size(), kShownEndpoints);
  std::string text = join({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown)}, ",");
  if (all.size() > shown) {
    text += fmt::format(" + {} more...", all.size() - shown);
  }
  return text;
}

Cells endpoints_cells(const Value& object, Instant now) {
  std::vector<std::string> all;
  for (const Value& subset : object["subsets"].items()) {
    for (const Value& address : subset["addresses"].items()) {
      if (subset["ports"].empty()) {
        all.push_back(address["ip"].str());
      }
      for (const Value& port : subset["ports"].items()) {
        all.push_back(fmt::format("{}:{}", address["ip"].as_string(), port["port"].as_int()));
      }
    }
  }
  return {name_cell(object), shortened(all, kNone), age_cell(object, now)};
}

Cells slice_cells(const Value& object, Instant now) {
  std::vector<std::string> ports;
  for (const Value& port : object["ports"].items()) {
    ports.push_back(port["port"].is_null() ? "*" : std::to_string(port["port"].as_int()));
  }
  std::vector<std::string> addresses;
  for (const Value& endpoint : object["endpoints"].items()) {
    for (const Value& address : endpoint["addresses"].items()) {
      addresses.push_back(address.str());
    }
  }
  return {name_cell(object), object["addressType"].str(), shortened(ports, kUnset),
          shortened(addresses, kUnset), age_cell(object, now)};
}

constexpr std::array kServiceRows = {
    KindRow{.group = "",
            .plural = "services",
            .behaviour = {.apply_defaults = &default_service,
                          .prepare_create = &prepare_service,
                          .finish_update = &finish_service_update,
                          .validate_create = &validate_new_service,
                          .validate_update = &validate_service_update,
                          .warn = &warn_of_service,
                          .allocate = &allocate_for_service,
                          .along = &writes_of_service,
                          .cells = &service_cells}},
    KindRow{.group = "",
            .plural = "endpoints",
            .behaviour = {.apply_defaults = &default_endpoints,
                          .validate_create = &validate_endpoints,
                          .validate_update = &validate_endpoints_update,
                          .cells = &endpoints_cells}},
    KindRow{.group = "discovery.k8s.io",
            .plural = "endpointslices",
            .behaviour = {.apply_defaults = &default_slice,
                          .validate_create = &validate_slice,
                          .validate_update = &validate_slice_update,
                          .cells = &slice_cells}},
};

}  // namespace

std::span<const KindRow> service_rows() {
  return kServiceRows;
}

}  // namespace athanor::apiserver
