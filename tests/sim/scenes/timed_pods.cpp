// SPDX-License-Identifier: Apache-2.0
// States of pods by virtual time.
#include "sim/scenes/timed_pods.hpp"

#include <algorithm>

#include "api/builtin.hpp"
#include "embedded/nodes/pod_runtime.hpp"

namespace athanor::sim {

namespace {

Value states(const Value& containers, Instant now) {
  Value out = Value::list();
  for (const Value& container : containers.items()) {
    out.push_back(Value::object({{"name", container["name"]},
                                 {"state", "running"},
                                 {"restarts", 0},
                                 {"startedAt", format_time(now)}}));
  }
  return out;
}

Value ended(const Value& running, std::int64_t exit_code, Instant now) {
  Value out = Value::list();
  for (const Value& container : running.items()) {
    Value one = container;
    if (one["state"].as_string() != "terminated") {
      one.set("state", "terminated");
      one.set("exitCode", exit_code);
      one.set("reason", exit_code == 0 ? "Completed" : "Error");
      one.set("finishedAt", format_time(now));
    }
    out.push_back(std::move(one));
  }
  return out;
}

bool has_container(const Value& containers, std::string_view name) {
  const auto items = containers.items();
  return std::any_of(items.begin(), items.end(),
                     [&](const Value& one) { return one["name"].as_string() == name; });
}

Value nothing_known() {
  return Value::object({{"uid", ""}, {"containers", Value::list()}, {"init", Value::list()}});
}

}  // namespace

void TimedPods::install(Scene& scene, Duration run_time) {
  const auto pods = std::make_shared<TimedPods>(run_time);
  scene.executors[std::string(nodes::kStartVerb)] = [pods](World& world, const std::string&,
                                                           const Value& spec) -> Result<Value> {
    return pods->start(world, spec);
  };
  scene.executors[std::string(nodes::kStopVerb)] = [pods](World& world, const std::string&,
                                                          const Value& args) -> Result<Value> {
    return pods->stop(world, args);
  };
  scene.executors[std::string(nodes::kForgetVerb)] = [pods](World& world, const std::string&,
                                                            const Value& args) -> Result<Value> {
    return pods->forget(world, args);
  };
  scene.probes["pod"] = [pods](World&, std::string_view query) -> Result<Value> {
    return pods->state(query);
  };
  scene.kill_pod = [pods](World& world, std::uint64_t pick) { pods->kill_pod(world, pick); };
  scene.kill_node = [pods](World& world, std::uint64_t pick) { pods->kill_node(world, pick); };
}

void TimedPods::kill_pod(World& world, std::uint64_t pick) {
  if (pods_.empty()) {
    return;
  }
  const auto chosen = std::next(pods_.begin(), static_cast<std::ptrdiff_t>(pick % pods_.size()));
  end(world, chosen->first, 137);
}

// All that runs on one node ends at once.
void TimedPods::kill_node(World& world, std::uint64_t pick) {
  const std::vector<Object> nodes = world.list(api::kNode);
  if (nodes.empty()) {
    return;
  }
  const std::string node(nodes[pick % nodes.size()].name());
  for (const Object& pod : world.list(api::kPod)) {
    if (pod.spec()["nodeName"].as_string() == node) {
      end(world, std::string(pod.uid()), 137);
    }
  }
}

Value TimedPods::start(World& world, const Value& spec) {
  const std::string uid = spec["uid"].str();
  if (pods_.contains(uid)) {
    return true;
  }
  Pod& pod = pods_[uid];
  pod.query = nodes::pod_query(spec["ns"].as_string(), spec["name"].as_string());
  pod.state = Value::object({{"uid", uid},
                             {"stopping", false},
                             {"containers", states(spec["containers"], world.now())},
                             {"init", Value::list()}});
  world.observe(pod.query, pod.state);
  if (!has_container(spec["containers"], kServing)) {
    const std::int64_t exit_code = has_container(spec["containers"], kFailing) ? 1 : 0;
    world.after(run_time_, [self = shared_from_this(), uid, exit_code](World& w) {
      self->end(w, uid, exit_code);
    });
  }
  return true;
}

Value TimedPods::stop(World& world, const Value& args) {
  world.after(std::chrono::seconds(1), [self = shared_from_this(), uid = args["uid"].str()](
                                           World& w) { self->end(w, uid, 143); });
  return true;
}

Value TimedPods::forget(World& world, const Value& args) {
  const auto at = pods_.find(args["uid"].str());
  if (at != pods_.end()) {
    const std::string query = at->second.query;
    pods_.erase(at);
    world.observe(query, state(query));  // a pod of the same name may have started meanwhile
  }
  return true;
}

Value TimedPods::state(std::string_view query) const {
  for (const auto& [uid, pod] : pods_) {
    if (pod.query == query) {
      return pod.state;
    }
  }
  return nothing_known();
}

void TimedPods::end(World& world, const std::string& uid, std::int64_t exit_code) {
  const auto at = pods_.find(uid);
  if (at == pods_.end()) {
    return;
  }
  Value& state = at->second.state;
  state.set("containers", ended(state["containers"], exit_code, world.now()));
  world.observe(at->second.query, state);
}

}  // namespace athanor::sim
