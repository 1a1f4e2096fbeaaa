// SPDX-License-Identifier: Apache-2.0
// Gauges from NodeAccelerators and claims, times and counters from what becomes of pods and claims.
#include "systems/das/instruments.hpp"

#include <map>
#include <string>
#include <tuple>

#include "api/builtin.hpp"
#include "base/version/revision.hpp"
#include "kube/value/condition.hpp"
#include "systems/das/gpus/fleet.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/request.hpp"
#include "systems/das/model/reservation.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/slices/slots.hpp"
#include "systems/das/verb/gpu_states.hpp"

namespace athanor::das {
namespace {

constexpr std::string_view kSlices = "das_slices";
constexpr std::string_view kSlotsTotal = "das_slots_total";
constexpr std::string_view kSlotsFree = "das_slots_free";
constexpr std::string_view kShares = "das_shares";
constexpr std::string_view kSharesTotal = "das_shares_total";
constexpr std::string_view kSharesFree = "das_shares_free";
constexpr std::string_view kRemaining = "das_profile_capacity_remaining";
constexpr std::string_view kFragmentation = "das_fragmentation_ratio";
constexpr std::string_view kClaimPhase = "das_claim_phase_seconds";
constexpr std::string_view kSchedule = "das_schedule_seconds";
constexpr std::string_view kFailures = "das_allocation_failures_total";
constexpr std::string_view kCollected = "das_claims_garbage_collected_total";
constexpr std::string_view kBuild = "openshift_instaslice_operator_build_info";
// Names of the older design, for its dashboards.
constexpr std::string_view kOldCompatible = "instaslice_compatible_profiles";
constexpr std::string_view kOldProcessed = "instaslice_total_processed_gpu_slices";
constexpr std::string_view kOldPod = "instaslice_pod_processed_slices";

constexpr MetricInfo kMetrics[] = {
    {.name = kSlices, .help = "Claims by node, GPU, profile and state."},
    {.name = kSlotsTotal, .help = "Memory slots of a GPU."},
    {.name = kSlotsFree,
     .help = "Memory slots of a GPU that nothing holds; 0 of a GPU that takes no slice."},
    {.name = kShares, .help = "Claims of shares by node, GPU, resource, pod and state."},
    {.name = kSharesTotal, .help = "Shares, partitions or virtual functions of a shared GPU."},
    {.name = kSharesFree, .help = "Shares of a GPU that can be handed out."},
    {.name = kRemaining, .help = "How many more slices of a profile fit on a node."},
    {.name = kFragmentation, .help = "1 - largest slice that fits / free slots of a GPU."},
    {.name = kClaimPhase,
     .help = "How long claims stay in a state.",
     .type = MetricType::Histogram},
    {.name = kSchedule,
     .help = "How long pods with slices wait for a node.",
     .type = MetricType::Histogram},
    {.name = kFailures,
     .help = "Pods that found no slice, or failed on their node, by reason.",
     .type = MetricType::Counter},
    {.name = kCollected,
     .help = "What was left of claims and is collected, by reason.",
     .type = MetricType::Counter},
    {.name = kBuild, .help = "1, with the version of the program."},
    {.name = kOldCompatible, .help = "As das_profile_capacity_remaining."},
    {.name = kOldProcessed, .help = "Memory slots of a GPU that are held."},
    {.name = kOldPod, .help = "Memory slots that a pod holds."},
};

void measure_gpus(const FleetNode& node, Samples& samples) {
  std::map<std::string, int> room;
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const GpuSlots& gpu = node.gpus[i];
    const std::string& uuid = node.inventory.gpus[i].uuid;
    const MetricLabels labels{{"node", node.name}, {"gpu", uuid}};
    const int free = free_slots(*gpu.table, gpu.occupancy);
    samples.push_back(
        {.metric = kSlotsTotal, .labels = labels, .value = static_cast<double>(gpu.table->slots)});
    samples.push_back({.metric = kSlotsFree,
                       .labels = labels,
                       .value = gpu.open ? static_cast<double>(free) : 0.0});
    samples.push_back({.metric = kFragmentation,
                       .labels = labels,
                       .value = gpu.open ? fragmentation(*gpu.table, gpu.occupancy) : 0.0});
    samples.push_back({.metric = kOldProcessed,
                       .labels = {{"node", node.name}, {"gpu_id", uuid}},
                       .value = static_cast<double>(gpu.table->slots - free)});
    for (std::size_t p = 0; p < gpu.table->profiles.size(); ++p) {
      room[gpu.table->profiles[p].name] +=
          gpu.open ? remaining(*gpu.table, gpu.occupancy, static_cast<int>(p)) : 0;
    }
  }
  for (const auto& [profile, count] : room) {
    for (const std::string_view metric : {kRemaining, kOldCompatible}) {
      samples.push_back({.metric = metric,
                         .labels = {{"node", node.name}, {"profile", profile}},
                         .value = static_cast<double>(count)});
    }
  }
}

void measure_claims(const std::vector<FleetNode>& fleet, Samples& samples) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, double> slices;
  for (const FleetNode& node : fleet) {
    for (const Claim& claim : node.claims) {
      slices[{node.name, claim.gpu, claim.profile, claim.state}] += 1;
      samples.push_back({.metric = kOldPod,
                         .labels = {{"node", node.name},
                                    {"gpu_id", claim.gpu},
                                    {"namespace", claim.pod.ns},
                                    {"podname", claim.pod.name},
                                    {"profile", claim.profile}},
                         .value = static_cast<double>(claim.size)});
    }
  }
  for (const auto& [key, count] : slices) {
    const auto& [node, gpu, profile, state] = key;
    samples.push_back(
        {.metric = kSlices,
         .labels = {{"node", node}, {"gpu", gpu}, {"profile", profile}, {"state", state}},
         .value = count});
  }
}

void measure_shares(const GpuState& gpu, Samples& samples) {
  const MetricLabels labels{{"node", gpu.node}, {"gpu", gpu.uuid}, {"resource", gpu.resource}};
  samples.push_back(
      {.metric = kSharesTotal, .labels = labels, .value = static_cast<double>(gpu.total)});
  samples.push_back(
      {.metric = kSharesFree, .labels = labels, .value = static_cast<double>(gpu.free)});
  std::map<std::tuple<std::string, Key, std::string>, double> held;
  for (const GpuHolder& holder : gpu.holders) {
    held[{holder.profile, holder.pod, holder.state}] += 1;
  }
  for (const auto& [key, count] : held) {
    const auto& [resource, pod, state] = key;
    samples.push_back({.metric = kShares,
                       .labels = {{"node", gpu.node},
                                  {"gpu", gpu.uuid},
                                  {"resource", resource},
                                  {"namespace", pod.ns},
                                  {"pod", pod.name},
                                  {"state", state}},
                       .value = count});
  }
}

void measure(const View& view, Samples& samples) {
  const std::string ns = settings_of(view).ns;
  const std::vector<Object> nodes = view.list(kNodeAccelerator, {.ns = ns});
  const std::vector<Object> claims = view.list(kAllocationClaim, {.ns = ns});
  const std::vector<FleetNode> fleet = read_fleet(nodes, claims);
  for (const GpuState& gpu : gpu_states(nodes, claims).gpus) {
    if (!gpu.sliced()) {
      measure_shares(gpu, samples);
    }
  }
  for (const FleetNode& node : fleet) {
    measure_gpus(node, samples);
  }
  measure_claims(fleet, samples);
  samples.push_back({.metric = kBuild,
                     .labels = {{"major", ATHANOR_VERSION_MAJOR},
                                {"minor", ATHANOR_VERSION_MINOR},
                                {"gitCommit", std::string(revision())},
                                {"gitVersion", "v" ATHANOR_VERSION}}});
}

// A claim that names no pod lives until it is collected (docs/spec/das.md G8).
bool names_no_pod(const Object& claim) {
  const Value& pod = claim.spec()["podRef"];
  return !is_mirror(claim) && !is_reservation(claim) &&
         (pod["uid"].as_string().empty() || pod["name"].as_string().empty());
}

void follow_claim(const ObjectChanged& change, Samples& samples) {
  const Object& newest = change.after != nullptr ? *change.after : *change.before;
  const std::string uid(newest.uid());
  if (change.after == nullptr) {
    samples.push_back({.metric = kClaimPhase, .act = Sample::Act::Leave, .key = uid});
    if (names_no_pod(newest)) {
      samples.push_back({.metric = kCollected, .labels = {{"reason", "ClaimWithoutPod"}}});
    }
    return;
  }
  const std::string state = change.after->status()["state"].str();
  if (state.empty() ||
      (change.before != nullptr && change.before->status()["state"].as_string() == state)) {
    return;
  }
  samples.push_back({.metric = kClaimPhase,
                     .labels = {{"phase", state}},
                     .act = change.before == nullptr ? Sample::Act::Begin : Sample::Act::Enter,
                     .key = uid});
}

// The condition that says why a pod waits.
std::string_view waits_because(const Object* pod) {
  return pod == nullptr
             ? std::string_view()
             : find_condition(pod->status()["conditions"], "PodScheduled")["message"].as_string();
}

bool waits(const Object& pod) {
  return pod.spec()["nodeName"].as_string().empty() && !pod.deleting();
}

void follow_pod(const ObjectChanged& change, Samples& samples) {
  const Object& newest = change.after != nullptr ? *change.after : *change.before;
  if (slices_of(newest.spec()).empty()) {
    return;
  }
  const std::string uid(newest.uid());
  const bool waited = change.before != nullptr && waits(*change.before);
  const bool waiting = change.after != nullptr && waits(*change.after);
  if (waiting && !waited) {
    // One that was tried before may have waited for long.
    const bool known = !waits_because(change.after).empty();
    samples.push_back(
        {.metric = kSchedule, .act = known ? Sample::Act::Begin : Sample::Act::Enter, .key = uid});
  } else if (waited && !waiting) {
    samples.push_back({.metric = kSchedule, .act = Sample::Act::Leave, .key = uid});
  }
  if (change.before == nullptr || change.after == nullptr) {
    return;
  }
  const auto refused = [](const Object* pod) {
    return waits_because(pod).find(kNoGpu) != std::string_view::npos;
  };
  if (refused(change.after) && !refused(change.before)) {
    samples.push_back({.metric = kFailures, .labels = {{"reason", kNoGpu}}});
  }
  constexpr std::string_view kRejected = "UnexpectedAdmissionError";
  const auto rejected = [&](const Object* pod) {
    return pod->status()["reason"].as_string() == kRejected;
  };
  if (rejected(change.after) && !rejected(change.before)) {
    samples.push_back({.metric = kFailures, .labels = {{"reason", std::string(kRejected)}}});
  }
}

void count_change(const ObjectChanged& change, Samples& samples) {
  if (&change.kind == &kAllocationClaim) {
    follow_claim(change, samples);
  } else if (&change.kind == &api::kPod) {
    follow_pod(change, samples);
  }
}

constexpr const Kind* kKinds[] = {&kNodeAccelerator, &kAllocationClaim, &api::kPod};

}  // namespace

const Instruments& das_instruments() {
  static constexpr Instruments kInstruments{
      .metrics = kMetrics, .kinds = kKinds, .state = measure, .changed = count_change};
  return kInstruments;
}

}  // namespace athanor::das
