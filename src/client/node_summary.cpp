// SPDX-License-Identifier: Apache-2.0
// What Hearth wants to know of nodes, like ones taken together.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "client/target_probe.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"

namespace athanor::client {
namespace {

constexpr std::size_t kMostNames = 64;  // of like nodes
constexpr std::string_view kLabels[] = {"nvidia.com/gpu.product", "nvidia.com/gpu.replicas",
                                        "amd.com/gpu.product", "amd.com/gpu.product-name",
                                        "beta.amd.com/gpu.product-name"};

bool is_gpu(std::string_view resource) {
  return resource == "nvidia.com/gpu" || resource == "amd.com/gpu" ||
         resource.starts_with("nvidia.com/mig-");
}

// A text from the cluster's answer, cut so that it does not inflate ours.
Value bounded(const Value& value) {
  constexpr std::size_t kMost = 256;
  return value.is_string() ? Value(value.as_string().substr(0, kMost)) : value;
}

}  // namespace

struct NodeSummary::Groups {
  struct Group {
    Value like{};
    Value names = Value::list();
    std::int64_t count = 0;
  };
  std::map<std::string, Group> by_text{};
  std::int64_t nodes = 0;
};

void NodeSummary::add(const Value& node) {
  if (!groups_) {
    groups_ = std::make_shared<Groups>();
  }
  ++groups_->nodes;
  Value allocatable = Value::object();
  const Value& given = node["status"]["allocatable"];
  for (const Member& entry : given.members()) {
    if (is_gpu(entry.key())) {
      allocatable.set(entry.key(), bounded(entry.value));
    }
  }
  if (allocatable.empty()) {
    return;
  }
  Value labels = Value::object();
  for (const std::string_view label : kLabels) {
    if (const Value& value = node["metadata"]["labels"][label]; value.is_string()) {
      labels.set(label, bounded(value));
    }
  }
  const Value like =
      Value::object({{"labels", std::move(labels)},
                     {"allocatable", std::move(allocatable)},
                     {"ready", condition_is(node["status"]["conditions"], "Ready", "True")},
                     {"schedulable", !node["spec"]["unschedulable"].as_bool()}});
  Groups::Group& group = groups_->by_text[json::print(like)];
  group.like = like;
  ++group.count;
  if (group.names.size() < kMostNames) {
    group.names.push_back(bounded(node["metadata"]["name"]));
  }
}

Value NodeSummary::value() const {
  Value nodes = Value::list();
  if (groups_) {
    for (const auto& [text, group] : groups_->by_text) {
      Value entry = group.like;
      entry.set("names", group.names);
      entry.set("count", group.count);
      nodes.push_back(std::move(entry));
    }
  }
  return Value::object(
      {{"nodeCount", groups_ ? groups_->nodes : std::int64_t{0}}, {"nodes", std::move(nodes)}});
}

}  // namespace athanor::client
