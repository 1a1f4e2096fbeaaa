// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/exporter/process.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "kube/text/json.hpp"
#include "systems/numa/model/kinds.hpp"

namespace athanor::numa {
namespace {

// Verbosity from which every round, and what it publishes, is logged.
constexpr std::int64_t kLogRounds = 4;
constexpr std::int64_t kLogContent = 6;
// In which a kubelet that started has read its pods.
constexpr Duration kKubeletStart = std::chrono::seconds(30);

}  // namespace

ExporterProcess::ExporterProcess(ExporterConfig config, ExporterPorts& ports, Key own_pod)
    : config_(std::move(config)),
      ports_(ports),
      own_pod_(std::move(own_pod)),
      events_(config_.sleep_interval, config_.max_events, config_.event_unit, ports.now()),
      planner_(config_.hostname, config_.patch_mode, config_.patch_resync),
      metrics_(config_.hostname) {}

Result<void> ExporterProcess::start() {
  ATHANOR_TRY(hardware_, ports_.hardware());
  auto allocatable = ports_.allocatable();
  if (!allocatable.ok()) {
    metrics_.call_failed("get_allocatable_resources");
    return allocatable.error();
  }
  allocatable_ = *std::move(allocatable);
  return {};
}

bool ExporterProcess::run_due() {
  const auto due = events_.due(ports_.now());
  const auto trigger = events_.take(ports_.now());
  if (!trigger) {
    return false;
  }
  metrics_.woke(*trigger, ports_.now() - due.value_or(ports_.now()));
  run_round(*trigger);
  last_ = ports_.now();
  return true;
}

// The Node's uid for the owner, and its capacity: another one means that the kubelet's may differ.
// The round goes on where the Node itself cannot be read.
std::optional<RoundOutcome> ExporterProcess::refresh_node() {
  if (!config_.refresh_node_resources && !(config_.add_nrt_owner && owner_uid_.empty())) {
    return std::nullopt;
  }
  const auto node = ports_.get(api::kNode, {"", config_.hostname});
  if (!node.ok()) {
    ports_.log(fmt::format("node {}: {}", config_.hostname, node.error().message));
    return std::nullopt;
  }
  owner_uid_ = node->uid();
  const Value resources = Value::object(
      {{"capacity", node->status()["capacity"]}, {"allocatable", node->status()["allocatable"]}});
  if (config_.refresh_node_resources && !node_resources_.is_null() &&
      resources != node_resources_) {
    auto allocatable = ports_.allocatable();
    if (!allocatable.ok()) {
      metrics_.call_failed("get_allocatable_resources");
      ports_.log("podresources: " + allocatable.error().message);
      return RoundOutcome{.scanned = false, .written = false};
    }
    auto hardware = ports_.hardware();
    if (!hardware.ok()) {
      ports_.log("hardware: " + hardware.error().message);
      return RoundOutcome{.scanned = true, .written = false};
    }
    allocatable_ = *std::move(allocatable);
    hardware_ = *std::move(hardware);
  }
  node_resources_ = resources;
  return std::nullopt;
}

// A kubelet that starts lists its pods only when it has read them from the API server: until then
// what they held counts as held, or their cpus would be given away.
void ExporterProcess::keep_unlisted(std::vector<PodResources>& pods) {
  const std::string kubelet = ports_.kubelet();
  if (!kubelet_.empty() && kubelet != kubelet_) {
    kept_until_ = ports_.now() + kKubeletStart;
  }
  kubelet_ = kubelet;
  if (ports_.now() < kept_until_) {
    for (const PodResources& before : listed_) {
      if (std::ranges::find(pods, before.key, &PodResources::key) == pods.end()) {
        pods.push_back(before);
      }
    }
  }
  listed_ = pods;
}

void ExporterProcess::run_round(Trigger trigger) {
  if (const auto failed = refresh_node()) {
    report(*failed);
    return;
  }
  const Instant began = ports_.now();
  auto pods = ports_.list();
  metrics_.took("podresources_scan", trigger, ports_.now() - began);
  RoundInput input{.trigger = trigger, .owner_uid = owner_uid_};
  if (!pods.ok()) {
    metrics_.call_failed("list");
    ports_.log("podresources: " + pods.error().message);
    report({.scanned = false, .written = false});
    return;
  }
  keep_unlisted(*pods);
  input.pods = *pods;
  if (config_.exclude_terminal_pods) {
    auto ended = ports_.ended_pods(config_.hostname);
    if (!ended.ok()) {
      ports_.log("pods: " + ended.error().message);
      report({.scanned = true, .written = false});
      return;
    }
    input.ended = *std::move(ended);
  }
  input.since_last = last_ ? began - *last_ : Duration(0);
  const RoundOutput round = compute_round(config_, hardware_, allocatable_, input);
  if (config_.fingerprint) {
    ports_.write_status(config_.hostname, round.counted, round.fingerprint);
  }
  const bool written = config_.no_publish || publish(round.content, trigger);
  tell_round(trigger, *pods, round);
  metrics_.took("node_resource_object_update", trigger, ports_.now() - began);
  report({.scanned = true, .written = written});
}

void ExporterProcess::tell_round(Trigger trigger, const std::vector<PodResources>& pods,
                                 const RoundOutput& round) {
  if (config_.verbosity() >= kLogRounds) {
    ports_.log(fmt::format("round ({}): {} pods listed, {} under the fingerprint {}",
                           text_of(trigger), pods.size(), round.counted.size(), round.fingerprint));
  }
  if (config_.verbosity() >= kLogContent) {
    ports_.log("content: " + json::print(round.content));
  }
}

bool ExporterProcess::publish(const Value& content, Trigger trigger) {
  WriteStep step = planner_.next(content);
  if (step.kind == WriteStep::Kind::Nothing) {
    metrics_.wrote("unchanged", trigger);
    planner_.written(step, content);
    return true;
  }
  if (step.kind == WriteStep::Kind::Patch) {
    const auto patched = ports_.patch_topology(config_.hostname, step.patch);
    if (patched.ok()) {
      metrics_.patched(step.patch_ratio);
      metrics_.wrote("patch", trigger);
      planner_.written(step, content);
      return true;
    }
    // The same round writes the whole object.
    metrics_.patch_failed("send_patch");
    ports_.log("patch: " + patched.error().message);
    planner_.failed();
    step = planner_.next(content);
  }
  const auto operation = replace(content);
  if (!operation.ok()) {
    ports_.log("NodeResourceTopology: " + operation.error().message);
    planner_.failed();
    return false;
  }
  metrics_.wrote(*operation, trigger);
  planner_.written(step, content);
  return true;
}

// Returns the name of what it did.
Result<const char*> ExporterProcess::replace(const Value& content) {
  const auto live = ports_.get(kTopologyKind, {"", config_.hostname});
  if (!live.ok() && live.error().code != 404) {
    return live.error();
  }
  if (!live.ok()) {
    ATHANOR_TRY_VOID(ports_.create_topology(create_body(config_.hostname, content)));
    return "create";
  }
  const Value body = update_body(*live, content);
  if (body.is_null()) {
    return "unchanged";
  }
  ATHANOR_TRY_VOID(ports_.update_topology(body));
  return "update";
}

void ExporterProcess::report(const RoundOutcome& outcome) {
  healthy_ = outcome.scanned && outcome.written;
  if (!config_.pod_readiness || own_pod_.name.empty()) {
    return;
  }
  const auto pod = ports_.get(api::kPod, own_pod_);
  if (!pod.ok()) {
    ports_.log("own pod: " + pod.error().message);
    return;
  }
  const Value conditions = pod_conditions(*pod, outcome, ports_.now());
  if (conditions.is_null()) {
    return;
  }
  if (const auto wrote = ports_.write_pod_conditions(own_pod_, conditions); !wrote.ok()) {
    ports_.log("own pod: " + wrote.error().message);
  }
}

}  // namespace athanor::numa
