// SPDX-License-Identifier: Apache-2.0
// v1 Endpoints.
#include "embedded/workloads/network/endpoints.hpp"

#include <algorithm>
#include <map>

#include "api/builtin.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/network/endpoint_pods.hpp"
#include "kube/text/json.hpp"

namespace athanor::workloads {
namespace {

constexpr std::size_t kMostAddresses = 1000;  // of one Endpoints object
constexpr const char* kOverCapacity = "endpoints.kubernetes.io/over-capacity";
constexpr const char* kManagedBy = "endpoints.kubernetes.io/managed-by";
constexpr const char* kController = "endpoint-controller";

Value address_of(const Object& service, const Object& pod) {
  Value address = Value::object({{"ip", pod.status()["podIP"]}});
  if (const std::string host = host_name(service, pod); !host.empty()) {
    address.set("hostname", host);
  }
  if (const Value& node = pod.spec()["nodeName"]; !node.as_string().empty()) {
    address.set("nodeName", node);
  }
  address.set("targetRef", target_reference(pod));
  return address;
}

// v1 ports: an unnamed one has no name at all.
Value endpoint_ports(const Object& service, const Object& pod) {
  Value ports = Value::list();
  const Value all = ports_of(service, pod);
  for (const Value& port : all.items()) {
    Value entry = port;
    if (entry["name"].as_string().empty()) {
      entry.erase("name");
    }
    ports.push_back(std::move(entry));
  }
  return ports;
}

struct Subset {
  Value ports{};
  std::vector<Value> ready{};
  std::vector<Value> not_ready{};
};

Value list_of(std::vector<Value> addresses) {
  std::ranges::stable_sort(addresses, [](const Value& a, const Value& b) {
    return a["ip"].as_string() < b["ip"].as_string();
  });
  return Value::list(std::move(addresses));
}

// Pods that offer the same ports share a subset.
Value subsets_of(const Object& service, const std::vector<Object>& pods, bool& truncated) {
  const bool publish_all = service.spec()["publishNotReadyAddresses"].as_bool();
  std::map<std::string, Subset> by_ports;
  std::size_t count = 0;
  for (const Object& pod : pods) {
    if (!may_serve(pod, publish_all)) {
      continue;
    }
    Value ports = endpoint_ports(service, pod);
    if (ports.empty() && !service.spec()["ports"].empty()) {
      continue;
    }
    if (++count > kMostAddresses) {
      truncated = true;
      break;
    }
    Subset& subset = by_ports[json::print(ports)];
    subset.ports = std::move(ports);
    const bool ready = publish_all || is_ready(pod);
    (ready ? subset.ready : subset.not_ready).push_back(address_of(service, pod));
  }
  Value subsets = Value::list();
  for (auto& [text, subset] : by_ports) {
    Value entry = Value::object();
    if (!subset.ready.empty()) {
      entry.set("addresses", list_of(std::move(subset.ready)));
    }
    if (!subset.not_ready.empty()) {
      entry.set("notReadyAddresses", list_of(std::move(subset.not_ready)));
    }
    if (!subset.ports.empty()) {
      entry.set("ports", subset.ports);
    }
    subsets.push_back(std::move(entry));
  }
  return subsets;
}

Value metadata_of(const Object& service, const std::string& change, bool truncated) {
  Value labels = service.metadata()["labels"];
  labels.set(kManagedBy, kController);
  if (is_headless(service)) {
    labels.set(kHeadlessLabel, "");
  } else {
    labels.erase(kHeadlessLabel);
  }
  Value annotations = Value::object({{kLastChangeAnnotation, change}});
  if (truncated) {
    annotations.set(kOverCapacity, "truncated");
  }
  return Value::object({{"name", service.name()},
                        {"namespace", service.ns()},
                        {"labels", labels},
                        {"annotations", annotations}});
}

bool is_same(const Object& endpoints, const Value& subsets, const Value& labels, bool truncated) {
  const Value& present = endpoints.body()["subsets"];
  const bool same = present == subsets || (present.empty() && subsets.empty());
  return same && endpoints.metadata()["labels"] == labels &&
         endpoints.annotation(kOverCapacity).empty() != truncated;
}

Plan reconcile_endpoints(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  const auto service = view.get(api::kService, key);
  const auto endpoints = view.get(api::kEndpoints, key);
  const Ref target{&api::kEndpoints, key};
  if (!service) {
    if (endpoints && endpoints->label(kManagedBy) == kController) {
      plan.then(Delete{.target = target, .guard = {.uid = std::string(endpoints->uid())}});
    }
    return plan;
  }
  if (!has_selector(*service) || service->deleting()) {
    return plan;
  }
  const std::vector<Object> pods = selected_pods(view, *service);
  bool truncated = false;
  const Value subsets = subsets_of(*service, pods, truncated);
  Value metadata = metadata_of(*service, last_change(*service, pods), truncated);
  if (endpoints && is_same(*endpoints, subsets, metadata["labels"], truncated)) {
    return plan;
  }
  Value object = Value::object({{"apiVersion", "v1"}, {"kind", "Endpoints"}});
  if (!subsets.empty()) {
    object.set("subsets", subsets);
  }
  if (!endpoints) {
    object.set("metadata", metadata);
    plan.then(Create{.target = target, .object = std::move(object)});
    return plan;
  }
  Value merged = endpoints->metadata();
  merged.set("labels", metadata["labels"]);
  Value annotations = merged["annotations"];
  annotations.set(kLastChangeAnnotation, metadata["annotations"][kLastChangeAnnotation]);
  annotations.erase(kOverCapacity);
  if (truncated) {
    annotations.set(kOverCapacity, "truncated");
  }
  merged.set("annotations", annotations);
  object.set("metadata", merged);
  plan.then(Replace{.target = target, .object = std::move(object)});
  return plan;
}

}  // namespace

const Operator& endpoints_operator() {
  static const Kind* const kReads[] = {&api::kService, &api::kPod, &api::kEndpoints};
  static const Kind* const kWrites[] = {&api::kEndpoints};
  static const Operator kOperator{.name = "endpoints-controller",
                                  .primary = &api::kService,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_endpoints,
                                  .user = "system:serviceaccount:kube-system:endpoint-controller"};
  return kOperator;
}

}  // namespace athanor::workloads
