// SPDX-License-Identifier: Apache-2.0
// Pod statuses.
#include "embedded/nodes/pod_status.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/digest.hpp"
#include "embedded/nodes/pod_address.hpp"
#include "embedded/nodes/resources/pod_resize.hpp"
#include "kube/value/condition.hpp"

namespace athanor::nodes {
namespace {

constexpr std::int64_t kKilledCode = 137;

// The image with a digest: its own, or one made of its name (docs/spec/tekton.md section 12).
std::string image_id(std::string_view image) {
  return image.find("@sha256:") != std::string_view::npos
             ? std::string(image)
             : fmt::format("{}@sha256:{}", image, sha256_hex(image));
}

std::string container_id(const Object& pod, std::string_view container) {
  return "athanor://" + sha256_hex(fmt::format("{}/{}", pod.uid(), container));
}

Value find_named(const Value& list, std::string_view name) {
  for (const Value& entry : list.items()) {
    if (entry["name"].as_string() == name) {
      return entry;
    }
  }
  return {};
}

Value terminated(const Value& state, const std::string& id) {
  Value result =
      Value::object({{"exitCode", state["exitCode"].as_int()}, {"reason", state["reason"].str()}});
  if (!state["startedAt"].is_null()) {  // of a pod that was refused: it never has
    result.set("startedAt", state["startedAt"]);
  }
  result.set("finishedAt", state["finishedAt"]);
  result.set("containerID", id);
  if (!state["message"].as_string().empty()) {
    result.set("message", state["message"]);
  }
  return result;
}

bool is_done(const Value& state) {
  return state["state"].as_string() == "terminated" && state["exitCode"].as_int() == 0;
}

// An init container is ready once it has done its work; any other, and a native sidecar, while it
// runs and passes its probes.
enum class Group : std::uint8_t { Init, Main };

bool is_sidecar(const Value& state) {
  return state["sidecar"].as_bool();
}

bool has_started(const Value& state) {
  return state["state"].as_string() == "running" && state["started"].as_bool(true);
}

// An earlier run has ended; restarts are counted only when the next one begins.
bool has_run(const Value& state) {
  return state["last"].is_object();
}

// Adds what a container may use.
void add_resources(const Value& container, Value& status) {
  const Value& resources = container["resources"];
  if (const Value& requests = resources["requests"]; !requests.empty()) {
    status.set("allocatedResources", requests);
  }
  Value granted = Value::object();
  for (const char* member : {"limits", "requests"}) {
    if (!resources[member].empty()) {
      granted.set(member, resources[member]);
    }
  }
  status.set("resources", std::move(granted));
}

// Adds what else a kubelet reports of a started container: its mounts and its user.
void add_granted(const Object& pod, const Value& container, const Value& user, Value& status) {
  Value mounts = Value::list();
  for (const Value& mount : container["volumeMounts"].items()) {
    Value entry = Value::object({{"name", mount["name"]}, {"mountPath", mount["mountPath"]}});
    if (mount["readOnly"].as_bool()) {
      entry.set("readOnly", true);
      entry.set("recursiveReadOnly", "Disabled");
    }
    mounts.push_back(std::move(entry));
  }
  if (!mounts.empty()) {
    status.set("volumeMounts", std::move(mounts));
  }
  const Value& own = container["securityContext"];
  const Value& all = pod.spec()["securityContext"];
  const Value& id = own["runAsUser"].is_integer()   ? own["runAsUser"]
                    : all["runAsUser"].is_integer() ? all["runAsUser"]
                                                    : user;
  if (!id.is_integer()) {
    return;
  }
  const Value& group = own["runAsGroup"].is_integer() ? own["runAsGroup"] : all["runAsGroup"];
  const Value gid = group.is_integer() ? group : Value(0);
  Value groups = Value::list({gid});
  for (const Value& more : all["supplementalGroups"].items()) {
    groups.push_back(more);
  }
  if (all["fsGroup"].is_integer()) {
    groups.push_back(all["fsGroup"]);
  }
  status.set(
      "user",
      Value::object(
          {{"linux", Value::object({{"uid", id}, {"gid", gid}, {"supplementalGroups", groups}})}}));
}

Value container_status(const Object& pod, const Value& container, const Value& state,
                       const Value& user, Group group) {
  const std::string_view kind = state["state"].as_string();
  const std::string id = container_id(pod, container["name"].as_string());
  const bool running = kind == "running";
  Value status = Value::object(
      {{"name", container["name"]},
       {"image", container["image"]},
       {"imageID", ""},
       {"ready", group == Group::Init && !is_sidecar(state)
                     ? is_done(state)
                     : running && state["ready"].as_bool(true)},
       {"started", has_started(state)},
       {"restartCount", state["restarts"].as_int()},
       {"lastState", state["last"].is_object()
                         ? Value::object({{"terminated", terminated(state["last"], id)}})
                         : Value::object()}});
  Value now_state = Value::object();
  if (running) {
    now_state.set("running", Value::object({{"startedAt", state["startedAt"]}}));
  } else if (kind == "terminated") {
    now_state.set("terminated", terminated(state, id));
  } else {
    Value waiting = Value::object(
        {{"reason", state["reason"].as_string().empty() ? "ContainerCreating"
                                                        : state["reason"].as_string()}});
    if (!state["message"].as_string().empty()) {
      waiting.set("message", state["message"]);
    }
    now_state.set("waiting", waiting);
  }
  if (kind == "running" || kind == "terminated") {
    status.set("imageID", image_id(container["image"].as_string()));
    status.set("containerID", id);
    add_resources(container, status);
    add_granted(pod, container, user, status);
  } else if (has_run(state)) {
    add_resources(container, status);
  }
  status.set("state", now_state);
  return status;
}

Value container_statuses(const Object& pod, const char* list, const Value& states,
                         const Value& user, Group group = Group::Main) {
  Value statuses = Value::list();
  for (const Value& container : pod.spec()[list].items()) {
    statuses.push_back(container_status(
        pod, container, find_named(states, container["name"].as_string()), user, group));
  }
  return statuses;
}

// Containers that wait in a pod with init containers have a kubelet's reason.
Value with_initializing(const Value& states) {
  Value list = Value::list();
  for (Value state : states.items()) {
    if (state["state"].as_string() == "waiting" && state["reason"].as_string().empty()) {
      state.set("reason", "PodInitializing");
    }
    list.push_back(std::move(state));
  }
  return list;
}

// The init containers that have not succeeded, as a kubelet lists them; empty: all have.
std::string incomplete(const Value& states) {
  std::string names;
  for (const Value& state : states.items()) {
    const bool pending_sidecar =
        !has_started(state) && !has_run(state) && state["state"].as_string() != "terminated";
    if (is_sidecar(state) ? pending_sidecar : !is_done(state)) {
      names += fmt::format("{}{}", names.empty() ? "" : " ", state["name"].as_string());
    }
  }
  return names;
}

bool any_started(const Value& states) {
  return std::ranges::any_of(states.items(), [](const Value& s) {
    return s["state"].as_string() == "running" || s["state"].as_string() == "terminated" ||
           has_run(s);
  });
}

std::string phase_of(const Value& state) {
  if (all_ended(state)) {
    const auto failed = [](const Value& s) { return s["exitCode"].as_int() != 0; };
    const bool bad = std::ranges::any_of(state["containers"].items(), failed) ||
                     std::ranges::any_of(state["init"].items(), [&](const Value& s) {
                       return !is_sidecar(s) && failed(s);
                     });
    return bad ? "Failed" : "Succeeded";
  }
  // While init containers run, a pod is still pending.
  return any_started(state["containers"]) ? "Running" : "Pending";
}

class Conditions {
 public:
  Conditions(const Object& pod, Instant now) : list_(pod.status()["conditions"]), now_(now) {
    if (const Value& generation = pod.metadata()["generation"]; generation.is_integer()) {
      generation_ = generation.as_int();
    }
  }
  void set(const char* type, bool value, const char* reason = "", const std::string& message = {}) {
    set_condition(list_,
                  {.type = type,
                   .status = value ? "True" : "False",
                   .reason = reason,
                   .message = message,
                   .observed_generation = generation_},
                  now_);
  }
  void remove(std::string_view type) {
    if (find_condition(list_, type).is_null()) {
      return;
    }
    Value kept = Value::list();
    for (const Value& condition : list_.items()) {
      if (condition["type"].as_string() != type) {
        kept.push_back(condition);
      }
    }
    list_ = std::move(kept);
  }
  [[nodiscard]] const Value& list() const { return list_; }

 private:
  Value list_;
  Instant now_;
  std::optional<std::int64_t> generation_{};
};

Value base_status(const Object& pod, const std::string& address, Instant now) {
  Value status = Value::object();
  if (const Value& generation = pod.metadata()["generation"]; generation.is_integer()) {
    status.set("observedGeneration", generation);
  }
  const Value& started = pod.status()["startTime"];
  status.set("startTime", started.is_null() ? Value(format_time(now)) : started);
  status.set("hostIP", kHostAddress);
  status.set("hostIPs", Value::list({Value::object({{"ip", kHostAddress}})}));
  status.set("podIP", address);
  status.set("podIPs", Value::list({Value::object({{"ip", address}})}));
  return status;
}

std::string unready(const Value& statuses) {
  std::string names;
  for (const Value& status : statuses.items()) {
    if (!status["ready"].as_bool()) {
      names += fmt::format("{}{}", names.empty() ? "" : " ", status["name"].as_string());
    }
  }
  return fmt::format("containers with unready status: [{}]", names);
}

// What the pod's readiness gates miss, in a kubelet's words; empty: all conditions are true.
std::string unready_gates(const Object& pod) {
  std::string text;
  for (const Value& gate : pod.spec()["readinessGates"].items()) {
    const std::string_view type = gate["conditionType"].as_string();
    const Value& condition = find_condition(pod.status()["conditions"], type);
    if (condition["status"].as_string() == "True") {
      continue;
    }
    text += text.empty() ? "" : ", ";
    text += condition.is_null()
                ? fmt::format(
                      "corresponding condition of pod readiness gate \"{}\" does not exist.", type)
                : fmt::format("the status of pod readiness gate \"{}\" is not \"True\", but {}",
                              type, condition["status"].as_string());
  }
  return text;
}

}  // namespace

bool is_terminal(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed";
}

bool all_ended(const Value& state) {
  const auto failed = [](const Value& s) {
    return !is_sidecar(s) && s["state"].as_string() == "terminated" && s["exitCode"].as_int() != 0;
  };
  const auto runs = [](const Value& s) { return s["state"].as_string() == "running"; };
  if (std::ranges::any_of(state["init"].items(), runs)) {
    return false;
  }
  if (std::ranges::any_of(state["init"].items(), failed)) {
    return std::ranges::none_of(state["containers"].items(), runs);
  }
  return !state["containers"].empty() &&
         std::ranges::all_of(state["containers"].items(),
                             [](const Value& s) { return s["state"].as_string() == "terminated"; });
}

Value running_status(const Object& original, const std::string& address, const Value& state,
                     Instant now) {
  const Object pod = state["resources"].is_object() ? with_resources(original, state["resources"])
                                                    : granted_pod(original);
  Value status = base_status(pod, address, now);
  const std::string phase =
      state.contains("phase") ? state["phase"].str() : phase_of(state);  // of failed_status()
  status.set("phase", phase);
  const std::string uninitialized = incomplete(state["init"]);
  const bool has_init = !pod.spec()["initContainers"].empty();
  const Value statuses = container_statuses(
      pod, "containers", has_init ? with_initializing(state["containers"]) : state["containers"],
      state["user"]);
  status.set("containerStatuses", statuses);
  if (has_init) {
    status.set("initContainerStatuses",
               container_statuses(pod, "initContainers", with_initializing(state["init"]),
                                  state["user"], Group::Init));
  }
  if (!state["ephemeral"].empty()) {
    status.set("ephemeralContainerStatuses",
               container_statuses(pod, "ephemeralContainers", state["ephemeral"], state["user"]));
  }
  Conditions conditions(pod, now);
  const bool over = phase == "Succeeded" || phase == "Failed";
  const bool ready =
      phase == "Running" &&
      std::ranges::all_of(statuses.items(), [](const Value& s) { return s["ready"].as_bool(); });
  conditions.set("PodReadyToStartContainers", !over);
  if (uninitialized.empty()) {
    conditions.set("Initialized", true, phase == "Succeeded" ? "PodCompleted" : "");
  } else {
    conditions.set("Initialized", false, "ContainersNotInitialized",
                   fmt::format("containers with incomplete status: [{}]", uninitialized));
  }
  const std::string gates = unready_gates(pod);
  for (const char* type : {"Ready", "ContainersReady"}) {
    if (phase == "Succeeded") {
      conditions.set(type, false, "PodCompleted");
    } else if (phase == "Failed") {
      conditions.set(type, false, "PodFailed");
    } else if (ready && !gates.empty() && type == std::string_view("Ready")) {
      conditions.set(type, false, "ReadinessGatesNotReady", gates);
    } else if (ready) {
      conditions.set(type, true);
    } else {
      conditions.set(type, false, "ContainersNotReady", unready(statuses));
    }
  }
  if (const Value& pending = state["resizePending"]; pending.is_object()) {
    conditions.set("PodResizePending", true, pending["reason"].str().c_str(),
                   pending["message"].str());
  } else {
    conditions.remove("PodResizePending");
  }
  status.set("conditions", conditions.list());
  return status;
}

Value waiting_status(const Object& pod, const std::string& address, std::string_view reason,
                     std::string_view message, std::string_view container, Instant now) {
  Value state = Value::object({{"containers", Value::list()}});
  for (const Value& entry : pod.spec()["containers"].items()) {
    const bool culprit = container.empty() || entry["name"].as_string() == container;
    state.member("containers")
        .push_back(
            Value::object({{"name", entry["name"]},
                           {"state", "waiting"},
                           {"reason", culprit ? reason : std::string_view("ContainerCreating")},
                           {"message", culprit ? message : std::string_view()}}));
  }
  // A kubelet names the problem of a missing volume in an event, not in the container's state.
  if (reason == "ContainerCreating") {
    for (std::size_t i = 0; i < state["containers"].size(); ++i) {
      state.member("containers").item(i).set("message", "");
    }
  }
  return running_status(pod, address, state, now);
}

Value failed_status(const Object& pod, const std::string& address, const Value& state,
                    std::string_view reason, std::string_view message, Instant now) {
  Value ended = state;
  const std::string time = format_time(now);
  Value containers = Value::list();
  for (const Value& entry : pod.spec()["containers"].items()) {
    Value known = find_named(state["containers"], entry["name"].as_string());
    if (known["state"].as_string() != "terminated") {
      known = Value::object({{"name", entry["name"]},
                             {"state", "terminated"},
                             {"exitCode", kKilledCode},
                             {"reason", "Error"},
                             {"startedAt", known["startedAt"]},
                             {"finishedAt", time}});
    }
    containers.push_back(std::move(known));
  }
  ended.set("containers", containers);
  ended.set("phase", "Failed");  // whatever codes its containers end with
  Value status = running_status(pod, address, ended, now);
  status.set("reason", reason);
  status.set("message", message);
  return status;
}

}  // namespace athanor::nodes
