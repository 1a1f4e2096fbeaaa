// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/emulated_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "embedded/nodes/nodes.hpp"
#include "kube/text/json.hpp"

namespace athanor::nodes {
namespace {

constexpr std::string_view kLabPrefix = "athanor.dev/";
// Taints that follow from the state of a node.
constexpr std::string_view kStatePrefix = "node.kubernetes.io/";

Value map_value(const std::map<std::string, std::string>& map) {
  Value object = Value::object();
  for (const auto& [key, value] : map) {
    object.set(key, value);
  }
  return object;
}

Value failed_patch(Value mark) {
  Value patch = Value::object();
  patch.set_path({"metadata", "annotations", kFailedAnnotation}, std::move(mark));
  return patch;
}

}  // namespace

Value node_object(const NewNode& node) {
  Value object = Value::object(
      {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", Value::object({{"name", node.name}})}});
  Value labels =
      map_value({{kHostnameLabel, node.name}, {kOsLabel, "linux"}, {kArchLabel, "amd64"}});
  for (const auto& [label, value] : node.labels) {
    labels.set(label, value);
  }
  labels.set(kEmulatedLabel, "true");
  object.set_path({"metadata", "labels"}, labels);
  object.set("spec", Value::object());
  if (!node.taints.empty()) {
    object.member("spec").set("taints", node.taints);
  }
  // The kubelet reports capacity; the wish travels as an annotation that it reads.
  Value annotations = map_value(node.annotations);
  annotations.set(kCapacityAnnotation, json::print(map_value(node.capacity)));
  object.set_path({"metadata", "annotations"}, annotations);
  return object;
}

Result<NewNode> node_like(const Object& model, std::string name) {
  if (model.label(kEmulatedLabel) != "true") {
    return Error::bad_request(fmt::format("node {} is not emulated", model.name()));
  }
  NewNode node{.name = std::move(name), .taints = Value::list()};
  for (const Member& label : model.metadata()["labels"].members()) {
    if (label.key() != kHostnameLabel) {
      node.labels.emplace(label.key(), label.value.str());
    }
  }
  for (const Member& annotation : model.metadata()["annotations"].members()) {
    const std::string_view key = annotation.key();
    if (key.starts_with(kLabPrefix) && key != kCapacityAnnotation && key != kReportedAnnotation &&
        key != kFailedAnnotation) {
      node.annotations.emplace(key, annotation.value.str());
    }
  }
  const auto capacity = json::parse(model.annotation(kCapacityAnnotation));
  if (capacity.ok()) {
    for (const Member& amount : capacity->members()) {
      node.capacity.emplace(amount.key(), amount.value.str());
    }
  }
  for (const Value& taint : model.spec()["taints"].items()) {
    if (!taint["key"].as_string().starts_with(kStatePrefix)) {
      node.taints.push_back(taint);
    }
  }
  return node;
}

bool has_failed(const Object& node) {
  return node.annotation(kFailedAnnotation) == "true";
}

Value fail_patch() {
  return failed_patch("true");
}

Value recover_patch() {
  return failed_patch(Value());
}

}  // namespace athanor::nodes
