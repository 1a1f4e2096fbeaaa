// SPDX-License-Identifier: Apache-2.0
#include "sim/scenes/slice_agent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "api/builtin.hpp"
#include "base/check.hpp"
#include "embedded/nodes/pod_runtime.hpp"
#include "sim/scenes/slice_node.hpp"
#include "systems/das/agent/allocate.hpp"
#include "systems/das/agent/device_list.hpp"
#include "systems/das/agent/ledger.hpp"
#include "systems/das/agent/node_agent.hpp"
#include "systems/das/agent/start_up.hpp"
#include "systems/das/kinds.hpp"
#include "systems/das/names.hpp"
#include "systems/das/placement/profile.hpp"
#include "systems/das/request.hpp"
#include "systems/das/vendor/vendor.hpp"

namespace athanor::sim {
namespace {

constexpr const char* kSystemNs = das::kDefaultNamespace;

std::string after_colon(std::string_view query) {
  return std::string(query.substr(query.find(':') + 1));
}

}  // namespace

// One agent and its node. Every public function is a question of the kubelet or of the engine.
class SliceAgents::Agent final : public das::AllocateWorld {
 public:
  Agent(SliceAgents& all, SliceNode& mine) : node(mine), all_(all) {}

  // Lets the agent act; it starts first if it is down. Unavailable: it died.
  template <class Act>
  Result<Value> enter(World& world, const Act& act) {
    world_ = &world;
    try {
      if (!alive_) {
        recover();
      }
      return act();
    } catch (const Died&) {
      die();
      world.crash();
      return Error::unavailable("the agent died");
    }
  }
  void die() {
    alive_ = false;
    ledger_ = {};
  }

  Value published();
  Value offered();
  Result<Value> tidy();
  Result<Value> release(const das::Claim& claim);
  Result<Value> allocate(const Object& pod);

  // ---- what Allocate acts on
  das::NodeSight look() override;
  void wait(Duration /*time*/) override {}  // what it sees is never late
  Result<void> write_state(std::span<const das::Claim> claims, std::string_view state) override;
  Result<std::vector<std::string>> make_slices(std::span<const das::Claim> claims) override;
  void destroy_slices(std::span<const das::Claim> claims) override {
    for (const das::Claim& claim : claims) {
      destroy(claim);
    }
  }
  std::string slice_of(const das::Claim& claim) override {
    return node.record_of(claim.object.uid()).device;
  }
  Result<void> write_file(const das::CdiSpec& spec) override {
    step();
    node.files[spec.file_name()] = das::print_cdi(spec, "/var/run/cdi");
    step();
    return {};
  }
  void remove_file(const das::CdiSpec& spec) override {
    step();
    node.files.erase(spec.file_name());
  }

  SliceNode& node;

 private:
  struct Died {};

  void step() {
    if (world_->strike(Fault::AgentCrash)) {
      throw Died{};
    }
  }
  void recover();
  void destroy(const das::Claim& claim);
  void destroy(const das::SliceRecord& record);
  void remove(const Kind& kind, const Object& object);
  Result<std::string> make(const das::Claim& claim);
  [[nodiscard]] das::Findings findings();

  SliceAgents& all_;
  World* world_ = nullptr;  // of the call under way
  bool alive_ = false;
  das::Ledger ledger_{};
};

// ---- the agent's start and its looks (src/agent/agent.cpp)

das::Findings SliceAgents::Agent::findings() {
  // Records first: what they name is in a view that is taken later.
  das::Findings found{.files = node.specs(), .records = node.records};
  found.sight = look();
  for (const SliceNode::Slice& slice : node.slices) {
    found.devices.insert(slice.found.device);
  }
  return found;
}

void SliceAgents::Agent::recover() {
  step();
  const auto known = world_->get(das::kNodeAccelerator, {kSystemNs, node.name});
  const std::string before = known ? known->status()["nodeResources"]["bootId"].str() : "";
  das::Findings found = findings();
  while (!found.sight.seen) {
    found = findings();  // a start is tried until it succeeds
  }
  found.rebooted = !before.empty() && before != node.boot_id();
  if (all_.mistake_ == Mistake::FalseBoot) {
    found.rebooted = true;
    found.devices.clear();
  }
  for (const auto& [uid, pod] : found.sight.pods) {
    if (all_.mistake_ == Mistake::FailsPods && pod.status()["phase"].as_string() == "Running") {
      static_cast<void>(world_->patch(
          api::kPod, pod.key(), Value::object({{"status", Value::object({{"phase", "Failed"}})}}),
          "status"));
    }
  }
  const das::Measures measures = das::measures_of(found);
  for (const das::Claim& claim : measures.stale_claims) {
    remove(das::kAllocationClaim, claim.object);
  }
  for (const Object& pod : measures.stale_pods) {
    if (!all_.deaths_) {
      all_.flaw_ = "pod " + pod.key().text() + " is deleted at a start of its agent";
    }
    remove(api::kPod, pod);
  }
  for (const das::CdiSpec& file : measures.remove_files) {
    remove_file(file);
  }
  for (const das::SliceRecord& record : measures.forget) {
    std::erase(node.records, record);
  }
  for (const das::SliceRecord& record :
       all_.mistake_ == Mistake::EmptyHand ? found.records : measures.destroy) {
    destroy(record);
  }
  ledger_ = das::ledger_of(node.specs(), found.sight);
  std::vector<das::Holder> holders;
  holders.reserve(node.admitted.size());
  for (const auto& [uid, pod] : node.admitted) {
    holders.push_back({.pod_uid = uid, .container = "c", .profile = pod.profile, .ids = pod.ids});
  }
  ledger_.learn(holders);
  alive_ = true;
}

void SliceAgents::Agent::remove(const Kind& kind, const Object& object) {
  step();
  const auto now = world_->get(kind, object.key());
  if (now && now->uid() == object.uid()) {
    static_cast<void>(world_->remove(kind, object.key()));
  }
}

Value SliceAgents::Agent::published() {
  const Value resources = node.resources();
  return Value::object({{"nodeResources", resources},
                        {"ready", das::readiness(resources)},
                        {"type", das::kNvidiaMig}});
}

Value SliceAgents::Agent::offered() {
  const int more = all_.mistake_ == Mistake::Exaggerates ? 1 : 0;
  Value devices = Value::object();
  for (const das::DeviceList& list :
       das::device_lists(node.resources(), *das::find_vendor(das::kNvidiaMig))) {
    const auto usable = std::ranges::count(list.devices, true, &das::PluginDevice::healthy) + more;
    devices.set(das::resource_of(list.profile),
                Value::object({{"all", std::to_string(list.devices.size())},
                               {"usable", std::to_string(usable)}}));
  }
  return devices;
}

Result<Value> SliceAgents::Agent::tidy() {
  const das::Measures measures = das::measures_of(findings());
  for (const das::CdiSpec& file : measures.remove_files) {
    remove_file(file);
  }
  for (const das::SliceRecord& record : measures.destroy) {
    destroy(record);
  }
  return Value::object();
}

Result<Value> SliceAgents::Agent::release(const das::Claim& claim) {
  for (const das::CdiSpec& file : node.specs()) {
    const bool names = std::ranges::any_of(file.claims, [&](const Value& one) {
      return one["metadata"]["uid"].as_string() == claim.object.uid();
    });
    if (names) {
      remove_file(file);
    }
  }
  ledger_.forget_pod(claim.pod_uid);
  destroy(claim);
  step();
  return Value::object();
}

// ---- Allocate (src/agent/node/allocator.cpp, slices.cpp)

das::NodeSight SliceAgents::Agent::look() {
  step();
  if (world_->strike(Fault::WatchGap)) {
    return {.seen = false};  // its caches do not answer in time
  }
  das::NodeSight sight;
  for (const Object& object : world_->list(das::kAllocationClaim)) {
    if (auto claim = das::read_claim(object); claim && claim->node == node.name) {
      sight.claims.push_back(*std::move(claim));
    }
  }
  std::ranges::stable_sort(sight.claims, {}, [](const das::Claim& claim) {
    return std::pair(claim.object.creation_time().value_or(Instant()), claim.object.key());
  });
  for (const Object& pod : world_->list(api::kPod)) {
    if (pod.spec()["nodeName"].as_string() == node.name) {
      sight.pods[std::string(pod.uid())] = pod;
    }
  }
  return sight;
}

Result<void> SliceAgents::Agent::write_state(std::span<const das::Claim> claims,
                                             std::string_view state) {
  for (const das::Claim& claim : claims) {
    step();
    if (world_->strike(Fault::WriteError)) {
      return Error::internal("the simulator says no");
    }
    const auto now = world_->get(das::kAllocationClaim, claim.object.key());
    if (!now || now->uid() != claim.object.uid()) {
      return Error::not_found("the claim is gone");
    }
    if (now->status()["state"].as_string() == state) {
      continue;
    }
    const auto written = world_->patch(
        das::kAllocationClaim, now->key(),
        Value::object({{"status", das::claim_status(now->status(), {state}, now->generation(),
                                                    world_->now())}}),
        "status");
    if (!written.ok()) {
      return written.error();
    }
    if (world_->strike(Fault::WriteLostApplied)) {
      return Error::unavailable("no answer");
    }
  }
  return {};
}

Result<std::vector<std::string>> SliceAgents::Agent::make_slices(
    std::span<const das::Claim> claims) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    auto made = make(claims[i]);
    if (!made.ok()) {
      destroy_slices(claims.first(i));
      return std::move(made).error();
    }
    names.push_back(*std::move(made));
  }
  return names;
}

Result<std::string> SliceAgents::Agent::make(const das::Claim& claim) {
  const das::SliceRecord begun = node.record_of(claim.object.uid());
  if (!begun.device.empty()) {
    return begun.device;
  }
  if (!begun.claim_uid.empty()) {
    destroy(begun);  // a run before this one ended while it made the slice
  }
  const das::SliceRecord intent = das::record_of(claim, "");
  if (all_.mistake_ != Mistake::NoRecord) {
    node.records.push_back(intent);
  }
  step();
  auto device = node.create(claim);
  step();
  std::erase(node.records, intent);
  if (device.ok()) {
    node.records.push_back(das::record_of(claim, *device));
  }
  step();
  return device;
}

void SliceAgents::Agent::destroy(const das::Claim& claim) {
  if (const das::SliceRecord record = node.record_of(claim.object.uid());
      !record.claim_uid.empty()) {
    destroy(record);
  }
}

void SliceAgents::Agent::destroy(const das::SliceRecord& record) {
  step();
  node.destroy(record);
  step();
  std::erase(node.records, record);
}

// A kubelet asks for pods in the order of their claims, for those that are to stay.
Result<Value> SliceAgents::Agent::allocate(const Object& pod) {
  const std::string uid(pod.uid());
  if (node.admitted.contains(uid)) {
    return Value::object({{"ready", true}});
  }
  const das::PodSlices wanted = das::slices_of(pod.spec());
  const std::string profile = wanted.slices.front().profile;
  const das::NodeSight sight = look();
  std::erase_if(node.admitted, [&](const auto& entry) {
    const Object* one = sight.pod(entry.first);
    return one == nullptr || das::has_ended(*one);
  });
  for (const das::Claim& claim : sight.claims) {
    const Object* other = sight.pod(claim.pod_uid);
    if (node.admitted.contains(claim.pod_uid) || claim.profile != profile ||
        (other != nullptr && (other->deleting() || das::has_ended(*other)))) {
      continue;
    }
    // Allocate takes the claim of a pod that is not bound yet too: exchanges are not simulated.
    if (claim.pod_uid != uid) {
      return Value::object({{"wait", true}});
    }
    break;
  }
  const std::vector<das::DeviceAsk> asks{
      {.profile = profile, .ids = node.free_ids(profile, wanted.slices.size())}};
  ATHANOR_TRY(const std::vector<std::string> devices, das::allocate(asks, ledger_, *this, {}));
  step();  // it may die before its kubelet hears of it
  node.admitted[uid] = {.profile = profile, .ids = asks[0].ids, .device = devices[0]};
  return Value::object({{"ready", true}});
}

// ---- all of them

SliceAgents::SliceAgents(Mistake mistake) : mistake_(mistake) {}
SliceAgents::~SliceAgents() = default;

SliceAgents::Agent& SliceAgents::of(std::string_view node) const {
  const auto found = agents_.find(node);
  ATHANOR_CHECK(found != agents_.end(), "the scene's nodes have agents");
  return *found->second;
}

void SliceAgents::set_health(World& world, const std::string& node, bool healthy) {
  Agent& agent = of(node);
  agent.node.gpu.healthy = healthy;
  world.observe(fmt::format("{}:{}", das::kGpusQuery, node), agent.published());
  world.observe(fmt::format("{}:{}", kDevices, node), agent.offered());
}

Result<Value> SliceAgents::allocate(World& world, std::string_view pod) {
  const std::size_t name = pod.find('/') + 1;
  const std::size_t uid = pod.find('/', name) + 1;
  const auto object = world.get(api::kPod, {std::string(pod.substr(0, name - 1)),
                                            std::string(pod.substr(name, uid - 1 - name))});
  if (!object || object->uid() != pod.substr(uid) || object->deleting()) {
    return Value::object({{"wait", true}});
  }
  Agent& agent = of(object->spec()["nodeName"].as_string());
  return agent.enter(world, [&] { return agent.allocate(*object); });
}

// A runtime puts into containers what the CDI file says.
void SliceAgents::start_pod(World& world, const std::string& uid) {
  for (const auto& [name, shared] : nodes_) {
    SliceNode& node = *shared;
    const auto admitted = node.admitted.find(uid);
    if (admitted == node.admitted.end()) {
      continue;
    }
    const std::vector<std::string> devices = node.devices_of(admitted->second.device);
    for (const Object& pod : world.list(api::kPod)) {
      if (pod.uid() != uid || pod.deleting() || das::has_ended(pod)) {
        continue;  // a kubelet whose view is old starts what is gone
      }
      if (devices.empty()) {
        flaw_ = "pod " + pod.key().text() + " starts without its CDI file";
      }
      for (const std::string& device : devices) {
        node.used[device] = {pod.key(), uid};
      }
    }
  }
}

void SliceAgents::reboot(World& world, std::uint64_t pick) {
  const std::vector<Object> nodes = world.list(api::kNode);
  if (nodes.empty()) {
    return;
  }
  Agent& agent = of(nodes[pick % nodes.size()].name());
  agent.die();
  agent.node.reboot();
  world.after(Duration::zero(), [](World& now) { now.crash(); });
}

std::shared_ptr<SliceAgents> SliceAgents::install(Scene& scene,
                                                  const std::vector<std::string>& nodes,
                                                  Mistake mistake) {
  auto all = std::make_shared<SliceAgents>(mistake);
  for (const std::string& name : nodes) {
    all->nodes_[name] = std::make_shared<SliceNode>(name);
    all->agents_[name] = std::make_shared<Agent>(*all, *all->nodes_[name]);
  }
  const auto probe = [&](const std::string& prefix, auto ask) {
    scene.probes[prefix] = [all, ask](World& world, std::string_view query) {
      Agent& agent = all->of(after_colon(query));
      return agent.enter(world, [&] { return Result<Value>(ask(agent)); });
    };
  };
  probe(std::string(das::kGpusQuery), [](Agent& agent) { return agent.published(); });
  probe(kDevices, [](Agent& agent) { return agent.offered(); });
  probe(kTidy, [](Agent& agent) { return agent.tidy(); });
  scene.probes[kAllocate] = [all](World& world, std::string_view query) {
    return all->allocate(world, after_colon(query));
  };
  scene.probes[std::string(das::kTroubleQuery)] = [](World& /*world*/, std::string_view /*query*/) {
    return Result<Value>(Value(""));
  };
  scene.executors[std::string(das::kReleaseVerb)] = [all](World& world, const std::string& /*id*/,
                                                          const Value& args) -> Result<Value> {
    const auto claim = das::read_claim(Object(args["claim"]));
    if (!claim) {
      return Value::object();
    }
    Agent& agent = all->of(claim->node);
    return agent.enter(world, [&] { return agent.release(*claim); });
  };
  auto& start = scene.executors[std::string(nodes::kStartVerb)];
  start = [all, before = start](World& world, const std::string& id, const Value& args) {
    all->start_pod(world, args["uid"].str());
    return before(world, id, args);
  };
  scene.kill_pod = [all, before = scene.kill_pod](World& world, std::uint64_t pick) {
    all->deaths_ = true;
    before(world, pick);
  };
  scene.kill_node = [all, before = scene.kill_node](World& world, std::uint64_t pick) {
    all->deaths_ = true;
    before(world, pick);
    all->reboot(world, pick);
  };
  all->add_rules(scene);
  return all;
}

}  // namespace athanor::sim
