// SPDX-License-Identifier: Apache-2.0
// Nodes and pods as rows.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "api/builtin.hpp"
#include "base/saturate.hpp"
#include "console/data/accelerator_rows.hpp"
#include "console/data/row_texts.hpp"
#include "embedded/nodes/emulated_node.hpp"
#include "embedded/nodes/nodes.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/condition.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/scheduling/topology.hpp"
#include "views/job_labels.hpp"

namespace athanor::console {
namespace {

constexpr std::string_view kRolePrefix = "node-role.kubernetes.io/";
constexpr std::string_view kGpuProduct = "nvidia.com/gpu.product";
constexpr std::string_view kSharedSuffix = ".shared";

bool is_gpu(std::string_view resource) {
  return resource.starts_with("nvidia.com/") || resource.starts_with("amd.com/gpu") ||
         resource.starts_with("gpu.intel.com/") || resource.starts_with("mig.das.com/");
}

std::int64_t count_of_amount(const Value& value) {
  const auto quantity = Quantity::parse(value);
  return quantity ? quantity->value() : 0;
}

// GPUs that the pods of one node request, and the number of pods.
struct NodeLoad {
  std::int64_t pods = 0;
  std::map<std::string, std::int64_t, std::less<>> gpus{};
};

std::map<std::string, NodeLoad, std::less<>> loads_of(const Facts& facts) {
  std::map<std::string, NodeLoad, std::less<>> loads;
  for (const Object& pod : facts.all(api::kPod)) {
    const std::string_view phase = pod.status()["phase"].as_string();
    const std::string node = pod.spec()["nodeName"].str();
    if (node.empty() || phase == "Succeeded" || phase == "Failed") {
      continue;
    }
    NodeLoad& load = loads[node];
    ++load.pods;
    for (const Value& container : pod.spec()["containers"].items()) {
      for (const Member& limit : container["resources"]["limits"].members()) {
        if (is_gpu(limit.key())) {
          std::int64_t& count = load.gpus[std::string(limit.key())];
          count = saturating_add(count, count_of_amount(limit.value));
        }
      }
    }
  }
  return loads;
}

std::string state_of_node(const Object& node) {
  const bool ready = condition_is(node.status()["conditions"], "Ready", "True");
  if (!ready) {
    return "NotReady";
  }
  return node.spec()["unschedulable"].as_bool() ? "SchedulingDisabled" : "Ready";
}

void add_gpus(Value& row, const Object& node, const NodeLoad& load) {
  Value list = Value::list();
  std::string text;
  const std::string_view product = node.label(kGpuProduct);
  for (const Member& amount : node.status()["allocatable"].members()) {
    const std::int64_t total = count_of_amount(amount.value);
    if (!is_gpu(amount.key()) || total <= 0) {
      continue;
    }
    const auto found = load.gpus.find(amount.key());
    const std::int64_t used = found == load.gpus.end() ? 0 : found->second;
    const bool whole = amount.key().ends_with("/gpu");
    const std::string type(whole && !product.empty() ? product : amount.key());
    list.push_back(Value::object(
        {{"resource", amount.key()},
         {"type", type},
         {"used", used},
         {"total", total},
         {"shared", amount.key().ends_with(kSharedSuffix) || product.ends_with("-SHARED")}}));
    text += fmt::format("{}{}/{} {}", text.empty() ? "" : ", ", used, total, type);
  }
  set_text(row, "gpus", text);
  row.set("gpuList", std::move(list));
}

Value container_value(const Value& status, bool init) {
  Value one = Value::object({{"name", status["name"]},
                             {"init", init},
                             {"ready", status["ready"].as_bool()},
                             {"restarts", status["restartCount"].as_int()}});
  for (const char* state : {"running", "waiting", "terminated"}) {
    const Value& details = status["state"][state];
    if (!details.is_object()) {
      continue;
    }
    one.set("state", state);
    set_text(one, "reason", details["reason"].as_string());
    set_text(one, "message", details["message"].as_string());
    set_text(one, "started", details["startedAt"].as_string());
    set_text(one, "finished", details["finishedAt"].as_string());
    if (details.contains("exitCode")) {
      one.set("exitCode", details["exitCode"]);
    }
    one.set("logs",
            std::string_view(state) != "waiting" || status["lastState"]["terminated"].is_object());
  }
  return one;
}

}  // namespace

const ListShape& node_shape() {
  using enum ColumnType;
  static const ListShape kShape{.name = "nodes",
                                .state = "state",
                                .columns = {{"name", Text},
                                            {"uid", Text},
                                            {"resourceVersion", Text},
                                            {"state", Text},
                                            {"roles", List},
                                            {"gpus", Text},
                                            {"gpuList", Object},
                                            {"gpuList.type", List},
                                            {"numaPolicy", Text},
                                            {"pods", Number},
                                            {"pressure", List},
                                            {"taints", List},
                                            {"emulated", Flag},
                                            {"failed", Flag},
                                            {"labels", Object},
                                            {"created", Time}},
                                .words = {{"role", "roles"},
                                          {"phase", "state"},
                                          {"gpu", "gpuList.type"},
                                          {"policy", "numaPolicy"}}};
  return kShape;
}

std::vector<Value> node_rows(const Facts& facts) {
  const auto loads = loads_of(facts);
  std::vector<Value> rows;
  for (const Object& node : facts.all(api::kNode)) {
    Value row = row_of(node);
    row.set("state", state_of_node(node));
    Value roles = Value::list();
    for (const Member& label : node.metadata()["labels"].members()) {
      if (label.key().starts_with(kRolePrefix)) {
        roles.push_back(label.key().substr(kRolePrefix.size()));
      }
    }
    row.set("roles", std::move(roles));
    const auto load = loads.find(node.name());
    add_gpus(row, node, load == loads.end() ? NodeLoad() : load->second);
    row.set("pods", load == loads.end() ? 0 : load->second.pods);
    if (const auto* topology = facts.find(numa::kTopologyKind, {"", std::string(node.name())})) {
      row.set("numaPolicy", numa::read_topology(topology->body()).policy);
    }
    Value pressure = Value::list();
    for (const Value& condition : node.status()["conditions"].items()) {
      const std::string_view type = condition["type"].as_string();
      constexpr std::string_view kPressure = "Pressure";
      if (type.ends_with(kPressure) && condition["status"].as_string() == "True") {
        pressure.push_back(type.substr(0, type.size() - kPressure.size()));
      }
    }
    row.set("pressure", std::move(pressure));
    Value taints = Value::list();
    for (const Value& taint : node.spec()["taints"].items()) {
      const std::string_view value = taint["value"].as_string();
      taints.push_back(fmt::format("{}{}{}:{}", taint["key"].as_string(), value.empty() ? "" : "=",
                                   value, taint["effect"].as_string()));
    }
    row.set("taints", std::move(taints));
    const bool emulated = node.label(nodes::kEmulatedLabel) == "true";
    row.set("emulated", emulated);
    row.set("failed", emulated && nodes::has_failed(node));
    row.set("labels", node.metadata()["labels"]);
    rows.push_back(std::move(row));
  }
  return rows;
}

Value pod_value(const Object& pod) {
  Value one = row_of(pod);
  one.set("phase", pod.deleting() ? Value("Terminating") : pod.status()["phase"]);
  set_text(one, "reason", pod.status()["reason"].as_string());
  set_text(one, "node", pod.spec()["nodeName"].as_string());
  set_text(one, "task", pod.label(views::kPipelineTaskLabel));
  Value resources = Value::object();
  Value slices = Value::list();
  for (const Value& container : pod.spec()["containers"].items()) {
    for (const Member& limit : container["resources"]["limits"].members()) {
      resources.set(limit.key(), limit.value);
      constexpr std::string_view kMig = "mig.das.com/";
      if (limit.key().starts_with(kMig)) {
        slices.push_back(limit.key().substr(kMig.size()));
      }
    }
  }
  one.set("resources", std::move(resources));
  one.set("mig", std::move(slices));
  Value containers = Value::list();
  for (const Value& status : pod.status()["initContainerStatuses"].items()) {
    containers.push_back(container_value(status, true));
  }
  for (const Value& status : pod.status()["containerStatuses"].items()) {
    containers.push_back(container_value(status, false));
  }
  if (containers.empty()) {
    for (const Value& container : pod.spec()["containers"].items()) {
      containers.push_back(Value::object({{"name", container["name"]},
                                          {"init", false},
                                          {"state", "waiting"},
                                          {"ready", false},
                                          {"restarts", 0},
                                          {"logs", false}}));
    }
  }
  one.set("containers", std::move(containers));
  return one;
}

}  // namespace athanor::console
