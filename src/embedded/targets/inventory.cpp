// SPDX-License-Identifier: Apache-2.0
#include "embedded/targets/inventory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "kube/text/json.hpp"

namespace athanor::targets {
namespace {

// Placeholder for the name of a node while its group is printed; no name, label or quantity has it.
constexpr std::string_view kName = "@NAME@";
constexpr std::string_view kAge = "@AGE@";
constexpr const char* kBirth = "2026-01-01T00:00:00Z";

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> pieces;
  std::size_t start = 0;
  for (std::size_t found = text.find(kName); found != std::string::npos;
       found = text.find(kName, start)) {
    pieces.push_back(text.substr(start, found - start));
    start = found + kName.size();
  }
  pieces.push_back(text.substr(start));
  return pieces;
}

Value labels_of(const NodeGroup& group) {
  Value labels = Value::object({{"kubernetes.io/hostname", kName},
                                {"kubernetes.io/os", "linux"},
                                {"kubernetes.io/arch", "amd64"}});
  if (!group.model.empty()) {
    labels.set(group.vendor + ".com/gpu.product", group.model);
  }
  for (const auto& [key, value] : group.labels) {
    labels.set(key, value);
  }
  return labels;
}

Value allocatable_of(const NodeGroup& group) {
  Value allocatable = Value::object({{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}});
  if (group.gpus > 0) {
    allocatable.set(group.vendor + ".com/gpu", fmt::format("{}", group.gpus));
  }
  for (const auto& [key, value] : group.allocatable) {
    allocatable.set(key, value);
  }
  return allocatable;
}

Value metadata_of(const Value& labels) {
  return Value::object({{"name", kName},
                        {"uid", fmt::format("node-{}", kName)},
                        {"resourceVersion", "1"},
                        {"creationTimestamp", kBirth},
                        {"labels", labels}});
}

Value node_of(const Target& target, const NodeGroup& group, const Value& labels) {
  const Value allocatable = allocatable_of(group);
  Value spec = Value::object();
  if (!group.schedulable) {
    spec.set("unschedulable", true);
  }
  const Value ready = Value::object({{"type", "Ready"},
                                     {"status", group.ready ? "True" : "False"},
                                     {"reason", group.ready ? "KubeletReady" : "KubeletNotReady"},
                                     {"lastTransitionTime", kBirth}});
  return Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Node"},
       {"metadata", metadata_of(labels)},
       {"spec", spec},
       {"status", Value::object({{"capacity", allocatable},
                                 {"allocatable", allocatable},
                                 {"conditions", Value::list({ready})},
                                 {"addresses", Value::list({Value::object(
                                                   {{"type", "Hostname"}, {"address", kName}})})},
                                 {"nodeInfo", Value::object({{"kubeletVersion", target.version},
                                                             {"operatingSystem", "linux"},
                                                             {"architecture", "amd64"}})}})}});
}

Value row_of(const Target& target, const NodeGroup& group, const Value& labels) {
  std::string status = group.ready ? "Ready" : "NotReady";
  if (!group.schedulable) {
    status += ",SchedulingDisabled";
  }
  return Value::object({{"cells", Value::list({kName, status, "<none>", kAge, target.version})},
                        {"object", Value::object({{"apiVersion", "meta.k8s.io/v1"},
                                                  {"kind", "PartialObjectMetadata"},
                                                  {"metadata", metadata_of(labels)}})}});
}

}  // namespace

Inventory::Inventory(const Target& target) {
  for (const NodeGroup& spec : target.nodes) {
    if (spec.count <= 0) {
      continue;
    }
    Group group;
    group.name = spec.name;
    group.first = size_;
    group.count = static_cast<std::size_t>(spec.count);
    group.labels = labels_of(spec);
    group.node = split(json::print(node_of(target, spec, group.labels)));
    group.row = split(json::print(row_of(target, spec, group.labels)));
    size_ += group.count;
    groups_.push_back(std::move(group));
  }
}

const Inventory::Group& Inventory::group_of(std::size_t index) const {
  const auto after = std::ranges::upper_bound(groups_, index, {}, &Group::first);
  return *(after - 1);
}

std::string Inventory::name(std::size_t index) const {
  const Group& group = group_of(index);
  return group.count == 1 ? group.name : fmt::format("{}-{}", group.name, index - group.first + 1);
}

std::optional<std::size_t> Inventory::find(std::string_view name) const {
  for (const Group& group : groups_) {
    if (group.count == 1) {
      if (name == group.name) {
        return group.first;
      }
      continue;
    }
    if (!name.starts_with(group.name + "-")) {
      continue;
    }
    const std::string_view number = name.substr(group.name.size() + 1);
    std::size_t place = 0;
    const auto [end, failure] =
        std::from_chars(number.data(), number.data() + number.size(), place);
    if (failure == std::errc() && end == number.data() + number.size() && place >= 1 &&
        place <= group.count) {
      return group.first + place - 1;
    }
  }
  return std::nullopt;
}

Value Inventory::labels(std::size_t index) const {
  Value labels = group_of(index).labels;
  labels.set("kubernetes.io/hostname", name(index));
  return labels;
}

void Inventory::join(const std::vector<std::string>& pieces, std::string_view name,
                     std::string& out) {
  out += pieces.front();
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    out += name;
    out += pieces[i];
  }
}

void Inventory::print(std::size_t index, std::string& out) const {
  join(group_of(index).node, name(index), out);
}

void Inventory::print_row(std::size_t index, Instant now, std::string& out) const {
  std::string row;
  join(group_of(index).row, name(index), row);
  row.replace(row.find(kAge), kAge.size(), format_age(now - parse_time(kBirth).value_or(now)));
  out += row;
}

}  // namespace athanor::targets
