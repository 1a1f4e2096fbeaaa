// SPDX-License-Identifier: Apache-2.0
// Slices of GPUs on nodes with agents of their own, as on real nodes: the scheduler, the agents'
// controllers and a kubelet beside them, all of which may die (docs/spec/das.md 3, 8).
#include <algorithm>
#include <array>

#include "api/builtin.hpp"
#include "base/check.hpp"
#include "embedded/lab/embedded_operators.hpp"
#include "embedded/nodes/nodes.hpp"
#include "embedded/nodes/system.hpp"
#include "product/hooked.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/scenes/slice_agents.hpp"
#include "sim/scenes/slice_rules.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "sim/scenes/timed_pods.hpp"
#include "systems/das/agent/emulated_agent.hpp"
#include "systems/das/agent/node_agent.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/request.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::sim {
namespace {

constexpr const char* kNs = "default";
constexpr std::array<const char*, 2> kNodes{"gpu-1", "gpu-2"};
constexpr Duration kForGood = std::chrono::hours(24 * 365 * 100);
constexpr Duration kAgain = std::chrono::seconds(1);  // a pod that waits for its turn
constexpr Duration kTidy = std::chrono::seconds(60);

// What one node's agent or kubelet sees of the caches: queries about its own node, and nodes that a
// kubelet of the lab takes for its own although they have an agent.
class NodeSnapshot final : public Snapshot {
 public:
  NodeSnapshot(const View& view, std::string node)
      : view_(view), node_(std::move(node)), section_(Value::object({{"node", node_}})) {}

  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const override {
    auto object = view_.get(kind, key);
    return object && &kind == &api::kNode ? labelled(*object) : object;
  }
  [[nodiscard]] std::vector<Object> list(const Kind& kind, const Select& select) const override {
    std::vector<Object> objects = view_.list(kind, select);
    if (&kind == &api::kNode) {
      std::ranges::transform(objects, objects.begin(), labelled);
    }
    return objects;
  }
  [[nodiscard]] Observed observe(std::string_view query, Duration max_age) const override {
    return view_.observe(query == das::kGpusQuery ? std::string(query).append(":").append(node_)
                                                  : std::string(query),
                         max_age);
  }
  [[nodiscard]] const Value& config(std::string_view section) const override {
    return section == das::kAgentSection ? section_ : view_.config(section);
  }

 private:
  static Object labelled(const Object& node) {
    Value body = node.body();
    body.set_path({"metadata", "labels", nodes::kEmulatedLabel}, "true");
    return Object(std::move(body));
  }

  const View& view_;
  std::string node_;
  Value section_;
};

// ---- the kubelet

Observed devices_of(const View& view, const Object& node) {
  return view.observe(std::string(SliceAgents::kDevices).append(":").append(node.name()), kForGood);
}

Value amounts(const View& view, const Object& node, const char* which) {
  const Observed devices = devices_of(view, node);
  Value amounts = Value::object();
  const Value known = devices.value.value_or(Value::object());
  for (const Member& resource : known.members()) {
    amounts.set(resource.key(), resource.value[which]);
  }
  return amounts;
}

Value capacity(const View& view, const Object& node) {
  return amounts(view, node, "all");
}
Value allocatable(const View& view, const Object& node) {
  return amounts(view, node, "usable");
}

NodeAdmission admit(const View& view, const Object& pod, const Object& /*node*/, Instant now) {
  if (das::slices_of(pod.spec()).empty()) {
    return {};
  }
  const std::string query = std::string(SliceAgents::kAllocate)
                                .append(":")
                                .append(pod.key().text())
                                .append("/")
                                .append(pod.uid());
  Observed answer = view.observe(query, kForGood);
  if (answer.value && (*answer.value)["wait"].as_bool()) {
    answer = view.observe(query, kAgain);
  }
  if (answer.error) {
    return {.answer = NodeAdmission::Answer::Refuse, .message = answer.error->message};
  }
  if (answer.value && (*answer.value)["ready"].as_bool()) {
    return {};
  }
  NodeAdmission waits{.answer = NodeAdmission::Answer::Wait};
  waits.steps.wake_at(now + 2 * kAgain);
  return waits;
}

std::span<const NodeHooks* const> on_nodes() {
  static const NodeHooks kHooks{
      .name = "agents", .capacity = capacity, .allocatable = allocatable, .admit = admit};
  static const NodeHooks* const kAll[] = {&kHooks};
  return kAll;
}

Plan run_pod(const View& view, const Key& key, Instant now) {
  const NodeSnapshot snapshot(view, "");
  Reads reads;
  return nodes::run_pod(View(snapshot, reads), key, now, on_nodes());
}

Plan report_node(const View& view, const Key& key, Instant now) {
  const NodeSnapshot snapshot(view, key.name);
  Reads reads;
  return nodes::report_node(View(snapshot, reads), key, now, on_nodes());
}

// ---- the agents' controllers, each for its node

template <std::size_t kNode>
Plan publish(const View& view, const Key& key, Instant now) {
  const NodeSnapshot snapshot(view, kNodes[kNode]);
  Reads reads;
  Plan plan = das::publication_operator().reconcile(View(snapshot, reads), key, now);
  if (key.name == kNodes[kNode]) {
    static_cast<void>(
        view.observe(std::string(SliceAgents::kTidy).append(":").append(kNodes[kNode]), kTidy));
    plan.wake_at(now + kTidy + kAgain);
  }
  return plan;
}

template <std::size_t kNode>
Plan release(const View& view, const Key& key, Instant now) {
  const NodeSnapshot snapshot(view, kNodes[kNode]);
  Reads reads;
  return das::release_operator().reconcile(View(snapshot, reads), key, now);
}

Operator named(const Operator& base, std::string_view name,
               Plan (*reconcile)(const View& view, const Key& key, Instant now)) {
  Operator one = base;
  one.name = name;
  one.reconcile = reconcile;
  return one;
}

std::vector<const Operator*> operators() {
  static const nodes::HookedNode kKubelet(nodes::kubelet_operator(), on_nodes(), run_pod);
  static const nodes::HookedNode kNode(nodes::node_operator(), on_nodes(), report_node);
  static const Operator kAgents[] = {
      named(das::publication_operator(), "das-daemonset-1", publish<0>),
      named(das::publication_operator(), "das-daemonset-2", publish<1>),
      named(das::release_operator(), "das-agent-claims-1", release<0>),
      named(das::release_operator(), "das-agent-claims-2", release<1>)};
  std::vector<const Operator*> all = lab::embedded_operators();
  all.insert(all.end(), nodes::system().operators.begin(), nodes::system().operators.end());
  std::vector<const Operator*> instead = hooked_operators();
  instead.insert(instead.end(), {&kKubelet.get(), &kNode.get()});
  for (const Operator* hooked : instead) {
    std::ranges::replace_if(
        all, [&](const Operator* op) { return op->name == hooked->name; }, hooked);
  }
  all.push_back(&das::claim_operator());
  for (const Operator& one : kAgents) {
    all.push_back(&one);
  }
  return all;
}

Value gpu_node(const std::string& name) {
  return from_yaml("{apiVersion: v1, kind: Node, metadata: {name: " + name +
                   ", labels: {nvidia.com/mig.capable: 'true'}}}");
}

void must(const Result<Object>& done) {
  ATHANOR_CHECK(done.ok(), "the API server takes a change of the scene");
}

void scale(World& world, const char* name, int replicas) {
  must(world.patch(api::kReplicaSet, {kNs, name},
                   from_yaml("{spec: {replicas: " + std::to_string(replicas) + "}}")));
}

// Two nodes with their agents; the first `capable` may have slices.
std::shared_ptr<SliceAgents> add_nodes(Scene& scene, std::size_t capable, Mistake mistake) {
  scene.operators = operators();
  add_slice_objects(scene);
  for (std::size_t i = 0; i < kNodes.size(); ++i) {
    Value node = gpu_node(kNodes[i]);
    if (i >= capable) {
      node.member("metadata").erase("labels");
    }
    scene.objects.push_back(std::move(node));
  }
  scene.config["das"] = api::encode(das::Settings());
  scene.admission = system_webhooks;
  TimedPods::install(scene, std::chrono::hours(24 * 365));
  auto agents = SliceAgents::install(scene, {kNodes.begin(), kNodes.end()}, mistake);
  scene.invariants.push_back(no_slot_twice());
  scene.invariants.push_back(claims_are_those_of_pods());
  return agents;
}

}  // namespace

Scene slice_exchange_scene() {
  Scene scene;
  const auto agents = add_nodes(scene, 1, Mistake::None);
  scene.actors.push_back({.at = std::chrono::seconds(1), .act = [](World& world) {
                            must(world.create(wanting("small", 4, "1g.5gb")));
                          }});
  scene.actors.push_back(
      {.at = std::chrono::minutes(2), .act = [](World& world) { scale(world, "small", 2); }});
  // After the faults.
  scene.actors.push_back({.at = std::chrono::minutes(10) + std::chrono::seconds(10),
                          .act = [agents](World& world) { agents->end_faults(world.now()); }});
  return scene;
}

Scene slice_agents_scene(Mistake mistake) {
  Scene scene;
  const auto agents = add_nodes(scene, kNodes.size(), mistake);
  const auto at = [&](Duration when, std::function<void(World&)> act) {
    scene.actors.push_back({.at = when, .act = std::move(act)});
  };
  using std::chrono::minutes;
  at(std::chrono::seconds(1), [](World& world) {
    must(world.create(wanting("small", 5, "1g.5gb")));
    must(world.create(wanting("large", 1, "3g.20gb")));
  });
  // Wants a whole GPU: waits until one is empty.
  at(minutes(2), [](World& world) { must(world.create(wanting("whole", 2, "7g.40gb"))); });
  at(minutes(3), [](World& world) { scale(world, "small", 9); });
  at(minutes(4), [agents](World& world) { agents->set_health(world, "gpu-2", false); });
  at(minutes(5), [](World& world) { scale(world, "small", 0); });
  at(minutes(6), [agents](World& world) { agents->set_health(world, "gpu-2", true); });
  at(minutes(7), [](World& world) { scale(world, "large", 0); });
  // After the faults.
  at(minutes(10) + std::chrono::seconds(10),
     [agents](World& world) { agents->end_faults(world.now()); });
  at(minutes(11), [](World& world) {
    scale(world, "whole", 1);
    scale(world, "small", 6);
  });
  at(minutes(12), [](World& world) { scale(world, "small", 3); });
  return scene;
}

}  // namespace athanor::sim
