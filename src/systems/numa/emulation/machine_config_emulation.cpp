// SPDX-License-Identifier: Apache-2.0
// MachineConfigPools of a lab: nodes take over a KubeletConfig, at once or each after a drain, and
// their pool reports the changed configuration after a delay (docs/spec/numa.md 16.2).
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "kube/names/selector.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"
#include "systems/numa/emulation/node_drain.hpp"
#include "systems/numa/emulation/node_state.hpp"
#include "systems/numa/emulation/pool_members.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/model/settings.hpp"
#include "systems/numa/operator/kubelet_configs.hpp"

namespace athanor::numa {
namespace {

std::vector<std::string> names_of(const std::vector<Object>& objects, const Value& selector) {
  std::vector<std::string> names;
  const auto parsed = LabelSelector::from_value(selector);
  if (!parsed.ok()) {
    return names;
  }
  for (const Object& object : objects) {
    if (parsed->matches(object.metadata()["labels"])) {
      names.emplace_back(object.name());
    }
  }
  std::ranges::sort(names);
  return names;
}

constexpr const char* kCurrentConfig = "machineconfiguration.openshift.io/currentConfig";
constexpr const char* kDesiredConfig = "machineconfiguration.openshift.io/desiredConfig";
constexpr const char* kConfigState = "machineconfiguration.openshift.io/state";
// Annotation of a node that is being drained: its pool.
constexpr const char* kDrainedFor = "athanor.dev/drained-for";

// Returns the profile that the node has with policy and scope of its pool's KubeletConfig; Null: it
// has them.
Value reconfigured(const Object& node, const std::optional<Object>& config) {
  auto profile = json::parse(node.annotation(kProfileAnnotation));
  if (!config || !profile.ok() || !profile->is_object()) {
    return {};
  }
  const Value before = *profile;
  const Value& kubelet = config->spec()["kubeletConfig"];
  for (const auto& [from, to] :
       {std::pair{"topologyManagerPolicy", "policy"}, {"topologyManagerScope", "scope"}}) {
    if (!kubelet[from].as_string().empty()) {
      profile->set(to, kubelet[from]);
    }
  }
  // A configuration that the node cannot read would leave it without zones.
  return *profile == before || !read_profile(*profile).ok() ? Value() : *std::move(profile);
}

Patch change_of(const Object& node, Value merge) {
  return {.target = {&api::kNode, node.key()},
          .merge = std::move(merge),
          .guard = {.uid = std::string(node.uid())}};
}

Value annotation(const char* name, Value value) {
  return Value::object(
      {{"metadata", Value::object({{"annotations", Value::object({{name, std::move(value)}})}})}});
}

// Returns how many nodes may be drained at a time: spec.maxUnavailable, a number or a share.
std::size_t most_drained(const Object& pool, std::size_t members) {
  constexpr std::size_t kWhole = 100;
  const Value& most = pool.spec()["maxUnavailable"];
  std::size_t number = 0;
  if (most.is_string()) {
    const std::string_view text = most.as_string();
    std::from_chars(text.data(), text.data() + text.size(), number);
    number = text.ends_with('%') ? members * number / kWhole : number;
  } else {
    number = static_cast<std::size_t>(std::max<std::int64_t>(most.as_int(), 0));
  }
  return std::max<std::size_t>(number, 1);
}

// The nodes of one pool as they take over its configuration.
class Rollout {
 public:
  Rollout(const View& view, const Object& pool, Instant now)
      : pool_(pool),
        drains_(settings_of(view.config("numa")).machine_config_drain),
        drain_(view, now) {}

  void run(const std::vector<Object>& nodes, const std::vector<std::string>& members,
           const std::optional<Object>& config) {
    std::size_t places = most_drained(pool_, members.size());
    std::vector<const Object*> next;
    for (const Object& node : nodes) {
      const bool member = std::ranges::binary_search(members, node.name());
      const Value profile = member ? reconfigured(node, config) : Value();
      const bool drained = node.annotation(kDrainedFor) == pool_.name();
      outdated_ += profile.is_null() ? 0 : 1;
      if (drained || !profile.is_null()) {
        before_.emplace(node.name());
      }
      if (drained) {
        places -= std::min<std::size_t>(places, 1);
        ++unavailable_;
        finish(node, profile);
      } else if (!profile.is_null() && !drains_) {
        plan_.then(change_of(node, annotation(kProfileAnnotation, json::print(profile))));
      } else if (!profile.is_null()) {
        next.push_back(&node);
      }
    }
    next.resize(std::min(next.size(), places));
    for (const Object* node : next) {
      cordon(*node);
    }
  }

  // Nodes that do not have the configuration yet.
  [[nodiscard]] std::int64_t outdated() const { return outdated_; }
  // Returns true for a node that has the configuration before, or is being drained for the new one.
  [[nodiscard]] bool has_before(const Object& node) const { return before_.contains(node.name()); }
  [[nodiscard]] std::int64_t unavailable() const { return unavailable_; }
  [[nodiscard]] const std::string& obstacle() const { return obstacle_; }
  Plan take() { return std::move(plan_); }

 private:
  void cordon(const Object& node) {
    Value merge = annotation(kDrainedFor, pool_.name());
    merge.set("spec", Value::object({{"unschedulable", true}}));
    plan_.then(change_of(node, std::move(merge)));
    emit(node, "Cordon", "Cordoned node to apply update");
  }

  // Changes a node once no pod is left, and lets pods in again.
  void finish(const Object& node, const Value& profile) {
    if (!profile.is_null() && !drain_.empties(node, plan_)) {
      if (obstacle_.empty() && !drain_.obstacle().empty()) {
        obstacle_ = fmt::format("node {}: {}", node.name(), drain_.obstacle());
      }
      return;
    }
    Value merge = annotation(kDrainedFor, nullptr);
    if (!profile.is_null()) {
      merge.member("metadata").member("annotations").set(kProfileAnnotation, json::print(profile));
    }
    merge.set("spec", Value::object({{"unschedulable", nullptr}}));
    plan_.then(change_of(node, std::move(merge)));
    emit(node, "Uncordon", "Update completed and node has been uncordoned");
  }

  void emit(const Object& node, const char* reason, const char* note) {
    plan_.then(Emit{.about = {&api::kNode, node.key()},
                    .about_uid = std::string(node.uid()),
                    .reason = reason,
                    .note = note});
  }

  const Object& pool_;
  bool drains_;
  Drain drain_;
  std::int64_t outdated_ = 0;
  std::int64_t unavailable_ = 0;
  std::set<std::string, std::less<>> before_{};
  std::string obstacle_{};
  Plan plan_{};
};

// Names of the machine configurations that the pool is to have.
Value config_sources_of(const View& view, const Object& pool, bool kubelet_config) {
  std::vector<std::string> sources =
      names_of(view.list(kMachineConfig), pool.spec()["machineConfigSelector"]);
  if (kubelet_config) {
    sources.push_back(fmt::format("99-{}-generated-kubelet", pool.name()));
    std::ranges::sort(sources);
  }
  Value list = Value::list();
  for (const std::string& name : sources) {
    list.push_back(Value::object({{"name", name}}));
  }
  return list;
}

// Returns the name of the configuration that is rendered of these sources.
std::string rendered_name(const Object& pool, const Value& sources,
                          const std::optional<Object>& kubelet_config) {
  const Value content = Value::list({sources, kubelet_config ? kubelet_config->spec() : Value()});
  constexpr std::size_t kDigits = 32;
  return fmt::format("rendered-{}-{}", pool.name(),
                     sha256_hex(json::print(content)).substr(0, kDigits));
}

// The annotations by which the machine configuration daemon says which configuration its node has.
Value config_annotations(const Object& node, const std::string& rendered, bool working) {
  const std::string_view current = node.annotation(kCurrentConfig);
  const std::pair<const char*, std::string> wanted[] = {
      {kCurrentConfig, working && !current.empty() ? std::string(current) : rendered},
      {kDesiredConfig, rendered},
      {kConfigState, working ? "Working" : "Done"}};
  Value changes = Value::object();
  for (const auto& [name, value] : wanted) {
    if (node.annotation(name) != value) {
      changes.set(name, value);
    }
  }
  return changes;
}

bool is_updating(const Object& pool) {
  return condition_is(pool.status()["conditions"], "Updating", "True");
}

// Returns when the update that is under way ends; one that begins now where none is.
Instant end_of_update(const Object& pool, Duration delay, Instant now) {
  const Value& updating = find_condition(pool.status()["conditions"], "Updating");
  const auto since =
      is_updating(pool) ? parse_time(updating["lastTransitionTime"].as_string()) : std::nullopt;
  return since.value_or(now) + delay;
}

Condition degraded_by(const PoolMembers& members) {
  if (members.lost.empty()) {
    return {.type = "Degraded", .status = "False"};
  }
  return {
      .type = "Degraded",
      .status = "True",
      .reason = "NodeInSeveralPools",
      .message = fmt::format("node {} is in MachineConfigPool {}: a node is in one pool, of two "
                             "that select it in the older one",
                             members.lost, members.lost_to)};
}

Plan emulate_machine_config(const View& view, const Key& key, Instant now) {
  const auto pool = view.get(kMachineConfigPool, key);
  if (!pool || pool->deleting() || pool->spec()["paused"].as_bool()) {
    return Plan::done();
  }
  const auto kubelet_config = kubelet_config_of(view, *pool);
  Value sources = config_sources_of(view, *pool, kubelet_config.has_value());
  const std::vector<Object> nodes = view.list(api::kNode);
  const std::string rendered = rendered_name(*pool, sources, kubelet_config);
  const PoolMembers members = members_of(*pool, view.list(kMachineConfigPool), nodes);
  Rollout rollout(view, *pool, now);
  rollout.run(nodes, members.names, kubelet_config);
  const Value& status = pool->status();
  const Settings settings = settings_of(view.config("numa"));
  const auto delay = parse_go_duration(settings.machine_config_delay);
  // A pool begins with what is there.
  const bool changed = !status["conditions"].empty() &&
                       (status["configuration"]["source"] != sources || rollout.outdated() > 0);
  const Instant end = end_of_update(*pool, delay.ok() ? *delay : Duration(0), now);
  const bool drains = settings.machine_config_drain && rollout.outdated() > 0;
  const bool updates = (changed || is_updating(*pool)) && (end > now || drains);
  const auto machines = static_cast<std::int64_t>(members.names.size());
  const std::int64_t updated = !updates ? machines
                               : settings.machine_config_drain
                                   ? machines - std::min(machines, rollout.outdated())
                                   : 0;
  Value conditions = status["conditions"];
  for (const auto& [type, value] : {std::pair{"Updated", updates ? "False" : "True"},
                                    {"Updating", updates ? "True" : "False"}}) {
    const bool waits = std::string_view(type) == "Updating" && updates;
    set_condition(conditions,
                  {.type = type, .status = value, .message = waits ? rollout.obstacle() : ""}, now);
  }
  set_condition(conditions, degraded_by(members), now);
  Plan plan;
  plan.then(athanor::Status{
      .target = {&kMachineConfigPool, key},
      .status = Value::object(
          {{"configuration",
            updates ? status["configuration"]
                    : Value::object({{"name", rendered}, {"source", std::move(sources)}})},
           {"conditions", std::move(conditions)},
           {"machineCount", machines},
           {"readyMachineCount", updated},
           {"updatedMachineCount", updated},
           {"unavailableMachineCount", rollout.unavailable()},
           {"degradedMachineCount", 0}}),
      .guard = {.uid = std::string(pool->uid())}});
  plan.merge(rollout.take());
  for (const Object& node : nodes) {
    if (!std::ranges::binary_search(members.names, node.name())) {
      continue;
    }
    const bool working = updates && (!settings.machine_config_drain || rollout.has_before(node));
    if (Value changes = config_annotations(node, rendered, working); !changes.empty()) {
      plan.then(change_of(
          node,
          Value::object({{"metadata", Value::object({{"annotations", std::move(changes)}})}})));
    }
  }
  if (updates && end > now) {
    plan.wake_at(end);
  }
  return plan;
}

}  // namespace

const Operator& machine_config_emulation() {
  static const Kind* const kReads[] = {&kMachineConfigPool, &kMachineConfig,
                                       &kKubeletConfig,     &api::kNode,
                                       &api::kPod,          &api::kPodDisruptionBudget};
  static const Kind* const kWrites[] = {&kMachineConfigPool, &api::kNode, &api::kPod,
                                        &api::kPodDisruptionBudget};
  static const Kind* const kSmall[] = {&kMachineConfigPool, &kMachineConfig, &kKubeletConfig,
                                       &api::kNode};
  static const Operator kOperator{.name = "emulated-machine-config",
                                  .primary = &kMachineConfigPool,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = emulate_machine_config,
                                  .small = kSmall};
  return kOperator;
}

}  // namespace athanor::numa
