// SPDX-License-Identifier: Apache-2.0
// The emulated kubelet: one pod from its binding to its end. It decides; a PodRuntime does.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "api/builtin.hpp"
#include "embedded/nodes/emulated_node.hpp"
#include "embedded/nodes/image_entrypoints.hpp"
#include "embedded/nodes/mixed_runtime.hpp"
#include "embedded/nodes/nodes.hpp"
#include "embedded/nodes/pod_address.hpp"
#include "embedded/nodes/pod_fields.hpp"
#include "embedded/nodes/pod_runtime.hpp"
#include "embedded/nodes/pod_status.hpp"
#include "embedded/nodes/resources/pod_resize.hpp"
#include "embedded/nodes/sandbox_security.hpp"
#include "embedded/nodes/sandbox_spec.hpp"
#include "embedded/nodes/sandbox_volumes.hpp"

namespace athanor::nodes {
namespace {

// A pod's state is pushed by the runtime; asked for only when nothing is known yet.
constexpr Duration kNeverStale = std::chrono::hours(24 * 365 * 100);
constexpr std::int64_t kDefaultGraceSeconds = 30;

Ref ref_of(const Object& pod) {
  return {&api::kPod, pod.key()};
}

void write_status(Plan& plan, const Object& pod, Value status) {
  plan.then(Status{.target = ref_of(pod),
                   .status = std::move(status),
                   .guard = {.uid = std::string(pod.uid())}});
}

void stop(Plan& plan, std::string_view uid, std::int64_t grace_seconds) {
  plan.then(Act{.id = fmt::format("{}/stop/{}", uid, grace_seconds),
                .verb = std::string(kStopVerb),
                .args = Value::object({{"uid", uid}, {"graceMs", grace_seconds * 1000}})});
}

void forget(Plan& plan, std::string_view uid) {
  plan.then(Act{.id = fmt::format("{}/forget", uid),
                .verb = std::string(kForgetVerb),
                .args = Value::object({{"uid", uid}})});
}

void emit(Plan& plan, const Object& pod, const char* type, const char* reason, std::string note) {
  plan.then(Emit{.about = ref_of(pod),
                 .about_uid = std::string(pod.uid()),
                 .type = type,
                 .reason = reason,
                 .note = std::move(note)});
}

bool on_emulated_node(const View& view, const Object& pod) {
  const std::string node = pod.spec()["nodeName"].str();
  if (node.empty()) {
    return false;
  }
  const auto object = view.get(api::kNode, {"", node});
  // A deleted node's pods are ended by the remaining controllers.
  return object ? object->label(kEmulatedLabel) == "true" : pod.deleting();
}

// The kubelet of a node that has failed does nothing: what runs goes on, what is to begin or to end
// waits for its return.
bool on_failed_node(const View& view, const Object& pod) {
  const std::string node = pod.spec()["nodeName"].str();
  const auto object = node.empty() ? std::nullopt : view.get(api::kNode, {"", node});
  return object && has_failed(*object);
}

// The pod object is gone, by force or with its namespace: nothing of it may go on running.
Plan clean_up(const Value& state) {
  Plan plan;
  if (const std::string_view uid = state["uid"].as_string(); !uid.empty()) {
    if (all_ended(state)) {
      forget(plan, uid);
    } else {
      stop(plan, uid, 0);
    }
  }
  return plan;
}

Plan end(const View& view, const Object& pod, const Value& state, Instant now) {
  Plan plan;
  const bool known = state["uid"].as_string() == pod.uid();
  if (known && !all_ended(state)) {
    stop(plan, pod.uid(),
         pod.metadata()["deletionGracePeriodSeconds"].as_int(kDefaultGraceSeconds));
    write_status(plan, pod, running_status(pod, pod_address(view, pod), state, now));
    return plan;
  }
  if (known) {
    if (!is_terminal(pod)) {
      write_status(plan, pod, running_status(pod, pod_address(view, pod), state, now));
    }
    forget(plan, pod.uid());
  }
  plan.then(
      Delete{.target = ref_of(pod), .guard = {.uid = std::string(pod.uid())}, .grace_seconds = 0});
  return plan;
}

// spec.activeDeadlineSeconds counts from the start of the pod.
std::optional<Instant> deadline_of(const Object& pod) {
  const Value& seconds = pod.spec()["activeDeadlineSeconds"];
  const auto started = parse_time(pod.status()["startTime"].as_string());
  if (!seconds.is_integer() || !started) {
    return std::nullopt;
  }
  return *started + std::chrono::seconds(seconds.as_int());
}

// Names the limits that nothing here enforces: "cpu and memory".
std::string unmet_limits(const View& view, const Object& pod) {
  std::string unmet;
  // Memory of processes is measured where no cgroup limits it; those that only take time use none.
  const LabUser user = lab_user(view);
  for (const char* name : {"cpu", "memory", "ephemeral-storage"}) {
    const auto limits = [name](const Value& one) {
      return one["resources"]["limits"].contains(name);
    };
    const bool limited = limits(pod.spec()) ||
                         std::ranges::any_of(pod.spec()["containers"].items(), limits) ||
                         std::ranges::any_of(pod.spec()["initContainers"].items(), limits);
    const bool met = name == std::string_view("memory")
                         ? user.id >= 0
                         : user.cpu_limits && name == std::string_view("cpu");
    if (limited && !met) {
      unmet += (unmet.empty() ? "" : " and ") + std::string(name);
    }
  }
  return unmet;
}

// Says which fields of the spec have no effect.
void note_fields(const Object& pod, const Value& spec, Plan& plan) {
  std::string noted;
  for (const std::string& field : noted_fields(spec)) {
    noted += (noted.empty() ? "" : ", ") + field;
  }
  if (!noted.empty()) {
    emit(plan, pod, "Warning", "FieldsNotApplied",
         fmt::format("Fields that have no effect on emulated nodes: {}", noted));
  }
}

// Containers that joined the pod since it was started (kubectl debug).
void add_ephemeral(const View& view, const Object& pod, const Value& state, Plan& plan) {
  const auto known = state["ephemeral"].size();
  const std::size_t wanted = pod.spec()["ephemeralContainers"].size();
  if (wanted <= known || all_ended(state) || state["stopping"].as_bool()) {
    return;
  }
  const SandboxSpec spec = make_sandbox_spec(view, pod);
  if (!spec.waiting_reason.empty()) {
    return emit(plan, pod, "Warning", "Failed", spec.waiting_message);
  }
  const Value added = Value::object({{"ephemeralContainers", pod.spec()["ephemeralContainers"]}});
  note_fields(pod, added, plan);
  plan.then(Act{.id = fmt::format("{}/extend/{}", pod.uid(), wanted),
                .verb = std::string(kExtendVerb),
                .args = spec.value});
}

// What the volumes' sources hold now. One that is missing meanwhile leaves the volume as it is.
void update_volumes(const View& view, const Object& pod, const Value& state, Plan& plan) {
  const Value& known = state["volumes"];
  if (!known.is_object() || state["stopping"].as_bool()) {
    return;
  }
  std::vector<std::string> problems;
  const Value volumes = sandbox_volumes(view, pod, problems);
  const std::string digest = volumes_digest(volumes);
  if (!problems.empty() || digest == known["digest"].as_string()) {
    return;
  }
  plan.then(
      Act{.id = fmt::format("{}/volumes/{}", pod.uid(), known["version"].as_int() + 1),
          .verb = std::string(kUpdateVerb),
          .args = Value::object({{"uid", pod.uid()}, {"volumes", volumes}, {"digest", digest}})});
}

// Resizes the pod, or notes in `state` why it keeps what it has.
void resize(const View& view, const Object& pod, Value& state, Plan& plan) {
  const Value& granted = state["resources"];
  Value wanted = pod_resources(pod);
  if (!granted.is_object() || state["stopping"].as_bool() || wanted == granted) {
    return;
  }
  ResizeAnswer answer = answer_resize(view, pod, granted);
  if (!answer.reason.empty()) {
    state.set("resizePending",
              Value::object({{"reason", answer.reason}, {"message", answer.message}}));
    return;
  }
  plan.then(
      Act{.id = fmt::format("{}/resources/{}", pod.uid(), state["resourcesVersion"].as_int() + 1),
          .verb = std::string(kUpdateVerb),
          .args = Value::object({{"uid", pod.uid()},
                                 {"resources", std::move(wanted)},
                                 {"limits", container_limits(pod)},
                                 {"restarts", std::move(answer.restarts)}})});
}

// What happened to its containers, each thing once.
void write_events(const Object& pod, const Value& state, Plan& plan) {
  const Value& events = state["events"];
  if (events.empty()) {
    return;
  }
  for (const Value& event : events.items()) {
    plan.then(Emit{.about = ref_of(pod),
                   .about_uid = std::string(pod.uid()),
                   .type = event["type"].str(),
                   .reason = event["reason"].str(),
                   .note = event["note"].str(),
                   .id = fmt::format("{}/{}", pod.uid(), event["number"].as_int())});
  }
  const std::int64_t last = events[events.size() - 1]["number"].as_int();
  plan.then(Act{.id = fmt::format("{}/events/{}", pod.uid(), last),
                .verb = std::string(kEventsVerb),
                .args = Value::object({{"uid", pod.uid()}, {"last", last}})});
}

// Why a kubelet ends a pod, and the time that its containers have.
struct Ending {
  const char* event_type = "Warning";
  const char* reason = "";
  std::string message{};
  std::int64_t grace_seconds = 0;
};

// Ends a pod: it fails once its containers have ended, and shows them as they are until then.
void end_failed(const View& view, const Object& pod, const Value& state, const Ending& ending,
                Instant now, Plan& plan) {
  if (!state["stopping"].as_bool()) {
    plan.then(Emit{.about = ref_of(pod),
                   .about_uid = std::string(pod.uid()),
                   .type = ending.event_type,
                   .reason = ending.reason,
                   .note = ending.message,
                   .id = fmt::format("{}/{}", pod.uid(), ending.reason)});
  }
  write_events(pod, state, plan);
  const std::string address = pod_address(view, pod);
  const bool runs = !state["uid"].as_string().empty() && !all_ended(state);
  if (!runs) {
    write_status(plan, pod, failed_status(pod, address, state, ending.reason, ending.message, now));
    return;
  }
  stop(plan, pod.uid(), ending.grace_seconds);
  write_status(plan, pod, running_status(pod, address, state, now));
}

// Ends a pod that used more of its node than it may.
void evict(const View& view, const Object& pod, const Value& state, Instant now, Plan& plan) {
  constexpr std::int64_t kGraceSeconds = 1;
  end_failed(
      view, pod, state,
      {.reason = "Evicted", .message = state["evicted"].str(), .grace_seconds = kGraceSeconds}, now,
      plan);
}

// Ends a pod whose activeDeadlineSeconds are over.
void end_overdue(const View& view, const Object& pod, const Value& state, Instant now, Plan& plan) {
  end_failed(
      view, pod, state,
      {.event_type = "Normal",
       .reason = "DeadlineExceeded",
       .message = "Pod was active on the node longer than the specified deadline",
       .grace_seconds = pod.spec()["terminationGracePeriodSeconds"].as_int(kDefaultGraceSeconds)},
      now, plan);
}

using Hooks = std::span<const NodeHooks* const>;
using Environment = decltype(NodeAdmission::environment);
using Devices = decltype(NodeAdmission::devices);

// Over what the containers say for themselves; a runtime takes the last of equal names.
void add_environment(const Environment& environment, Value& spec) {
  for (const char* list : {"init", "containers"}) {
    for (std::size_t i = 0; i < spec[list].size(); ++i) {
      const auto found = environment.find(spec[list][i]["name"].as_string());
      if (found == environment.end()) {
        continue;
      }
      Value kept = Value::list();
      for (const Value& variable : spec[list][i]["env"].items()) {
        const bool replaced = std::ranges::any_of(
            found->second, [&](const auto& one) { return one.first == variable[0].as_string(); });
        if (!replaced) {
          kept.push_back(variable);
        }
      }
      for (const auto& [name, value] : found->second) {
        kept.push_back(Value::list({name, value}));
      }
      spec.member(list).item(i).set("env", std::move(kept));
    }
  }
}

// Adds the CDI devices to their containers. Files are named below the folder of emulated nodes,
// which runtimes know.
void add_devices(const Devices& devices, std::string_view node, Value& spec) {
  for (const char* list : {"init", "containers"}) {
    for (std::size_t i = 0; i < spec[list].size(); ++i) {
      const auto found = devices.find(spec[list][i]["name"].as_string());
      if (found == devices.end()) {
        continue;
      }
      Value values = Value::list();
      for (const NodeDevice& device : found->second) {
        values.push_back(Value::object({{"name", device.name},
                                        {"file", std::string(node) + device.file},
                                        {"poststop", device.poststop}}));
      }
      spec.member(list).item(i).set("devices", std::move(values));
    }
  }
}

// What the device managers of the node bring into a pod.
struct Brought {
  Environment environment{};
  Devices devices{};
};

// What the device managers of the node say; nullopt: the pod may start, with what they bring.
std::optional<Plan> admit(const View& view, const Object& pod, Instant now, Hooks hooks,
                          Plan& steps, Brought& brought) {
  const auto node = view.get(api::kNode, {"", pod.spec()["nodeName"].str()});
  for (const NodeHooks* one : hooks) {
    NodeAdmission admission = node ? one->admit(view, pod, *node, now) : NodeAdmission{};
    if (admission.answer == NodeAdmission::Answer::Refuse) {
      // A refusal is for good: it needs the node as it is, as the scheduler may have placed the pod
      // by a newer one.
      steps.then(Patch{.target = {&api::kNode, node->key()},
                       .merge = Value::object(),
                       .guard = {.uid = std::string(node->uid()),
                                 .resource_version = std::string(node->resource_version())}});
      steps.merge(std::move(admission.steps));
      const bool own = !admission.reason.empty();
      const std::string reason = own ? admission.reason : "UnexpectedAdmissionError";
      const std::string message =
          own ? admission.message
              : fmt::format("Allocate failed due to {}, which is unexpected", admission.message);
      write_status(steps, pod,
                   failed_status(pod, pod_address(view, pod), Value(), reason, message, now));
      emit(steps, pod, "Warning", reason.c_str(), message);
      return std::move(steps);
    }
    const bool waits = admission.answer == NodeAdmission::Answer::Wait;
    steps.merge(std::move(admission.steps));
    if (waits) {
      return std::move(steps);
    }
    for (auto& [container, variables] : admission.environment) {
      auto& all = brought.environment[container];
      std::ranges::move(variables, std::back_inserter(all));
    }
    for (auto& [container, devices] : admission.devices) {
      std::ranges::move(devices, std::back_inserter(brought.devices[container]));
    }
  }
  return std::nullopt;
}

// Reports how far the pod only takes time, and an annotation for it that has no effect.
void emit_simulation(const View& view, const Object& pod, const Value& spec, Plan& plan) {
  const Value& mixed = view.config("kubelet")["mixed"];
  if (mixed.as_bool() && is_timed(spec)) {
    emit(plan, pod, "Warning", "Timed", timed_reason(spec));
  }
  const std::string_view annotation = pod.annotation(kSimulateAnnotation);
  if (annotation.empty() || (spec.contains("simulate") && mixed.as_bool(true))) {
    return;
  }
  emit(plan, pod, "Warning", "SimulationIgnored",
       fmt::format("Annotation {} has no effect{}", kSimulateAnnotation,
                   spec.contains("simulate")
                       ? " in a lab that was started with --pods process"
                       : R"(: it is no JSON object such as {"CONTAINER": {"seconds": 5}})"));
}

Plan begin(const View& view, const Object& pod, Instant now, Hooks hooks) {
  Plan plan;
  if (view.config("kubelet")["loadsImages"].as_bool()) {
    const Observed images = view.observe(kImagesQuery, kNeverStale);
    if (!images.value && !images.error) {
      return plan;  // asked; runs again with the answer
    }
  }
  Brought brought;
  SandboxSpec spec = make_sandbox_spec(view, pod);
  if (!spec.waiting_reason.empty()) {
    write_status(plan, pod,
                 waiting_status(pod, pod_address(view, pod), spec.waiting_reason,
                                spec.waiting_message, spec.failing_container, now));
    emit(plan, pod, "Warning",
         spec.waiting_reason == "ContainerCreating" ? "FailedMount" : "Failed",
         spec.waiting_message);
    return plan;
  }
  if (auto held = admit(view, pod, now, hooks, plan, brought)) {
    return *std::move(held);
  }
  add_environment(brought.environment, spec.value);
  add_devices(brought.devices, pod.spec()["nodeName"].as_string(), spec.value);
  if (pod.status()["phase"].as_string() == "Running") {
    emit(plan, pod, "Warning", "SandboxChanged",
         "The node was restarted: the pod's containers start again");
  }
  if (const std::string unmet = unmet_limits(view, pod); !unmet.empty()) {
    emit(plan, pod, "Normal", "LimitsNotEnforced",
         fmt::format("Limits of {} are not enforced on emulated nodes", unmet));
  }
  emit_simulation(view, pod, spec.value, plan);
  note_fields(pod, pod.spec(), plan);
  for (std::string& text : unmet_security(pod, lab_user(view))) {
    emit(plan, pod, "Warning", "SecurityContextNotApplied", std::move(text));
  }
  plan.then(Act{.id = fmt::format("{}/start", pod.uid()),
                .verb = std::string(kStartVerb),
                .args = spec.value});
  return plan;
}

Plan reconcile_pod(const View& view, const Key& key, Instant now) {
  return run_pod(view, key, now, {});
}

}  // namespace

Plan run_pod(const View& view, const Key& key, Instant now,
             std::span<const NodeHooks* const> hooks) {
  const Observed observed = view.observe(pod_query(key.ns, key.name), kNeverStale);
  if (!observed.value) {
    return Plan::done();  // asked; runs again with the answer
  }
  Value state = *observed.value;
  if (const LabUser user = lab_user(view); user.id >= 0) {
    state.set("user", user.id);  // of containers that name none
  }
  const auto pod = view.get(api::kPod, key);
  if (!pod) {
    return clean_up(state);
  }
  const std::string_view runs = state["uid"].as_string();
  if (!runs.empty() && runs != pod->uid()) {
    return clean_up(state);  // an earlier pod of this name goes first
  }
  if ((runs.empty() && !on_emulated_node(view, *pod)) || on_failed_node(view, *pod)) {
    return Plan::done();
  }
  if (pod->deleting()) {
    Plan plan = end(view, *pod, state, now);
    write_events(*pod, state, plan);
    return plan;
  }
  Plan plan;
  if (is_terminal(*pod)) {
    write_events(*pod, state, plan);
    return plan;
  }
  if (!state["evicted"].as_string().empty()) {
    evict(view, *pod, state, now, plan);
    return plan;
  }
  const auto deadline = deadline_of(*pod);
  // A pod that ends by itself is not stopped: one that is was overdue before.
  if (deadline && *deadline <= now && (!all_ended(state) || state["stopping"].as_bool())) {
    end_overdue(view, *pod, state, now, plan);
    return plan;
  }
  if (runs.empty()) {
    plan = begin(view, *pod, now, hooks);
  } else {
    add_ephemeral(view, *pod, state, plan);
    update_volumes(view, *pod, state, plan);
    resize(view, *pod, state, plan);
    write_events(*pod, state, plan);
    write_status(plan, *pod, running_status(*pod, pod_address(view, *pod), state, now));
  }
  if (deadline && !all_ended(state)) {
    plan.wake_at(*deadline);
  }
  return plan;
}

std::string pod_query(std::string_view ns, std::string_view name) {
  return fmt::format("pod:{}/{}", ns, name);
}

const Operator& kubelet_operator() {
  static const Kind* const kReads[] = {
      &api::kPod,    &api::kNode, &api::kSecret, &api::kConfigMap, &api::kPersistentVolumeClaim,
      &api::kService};
  static const Kind* const kWrites[] = {&api::kPod, &api::kEvent, &api::kNode};
  static const Access kAccess[] = {{&api::kPod, "delete"},
                                   {&api::kPod, "patch", "status"},
                                   {&api::kEvent, "create patch"},
                                   {&api::kNode, "patch"}};
  static const Index kIndexes[] = {pod_address_index(), node_pods_index()};
  static const Operator kOperator{.name = "kubelet",
                                  .primary = &api::kPod,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .indexes = kIndexes,
                                  .reconcile = reconcile_pod,
                                  .user = "system:serviceaccount:kube-system:kubelet",
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::nodes
