// SPDX-License-Identifier: Apache-2.0
#include "embedded/workloads/network/endpoint_pods.hpp"

#include <algorithm>
#include <optional>

#include "api/builtin.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "kube/value/condition.hpp"

namespace athanor::workloads {
namespace {

// The number a service port leads to in a pod.
std::optional<std::int64_t> target_port(const Value& port, const Object& pod) {
  const Value& target = port["targetPort"];
  if (target.is_null()) {
    return port["port"].as_int();
  }
  if (!target.is_string()) {
    return target.as_int();
  }
  for (const char* list : {"containers", "initContainers"}) {
    for (const Value& container : pod.spec()[list].items()) {
      for (const Value& one : container["ports"].items()) {
        const std::string_view protocol = one["protocol"].as_string();
        if (one["name"].as_string() == target.as_string() &&
            (protocol.empty() || protocol == port["protocol"].as_string())) {
          return one["containerPort"].as_int();
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

bool has_selector(const Object& service) {
  return !service.spec()["selector"].empty() &&
         service.spec()["type"].as_string() != "ExternalName";
}

bool is_headless(const Object& service) {
  return service.spec()["clusterIP"].as_string() == "None";
}

std::vector<Object> selected_pods(const View& view, const Object& service) {
  Select select{.ns = std::string(service.ns())};
  for (const Member& label : service.spec()["selector"].members()) {
    select.labels.emplace_back(label.key(), label.value.str());
  }
  return view.list(api::kPod, select);
}

bool may_serve(const Object& pod, bool terminating) {
  return !is_over(pod) && !pod.status()["podIP"].as_string().empty() &&
         (terminating || !pod.deleting());
}

Value ports_of(const Object& service, const Object& pod) {
  Value ports = Value::list();
  for (const Value& port : service.spec()["ports"].items()) {
    const auto number = target_port(port, pod);
    if (!number) {
      continue;
    }
    Value entry = Value::object(
        {{"name", port["name"].str()},
         {"protocol", port["protocol"].as_string().empty() ? Value("TCP") : port["protocol"]},
         {"port", *number}});
    if (port.contains("appProtocol")) {
      entry.set("appProtocol", port["appProtocol"]);
    }
    ports.push_back(std::move(entry));
  }
  return ports;
}

std::string host_name(const Object& service, const Object& pod) {
  return pod.spec()["subdomain"].as_string() == service.name() ? pod.spec()["hostname"].str()
                                                               : std::string{};
}

Value target_reference(const Object& pod) {
  return Value::object(
      {{"kind", "Pod"}, {"namespace", pod.ns()}, {"name", pod.name()}, {"uid", pod.uid()}});
}

std::string last_change(const Object& service, const std::vector<Object>& pods) {
  Instant latest = service.creation_time().value_or(Instant{});
  for (const Object& pod : pods) {
    const Value& ready = find_condition(pod.status()["conditions"], "Ready");
    if (const auto when = parse_time(ready["lastTransitionTime"].as_string())) {
      latest = std::max(latest, *when);
    }
  }
  return format_time(latest);
}

}  // namespace athanor::workloads
