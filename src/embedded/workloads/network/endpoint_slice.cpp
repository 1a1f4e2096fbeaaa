// SPDX-License-Identifier: Apache-2.0
// EndpointSlices: of services with a selector, and mirrors of Endpoints made by hand.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "api/builtin.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/network/endpoint_pods.hpp"
#include "embedded/workloads/network/endpoint_slices.hpp"
#include "embedded/workloads/network/endpoints.hpp"
#include "kube/text/json.hpp"

namespace athanor::workloads {
namespace {

constexpr const char* kSliceController = "endpointslice-controller.k8s.io";
constexpr const char* kMirror = "endpointslicemirroring-controller.k8s.io";
constexpr const char* kSkipMirrorLabel = "endpointslice.kubernetes.io/skip-mirror";
constexpr const char* kLeaderAnnotation = "control-plane.alpha.kubernetes.io/leader";
constexpr const char* kZoneLabel = "topology.kubernetes.io/zone";
constexpr std::size_t kMostMirrored = 1000;  // of one subset

std::string address_type(std::string_view ip) {
  return ip.find(':') == std::string_view::npos ? "IPv4" : "IPv6";
}

Value endpoint_of(const View& view, const Object& service, const Object& pod) {
  const bool serving = is_ready(pod);
  const bool ready =
      service.spec()["publishNotReadyAddresses"].as_bool() || (serving && !pod.deleting());
  Value endpoint = Value::object(
      {{"addresses", Value::list({pod.status()["podIP"]})},
       {"conditions",
        Value::object({{"ready", ready}, {"serving", serving}, {"terminating", pod.deleting()}})},
       {"targetRef", target_reference(pod)}});
  if (const std::string host = host_name(service, pod); !host.empty()) {
    endpoint.set("hostname", host);
  }
  const std::string node = pod.spec()["nodeName"].str();
  if (node.empty()) {
    return endpoint;
  }
  endpoint.set("nodeName", node);
  if (const auto object = view.get(api::kNode, {"", node});
      object && !object->label(kZoneLabel).empty()) {
    endpoint.set("zone", object->label(kZoneLabel));
  }
  return endpoint;
}

std::vector<SliceWish> wishes_of(const View& view, const Object& service,
                                 const std::vector<Object>& pods) {
  std::map<std::string, SliceWish> by_ports;
  for (const Object& pod : pods) {
    if (!may_serve(pod, true)) {
      continue;
    }
    const Value ports = ports_of(service, pod);
    const std::string type = address_type(pod.status()["podIP"].as_string());
    SliceWish& wish = by_ports[type + json::print(ports)];
    wish.address_type = type;
    wish.ports = ports;
    wish.endpoints.push_back(endpoint_of(view, service, pod));
  }
  std::vector<SliceWish> wishes;
  wishes.reserve(by_ports.size());
  for (auto& [ports, wish] : by_ports) {
    wishes.push_back(std::move(wish));
  }
  return wishes;
}

std::vector<Object> slices_of(const View& view, const Key& service, const char* manager) {
  return view.list(api::kEndpointSlice,
                   {.ns = service.ns,
                    .labels = {{kServiceNameLabel, service.name}, {kManagedByLabel, manager}}});
}

Value slice_labels(const Value& labels, const Key& service, const char* manager) {
  Value result = labels;
  result.erase(kHeadlessLabel);
  result.set(kServiceNameLabel, service.name);
  result.set(kManagedByLabel, manager);
  return result;
}

Plan reconcile_slices(const View& view, const Key& key, Instant /*now*/) {
  const auto service = view.get(api::kService, key);
  if (!service || service->deleting() || !has_selector(*service)) {
    return Plan::done();  // the slices go with their owner
  }
  const std::vector<Object> pods = selected_pods(view, *service);
  SliceSettings settings{
      .ns = key.ns,
      .name_prefix = key.name + "-",
      .name_seed = std::string(service->uid()),
      .labels = slice_labels(service->metadata()["labels"], key, kSliceController),
      .annotations = Value::object({{kLastChangeAnnotation, last_change(*service, pods)}}),
      .owner = controller_reference(*service, api::kService)};
  if (is_headless(*service)) {
    settings.labels.set(kHeadlessLabel, "");
  }
  return plan_slices(settings, slices_of(view, key, kSliceController),
                     wishes_of(view, *service, pods));
}

void mirror_addresses(const Value& addresses, const Value& ports, bool ready,
                      std::map<std::string, SliceWish>& wishes) {
  for (const Value& address : addresses.items()) {
    const std::string type = address_type(address["ip"].as_string());
    SliceWish& wish = wishes[type + json::print(ports)];
    wish.address_type = type;
    wish.ports = ports;
    if (wish.endpoints.size() >= kMostMirrored) {
      return;
    }
    Value endpoint = Value::object({{"addresses", Value::list({address["ip"]})},
                                    {"conditions", Value::object({{"ready", ready}})}});
    for (const char* part : {"hostname", "nodeName", "targetRef"}) {
      if (address.contains(part)) {
        endpoint.set(part, address[part]);
      }
    }
    wish.endpoints.push_back(std::move(endpoint));
  }
}

std::vector<SliceWish> mirrored(const Object& endpoints) {
  std::map<std::string, SliceWish> wishes;
  for (const Value& subset : endpoints.body()["subsets"].items()) {
    Value ports = Value::list();
    for (Value port : subset["ports"].items()) {
      if (!port.contains("name")) {
        port.set("name", "");
      }
      ports.push_back(std::move(port));
    }
    mirror_addresses(subset["addresses"], ports, true, wishes);
    mirror_addresses(subset["notReadyAddresses"], ports, false, wishes);
  }
  std::vector<SliceWish> result;
  result.reserve(wishes.size());
  for (auto& [ports, wish] : wishes) {
    result.push_back(std::move(wish));
  }
  return result;
}

bool is_mirrored(const Object& endpoints, const std::optional<Object>& service) {
  return service && service->spec()["selector"].empty() && !endpoints.deleting() &&
         endpoints.label(kSkipMirrorLabel) != "true" &&
         endpoints.annotation(kLeaderAnnotation).empty();
}

Plan reconcile_mirror(const View& view, const Key& key, Instant /*now*/) {
  const auto endpoints = view.get(api::kEndpoints, key);
  const auto service = view.get(api::kService, key);
  const std::vector<Object> present = slices_of(view, key, kMirror);
  if (!endpoints || !is_mirrored(*endpoints, service)) {
    return plan_slices({.ns = key.ns, .keeps_one_empty = false}, present, {});
  }
  Value annotations = endpoints->metadata()["annotations"];
  annotations.erase("kubectl.kubernetes.io/last-applied-configuration");
  return plan_slices({.ns = key.ns,
                      .name_prefix = key.name + "-",
                      .name_seed = std::string(endpoints->uid()),
                      .labels = slice_labels(endpoints->metadata()["labels"], key, kMirror),
                      .annotations = annotations,
                      .owner = controller_reference(*endpoints, api::kEndpoints),
                      .most = kMostMirrored,
                      .keeps_one_empty = false},
                     present, mirrored(*endpoints));
}

}  // namespace

const Operator& endpoint_slice_operator() {
  static const Kind* const kReads[] = {&api::kService, &api::kPod, &api::kNode,
                                       &api::kEndpointSlice};
  static const Kind* const kWrites[] = {&api::kEndpointSlice};
  static const Operator kOperator{.name = "endpointslice-controller",
                                  .primary = &api::kService,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_slices};
  return kOperator;
}

const Operator& endpoint_slice_mirroring_operator() {
  static const Kind* const kReads[] = {&api::kService, &api::kEndpoints, &api::kEndpointSlice};
  static const Kind* const kWrites[] = {&api::kEndpointSlice};
  static const Operator kOperator{.name = "endpointslice-mirroring-controller",
                                  .primary = &api::kEndpoints,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_mirror};
  return kOperator;
}

}  // namespace athanor::workloads
