// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/network/service_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "base/ascii.hpp"
#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/network/service_families.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::int64_t kLongestAffinity = 86400;
constexpr std::string_view kTopologyMode = "service.kubernetes.io/topology-mode";
constexpr std::string_view kTopologyHints = "service.kubernetes.io/topology-aware-hints";
constexpr std::string_view kSourceRanges = "service.beta.kubernetes.io/load-balancer-source-ranges";
constexpr std::string_view kOnlyBalancers = "may only be used when `type` is 'LoadBalancer'";

bool has_type(const Value& spec, std::string_view type) {
  return spec["type"].as_string() == type;
}

bool is_listed(const Value& list, std::string_view text) {
  return std::ranges::any_of(list.items(),
                             [&](const Value& item) { return trimmed(item.as_string()) == text; });
}

void check_port_fields(FieldErrors& errors, const Value& port, const std::string& here) {
  check_port(errors, here + ".port", port["port"].as_int());
  check_choice(errors, here + ".protocol", port["protocol"], {"SCTP", "TCP", "UDP"});
  check_port_or_name(errors, here + ".targetPort", port["targetPort"]);
  if (const Value& application = port["appProtocol"]; !application.is_null()) {
    check_name(errors, here + ".appProtocol", application.as_string(), &validate_qualified_name);
  }
}

void check_ports(FieldErrors& errors, const Value& spec) {
  using Numbers = std::set<std::pair<std::int64_t, std::string>>;
  const Value& ports = spec["ports"];
  std::set<std::string> names;
  Numbers numbers;
  Numbers node_ports;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Value& port = ports[i];
    const std::string here = at("spec.ports", i);
    const std::string name = port["name"].str();
    if (name.empty()) {
      if (ports.size() > 1) {
        errors.push_back(FieldError::required(here + ".name"));
      }
    } else {
      check_name(errors, here + ".name", name, &validate_dns1123_label);
      if (!names.insert(name).second) {
        errors.push_back(FieldError::duplicate(here + ".name", name));
      }
    }
    check_port_fields(errors, port, here);
    const std::int64_t node_port = port["nodePort"].as_int();
    if (node_port != 0 && has_type(spec, "ClusterIP")) {
      errors.push_back(
          FieldError::forbidden(here + ".nodePort", "may not be used when `type` is 'ClusterIP'"));
    }
    if (node_port != 0 && !node_ports.emplace(node_port, port["protocol"].str()).second) {
      errors.push_back(FieldError::duplicate(here + ".nodePort", node_port));
    }
    if (!numbers.emplace(port["port"].as_int(), port["protocol"].str()).second) {
      errors.push_back(FieldError::duplicate(
          here, Value::object({{"Name", ""},  // as the reference shows its own type
                               {"Protocol", port["protocol"]},
                               {"AppProtocol", Value()},
                               {"Port", port["port"]},
                               {"TargetPort", 0},
                               {"NodePort", 0}})));
    }
  }
}

void check_external_name(FieldErrors& errors, const Value& spec) {
  std::string_view name = spec["externalName"].as_string();
  if (name.ends_with('.')) {
    name.remove_suffix(1);  // fully qualified
  }
  require_name(errors, "spec.externalName", name, &validate_dns1123_subdomain);
  for (const std::string_view field : {"clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
    if (!spec[field].empty() || !spec[field].as_string().empty()) {
      errors.push_back(
          FieldError::forbidden(below("spec", field), "may not be set for ExternalName services"));
    }
  }
}

void check_affinity(FieldErrors& errors, const Value& spec) {
  check_choice(errors, "spec.sessionAffinity", spec["sessionAffinity"], {"ClientIP", "None"});
  const Value& seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
  if (spec["sessionAffinity"].as_string() == "ClientIP" &&
      (seconds.as_int() <= 0 || seconds.as_int() > kLongestAffinity)) {
    errors.push_back(FieldError::invalid(
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds,
        fmt::format("must be greater than 0 and less than {}", kLongestAffinity)));
  }
}

void check_external_ips(FieldErrors& errors, const Value& spec, const Value& old_spec) {
  for (std::size_t i = 0; i < spec["externalIPs"].size(); ++i) {
    const std::string_view ip = spec["externalIPs"][i].as_string();
    const std::string here = at("spec.externalIPs", i);
    if (!is_listed(old_spec["externalIPs"], ip)) {
      check_ip(errors, here, ip);
    }
    const auto refuse = [&](std::string_view why) {
      errors.push_back(FieldError::invalid(here, ip, why));
    };
    if (ip == "0.0.0.0" || ip == "::") {
      refuse(fmt::format("may not be unspecified ({})", ip));
    } else if (ip.starts_with("127.") || ip == "::1") {
      refuse("may not be in the loopback range (127.0.0.0/8, ::1/128)");
    } else if (ip.starts_with("169.254.")) {
      refuse("may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    } else if (ip.starts_with("224.0.0.")) {
      refuse("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    }
  }
}

void check_source_ranges(FieldErrors& errors, const Value& service, const Value& old_service) {
  const Value& spec = service["spec"];
  const Value& ranges = spec["loadBalancerSourceRanges"];
  const bool balancer = has_type(spec, "LoadBalancer");
  if (!ranges.empty()) {
    const std::string path = "spec.LoadBalancerSourceRanges";  // as the reference has it
    if (!balancer) {
      errors.push_back(FieldError::forbidden(path, kOnlyBalancers));
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const std::string_view range = trimmed(ranges[i].as_string());
      if (!is_listed(old_service["spec"]["loadBalancerSourceRanges"], range)) {
        check_cidr(errors, at(path, i), range);
      }
    }
    return;
  }
  const Value& text = service["metadata"]["annotations"][kSourceRanges];
  if (!text.is_string()) {
    return;
  }
  const std::string path = fmt::format("metadata.annotations[{}]", kSourceRanges);
  if (!balancer) {
    errors.push_back(FieldError::forbidden(path, kOnlyBalancers));
  }
  if (old_service["metadata"]["annotations"][kSourceRanges] == text ||
      trimmed(text.as_string()).empty()) {
    return;
  }
  std::string_view rest = trimmed(text.as_string());
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    check_cidr(errors, path, trimmed(rest.substr(0, comma)));
    more = comma != std::string_view::npos;
    rest.remove_prefix(more ? comma + 1 : rest.size());
  }
}

void check_balancer(FieldErrors& errors, const Value& spec, const Value& old_spec) {
  const bool balancer = has_type(spec, "LoadBalancer");
  if (!balancer && !spec["allocateLoadBalancerNodePorts"].is_null()) {
    errors.push_back(FieldError::forbidden("spec.allocateLoadBalancerNodePorts", kOnlyBalancers));
  }
  const Value& name = spec["loadBalancerClass"];
  const std::string path = "spec.loadBalancerClass";
  if (!balancer && !name.is_null() && !old_spec.is_null()) {
    errors.push_back(FieldError::forbidden(path, kOnlyBalancers));  // by two rules
  }
  if (balancer && has_type(old_spec, "LoadBalancer") && name != old_spec["loadBalancerClass"]) {
    errors.push_back(FieldError::invalid(path, name, "may not change once set"));
  }
  if (name.is_null()) {
    return;
  }
  if (balancer) {
    check_name(errors, path, name.as_string(), &validate_qualified_name);
  } else {
    errors.push_back(FieldError::forbidden(path, kOnlyBalancers));
  }
}

void check_traffic(FieldErrors& errors, const Value& spec, const Value& old_spec) {
  const std::string_view external = spec["externalTrafficPolicy"].as_string();
  if (is_accessible(spec)) {
    check_choice(errors, "spec.externalTrafficPolicy", spec["externalTrafficPolicy"],
                 {"Cluster", "Local"});
  } else if (!external.empty()) {
    errors.push_back(FieldError::invalid("spec.externalTrafficPolicy", external,
                                         "may only be set for externally-accessible services"));
  }
  const std::int64_t number = spec["healthCheckNodePort"].as_int();
  const std::string path = "spec.healthCheckNodePort";
  if (needs_health_check(spec)) {
    if (number == 0) {
      errors.push_back(FieldError::required(path));
    } else {
      check_port(errors, path, number);
    }
    if (needs_health_check(old_spec) && number != old_spec["healthCheckNodePort"].as_int()) {
      errors.push_back(FieldError::forbidden(path, "field is immutable"));
    }
  } else if (number != 0) {
    errors.push_back(FieldError::invalid(
        path, number,
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"));
  }
  if (!spec["internalTrafficPolicy"].is_null()) {
    check_choice_always(errors, "spec.internalTrafficPolicy", spec["internalTrafficPolicy"],
                        {"Cluster", "Local"});
  }
  if (!spec["trafficDistribution"].is_null()) {
    check_choice_always(errors, "spec.trafficDistribution", spec["trafficDistribution"],
                        {"PreferClose", "PreferSameZone", "PreferSameNode"});
  }
}

// Whether its ports are open on every node.
bool needs_node_ports(const Value& spec) {
  return has_type(spec, "NodePort") ||
         (has_type(spec, "LoadBalancer") && spec["allocateLoadBalancerNodePorts"].as_bool(true));
}

bool adds_node_ports(const Value& spec, const Value& old_spec) {
  return std::ranges::any_of(spec["ports"].items(), [&](const Value& port) {
    const auto before = old_spec["ports"].items();
    return port["nodePort"].as_int() != 0 && std::ranges::none_of(before, [&](const Value& old) {
             return old["nodePort"] == port["nodePort"];
           });
  });
}

}  // namespace

bool is_accessible(const Value& spec) {
  return has_type(spec, "LoadBalancer") || has_type(spec, "NodePort") ||
         (has_type(spec, "ClusterIP") && !spec["externalIPs"].empty());
}

bool needs_health_check(const Value& spec) {
  return has_type(spec, "LoadBalancer") && spec["externalTrafficPolicy"].as_string() == "Local";
}

FieldErrors check_service(const Value& service, const Value& old_service) {
  FieldErrors errors;
  const Value& spec = service["spec"];
  const Value& old_spec = old_service["spec"];
  const Value& annotations = service["metadata"]["annotations"];
  if (const Value& mode = annotations[kTopologyMode]; mode.is_string() &&
                                                      annotations[kTopologyHints].is_string() &&
                                                      mode != annotations[kTopologyHints]) {
    errors.push_back(FieldError::invalid(
        fmt::format("metadata.annotations[{}]", kTopologyMode), mode,
        fmt::format("must match annotations[{}] when both are specified", kTopologyHints)));
  }
  const std::string_view type = spec["type"].as_string();
  if (spec["ports"].empty() && !is_headless(spec) && type != "ExternalName") {
    errors.push_back(FieldError::required("spec.ports"));
  }
  check_ports(errors, spec);
  check_choice(errors, "spec.type", spec["type"],
               {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"});
  check_affinity(errors, spec);
  check_labels(errors, "spec.selector", spec["selector"]);
  if (type == "ExternalName") {
    check_external_name(errors, spec);
  }
  if (is_one_of(type, {"NodePort", "LoadBalancer"}) && is_headless(spec)) {
    errors.push_back(
        FieldError::invalid("spec.clusterIPs[0]", "None",
                            fmt::format("may not be set to 'None' for {} services", type)));
  }
  check_external_ips(errors, spec, old_spec);
  check_source_ranges(errors, service, old_service);
  check_balancer(errors, spec, old_spec);
  check_traffic(errors, spec, old_spec);
  return errors;
}

void drop_old_type(Value& spec, const Value& old_spec) {
  const auto drop_same = [&](std::string_view field) {
    if (spec.contains(field) && spec[field] == old_spec[field]) {
      spec.erase(field);
    }
  };
  if (needs_node_ports(old_spec) && !needs_node_ports(spec) && !adds_node_ports(spec, old_spec)) {
    edit_items(spec, "ports", [](Value& port) {
      if (port.contains("nodePort")) {
        port.erase("nodePort");
      }
    });
  }
  if (needs_health_check(old_spec) && !needs_health_check(spec)) {
    drop_same("healthCheckNodePort");
  }
  if (has_type(old_spec, "LoadBalancer") && !has_type(spec, "LoadBalancer")) {
    drop_same("allocateLoadBalancerNodePorts");
    drop_same("loadBalancerClass");
  }
  if (is_accessible(old_spec) && !is_accessible(spec)) {
    drop_same("externalTrafficPolicy");
  }
}

}  // namespace athanor::apiserver
