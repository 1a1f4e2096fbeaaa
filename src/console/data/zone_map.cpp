// SPDX-License-Identifier: Apache-2.0
// NUMA zones by node: what `athanor numa` shows, with problems.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "api/builtin.hpp"
#include "console/data/accelerator_rows.hpp"
#include "console/data/row_texts.hpp"
#include "kube/text/quantity.hpp"
#include "runtime/view/view.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/scheduling/pod_request.hpp"
#include "systems/numa/scheduling/session.hpp"
#include "systems/numa/scheduling/topology.hpp"

namespace athanor::console {
namespace {

constexpr std::int64_t kFullPercent = 90;
constexpr std::string_view kUpdateInterval = "k8stopoawareschedwg/update-interval";

bool is_bytes(std::string_view resource) {
  return resource == "memory" || resource == "ephemeral-storage" ||
         resource.starts_with("hugepages-");
}

double units_of(std::int64_t milli) {
  return static_cast<double>(milli) / static_cast<double>(numa::kUnit);
}

std::string amount_text(std::string_view resource, std::int64_t milli) {
  return Quantity::from_milli(
             milli, is_bytes(resource) ? Quantity::Format::BinarySI : Quantity::Format::DecimalSI)
      .text();
}

Value problem_of(const std::string& object, const std::string& text) {
  return Value::object({{"object", object}, {"text", text}});
}

Value resource_value(const std::string& name, const numa::Zone& zone, const std::string& where,
                     Value& problems) {
  const std::int64_t available = numa::amount_of(zone.available, name);
  const std::int64_t allocatable = numa::amount_of(zone.allocatable, name);
  const std::int64_t capacity = std::max(numa::amount_of(zone.capacity, name), allocatable);
  const std::int64_t used = std::max<std::int64_t>(allocatable - available, 0);
  if (available > allocatable) {
    problems.push_back(problem_of(where, fmt::format("{}: more available than allocatable", name)));
  } else if (allocatable > 0 && used > allocatable / 100 * kFullPercent) {
    problems.push_back(
        problem_of(where, fmt::format("{}: {} of {} in use", name, amount_text(name, used),
                                      amount_text(name, allocatable))));
  }
  return Value::object({{"name", name},
                        {"unit", name == "cpu"    ? "cores"
                                 : is_bytes(name) ? "bytes"
                                                  : "count"},
                        {"capacity", units_of(capacity)},
                        {"allocatable", units_of(allocatable)},
                        {"available", units_of(available)},
                        {"used", units_of(used)},
                        {"reserved", units_of(capacity - allocatable)},
                        {"text", fmt::format("{} of {} free", amount_text(name, available),
                                             amount_text(name, allocatable))}});
}

Value zone_value(const numa::Zone& zone, const std::string& node, Value& problems) {
  const std::string name = fmt::format("node-{}", zone.id);
  Value resources = Value::list();
  for (const auto& [resource, amount] : zone.available) {
    resources.push_back(
        resource_value(resource, zone, fmt::format("Node/{} {}", node, name), problems));
  }
  Value distances = Value::list();
  for (const auto& [other, cost] : zone.costs) {
    distances.push_back(Value::object({{"zone", fmt::format("node-{}", other)}, {"value", cost}}));
  }
  return Value::object({{"name", name},
                        {"id", zone.id},
                        {"resources", std::move(resources)},
                        {"distances", std::move(distances)}});
}

// When it was last written, as far as its managers' fields tell.
std::optional<Instant> updated_at(const Object& topology) {
  auto last = topology.creation_time();
  for (const Value& entry : topology.metadata()["managedFields"].items()) {
    const auto time = parse_time(entry["time"].as_string());
    if (time && (!last || *time > *last)) {
      last = time;
    }
  }
  return last;
}

std::string requests_text(const numa::PodRequest& request) {
  std::string text;
  for (const auto& [resource, amount] : request.effective) {
    text +=
        fmt::format("{}{}={}", text.empty() ? "" : ",", resource, amount_text(resource, amount));
  }
  return text;
}

// The facts as the scheduler of zones reads them.
class ZoneSnapshot final : public Snapshot {
 public:
  explicit ZoneSnapshot(const Facts& facts) : facts_(facts) {}
  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const override {
    const Object* found = facts_.find(kind, key);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  [[nodiscard]] std::vector<Object> list(const Kind& kind, const Select& select) const override {
    std::vector<Object> found;
    std::ranges::copy_if(facts_.all(kind), std::back_inserter(found), [&](const Object& object) {
      return (select.ns.empty() || object.ns() == select.ns) &&
             (select.index != "node" ||
              object.spec()["nodeName"].as_string() == select.index_value);
    });
    return found;
  }
  [[nodiscard]] Observed observe(std::string_view /*query*/, Duration /*max_age*/) const override {
    return {};
  }
  [[nodiscard]] const Value& config(std::string_view /*section*/) const override {
    static const Value kNone;
    return kNone;
  }

 private:
  const Facts& facts_;
};

// Guaranteed pods by node.
std::map<std::string, Value, std::less<>> pods_by_node(const Facts& facts) {
  std::map<std::string, std::map<Key, std::string>, std::less<>> zones;
  std::map<std::string, Value, std::less<>> all;
  for (const Object& pod : facts.all(api::kPod)) {
    const std::string node = pod.spec()["nodeName"].str();
    const std::string_view phase = pod.status()["phase"].as_string();
    if (node.empty() || phase == "Succeeded" || phase == "Failed") {
      continue;
    }
    const numa::PodRequest request = numa::request_of(pod);
    if (request.guaranteed) {
      if (!zones.contains(node)) {
        zones.emplace(node, zones_of_pods(facts, node));
      }
      const auto zone = zones[node].find(pod.key());
      all[node].push_back(
          Value::object({{"ns", pod.ns()},
                         {"name", pod.name()},
                         {"requests", requests_text(request)},
                         {"zone", zone == zones[node].end() ? "unknown" : zone->second}}));
    }
  }
  return all;
}

}  // namespace

std::map<Key, std::string> zones_of_pods(const Facts& facts, std::string_view node) {
  std::map<Key, std::string> zones;
  const Object* object = facts.find(api::kNode, {"", std::string(node)});
  if (object == nullptr) {
    return zones;
  }
  const ZoneSnapshot snapshot(facts);
  Reads reads;
  std::map<Key, std::set<int>> placed;
  for (const auto& [container, zone] : numa::placement_on(View(snapshot, reads), *object)) {
    placed[{container.ns, container.pod}].insert(zone);
  }
  for (const auto& [pod, ids] : placed) {
    std::string& text = zones[pod];
    for (const int id : ids) {
      text += fmt::format("{}node-{}", text.empty() ? "" : ", ", id);
    }
  }
  return zones;
}

namespace {

// The pools of a node, as node groups select them: labels of its roles and of its node pool.
std::set<std::string> pools_of_node(const Object& node) {
  std::set<std::string> pools;
  for (const Member& label : node.metadata()["labels"].members()) {
    const std::string_view key = label.key();
    if (key.starts_with("node-role.kubernetes.io/")) {
      pools.emplace(key);
    } else if (key == "hypershift.openshift.io/nodePool") {
      pools.insert(fmt::format("{}={}", key, label.value.as_string()));
    }
  }
  if (pools.empty()) {
    pools.emplace();
  }
  return pools;
}

// Adds the nodes without zones of which another node of a pool has zones: outside the node groups
// no exporter runs.
void add_missing_zones(const Facts& facts, Value& problems) {
  const auto has_zones = [&](const Object& node) {
    return facts.find(numa::kTopologyKind, {"", std::string(node.name())}) != nullptr;
  };
  std::set<std::string> exported;
  for (const Object& node : facts.all(api::kNode)) {
    if (has_zones(node)) {
      exported.merge(pools_of_node(node));
    }
  }
  for (const Object& node : facts.all(api::kNode)) {
    const bool expected = std::ranges::any_of(
        pools_of_node(node), [&](const std::string& pool) { return exported.contains(pool); });
    if (expected && !has_zones(node)) {
      problems.push_back(
          problem_of(fmt::format("Node/{}", node.name()), "has no NodeResourceTopology"));
    }
  }
}

}  // namespace

Value zone_map(const Facts& facts) {
  Value nodes = Value::list();
  Value problems = Value::list();
  const auto pods = pods_by_node(facts);
  std::set<std::string, std::less<>> known;
  for (const Object& node : facts.all(api::kNode)) {
    known.emplace(node.name());
  }
  for (const Object& object : facts.all(numa::kTopologyKind)) {
    const numa::NodeTopology topology = numa::read_topology(object.body());
    const std::string node(object.name());
    Value zones = Value::list();
    for (const numa::Zone& zone : topology.zones) {
      zones.push_back(zone_value(zone, node, problems));
    }
    const auto updated = updated_at(object);
    const auto period = parse_go_duration(object.annotation(kUpdateInterval));
    const auto placed = pods.find(node);
    Value one = Value::object({{"node", node},
                               {"name", node},
                               {"resourceVersion", object.resource_version()},
                               {"policy", topology.policy},
                               {"scope", topology.scope},
                               {"zones", std::move(zones)},
                               {"pods", placed == pods.end() ? Value::list() : placed->second}});
    set_time(one, "updated", updated);
    set_text(one, "fingerprint", topology.fingerprint);
    // Without a period in the object its age says nothing: a quiet node is not written.
    if (period.ok() && *period > Duration{} && updated) {
      one.set("staleAt", format_time(*updated + 2 * *period));
    }
    if (!known.contains(node)) {
      problems.push_back(problem_of("NodeResourceTopology/" + node, "no such node"));
    }
    nodes.push_back(std::move(one));
  }
  add_missing_zones(facts, problems);
  return Value::object({{"nodes", std::move(nodes)}, {"problems", std::move(problems)}});
}

Value zones_at(const Value& map, Instant now) {
  Value nodes = Value::list();
  Value problems = map["problems"];
  for (const Value& node : map["nodes"].items()) {
    const auto ends = parse_time(node["staleAt"].as_string());
    const bool stale = ends && now > *ends;
    Value one = node;
    one.set("stale", stale);
    if (stale) {
      problems.push_back(problem_of("Node/" + node["node"].str(), "its zones are out of date"));
    }
    nodes.push_back(std::move(one));
  }
  return Value::object({{"nodes", std::move(nodes)}, {"problems", std::move(problems)}});
}

}  // namespace athanor::console
