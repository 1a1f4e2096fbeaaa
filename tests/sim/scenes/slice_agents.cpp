// SPDX-License-Identifier: Apache-2.0
#include "sim/scenes/slice_agents.hpp"

#include <fmt/format.h>

#include "api/builtin.hpp"
#include "base/check.hpp"
#include "embedded/nodes/pod_runtime.hpp"
#include "sim/scenes/slice_agent.hpp"
#include "systems/das/agent/node_agent.hpp"
#include "systems/das/model/kinds.hpp"

namespace athanor::sim {
namespace {

std::string after_colon(std::string_view query) {
  return std::string(query.substr(query.find(':') + 1));
}

}  // namespace

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
  return agent.enter(
      world, [&] { return agent.allocate(*object); }, Agent::Dies::AlsoAlone);
}

Result<Value> SliceAgents::release(World& world, const std::string& id, const das::Claim& claim) {
  Agent& agent = of(claim.node);
  Result<Value> answer = agent.enter(world, [&] { return agent.release(claim); });
  if (!answer.ok() || !(*answer)["waits"].as_bool()) {
    return answer;
  }
  world.after(std::chrono::seconds(1), [all = shared_from_this(), id, claim](World& now) {
    if (auto later = all->release(now, id, claim); later.ok()) {
      now.observe(fmt::format("{}:{}", das::kReleaseVerb, id), *std::move(later));
    }
  });
  return Error::unavailable("not known whose the slice is");
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
        const auto user = node.used.find(device);
        const auto other =
            user == node.used.end() ? std::nullopt : world.get(api::kPod, user->second.key);
        if (other && user->second.uid != uid && other->uid() == user->second.uid &&
            !das::has_ended(*other)) {
          flaw_ = "pods " + pod.key().text() + " and " + other->key().text() + " share a slice";
        }
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
  scene.executors[std::string(das::kReleaseVerb)] = [all](World& world, const std::string& id,
                                                          const Value& args) -> Result<Value> {
    const auto claim = das::read_claim(Object(args["claim"]));
    return claim ? all->release(world, id, *claim) : Value::object();
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
