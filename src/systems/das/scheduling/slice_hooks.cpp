// SPDX-License-Identifier: Apache-2.0
// Filter, score and reserve. Filter writes nothing: claims are made for the chosen node alone,
// before the pod is bound. A claim in any state occupies its slots for every other pod, so that a
// crash between claim and binding loses time and never a slot: the next cycle sees the pod's own
// claims, keeps those that it would make again and deletes the rest.
#include "systems/das/scheduling/slice_hooks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "api/builtin.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/log_level.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/request.hpp"
#include "systems/das/model/reservation.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/scheduling/wake.hpp"
#include "systems/das/slices/placement.hpp"
#include "systems/das/slices/profile.hpp"
#include "systems/das/slices/tables.hpp"

namespace athanor::das {
namespace {

constexpr std::int64_t kMostScore = 100;

// A slice reserved in this cycle, or a claim.
struct Held {
  std::string pod_uid{};
  std::string gpu{};
  std::string profile{};
  int start = 0;
  int size = 0;
  bool staged = false;  // provisional: another scheduler may take it away
};

// The GPUs of all nodes: read once for each state of the NodeAccelerators.
using Inventories = std::map<Key, NodeGpus>;
std::shared_ptr<const void> read_inventories(const View& view) {
  auto all = std::make_shared<Inventories>();
  for (const Object& object : view.list(kNodeAccelerator)) {
    all->emplace(object.key(), read_resources(object.status()["nodeResources"]));
  }
  return all;
}
constexpr const Kind* kInventoryKinds[] = {&kNodeAccelerator};
constexpr Derivation kInventories{.kinds = kInventoryKinds, .make = read_inventories};

struct NodeSlots {
  const NodeGpus* inventory = nullptr;
  std::vector<Held> held{};
};

class Session final : public SchedulingSession {
 public:
  Session(const View& view, Instant now) : view_(view), now_(now), settings_(settings_of(view)) {}

  bool concerns(const Object& pod) override { return !request_of(pod).empty(); }

  std::optional<HookRefusal> filter(const Object& pod, const Object& node,
                                    std::span<const std::string_view> leaving) override {
    if (node.label(kMigCapableLabel) != "true") {
      return HookRefusal{.reason = kNotCapable, .for_good = true};
    }
    const auto accelerator = view_.get(kNodeAccelerator, {settings_.ns, std::string(node.name())});
    if (!accelerator) {
      return HookRefusal{.reason = "nodeaccelerator.inference.redhat.com \"" +
                                   std::string(node.name()) + "\" not found",
                         .for_good = true};
    }
    const std::string type = accelerator->spec()["acceleratorType"].str();
    if (!type.empty() && type != kNvidiaMig) {
      return HookRefusal{.reason = "unsupported acceleratorType " + type, .for_good = true};
    }
    if (const std::string& problem = slots_of(*accelerator).inventory->problem; !problem.empty()) {
      return HookRefusal{
          .reason = fmt::format("failed to decode nodeResources of nodeaccelerator \"{}\": {}",
                                accelerator->name(), problem),
          .for_good = true};
    }
    if (all_dra(*accelerator)) {
      return std::nullopt;  // devices of ResourceClaims
    }
    if (const Reservation* kept = kept_for(pod); kept != nullptr && kept->node != node.name()) {
      return HookRefusal{
          .reason = fmt::format("slots are reserved for the pod on node {}", kept->node),
          .for_good = true};
    }
    if (const std::string_view wanted = pod.annotation(kGpuAnnotation);
        !wanted.empty() && !kept_for(pod)) {
      const std::vector<NodeGpu>& gpus = slots_of(*accelerator).inventory->gpus;
      if (std::ranges::find(gpus, wanted, &NodeGpu::uuid) == gpus.end()) {
        return HookRefusal{.reason = fmt::format("{} {}", kNoSuchGpu, wanted), .for_good = true};
      }
    }
    const PodSlices& request = request_of(pod);
    if (request.too_many || !find(pod, *accelerator, leaving)) {
      return HookRefusal{.reason = kNoGpu};
    }
    return std::nullopt;
  }

  std::int64_t score(const Object& pod, const Object& node) override {
    const auto accelerator = view_.get(kNodeAccelerator, {settings_.ns, std::string(node.name())});
    if (!accelerator || all_dra(*accelerator)) {
      return 0;
    }
    if (const Reservation* kept = kept_for(pod); kept != nullptr && kept->node == node.name()) {
      return kMostScore;
    }
    const auto placed = find(pod, *accelerator, {});
    return node_score(gpus_for(pod, *accelerator, {}), request_of(pod).profiles(),
                      placed ? *placed : std::vector<PlacedSlice>(), settings_.node_scoring());
  }

  Plan reserve(const Object& pod, const Object& node) override {
    const std::string name(node.name());
    const auto accelerator = view_.get(kNodeAccelerator, {settings_.ns, name});
    if (accelerator && all_dra(*accelerator)) {
      return Plan::done();
    }
    const auto placed = accelerator ? find(pod, *accelerator, {}) : std::nullopt;
    if (!placed) {
      return Plan::retry(Error::conflict(kNoGpu));
    }
    Plan plan;
    Plan events;
    use_reservation(pod, *accelerator, plan);
    std::map<std::string, const Claim*, std::less<>> own;
    const std::vector<Claim> known = claims_for(view_, pod.uid());
    for (const Claim& claim : known) {
      own.emplace(claim.object.name(), &claim);
    }
    NodeSlots& slots = slots_of(*accelerator);
    const PodSlices& request = request_of(pod);
    for (std::size_t i = 0; i < placed->size(); ++i) {
      const SliceRequest& slice = request.slices[i];
      const PlacedSlice& place = (*placed)[i];
      const std::string& gpu = slots.inventory->gpus[place.gpu].uuid;
      Value claim = make_claim({.pod = pod,
                                .ns = settings_.ns,
                                .node = name,
                                .slice = slice,
                                .gpu = gpu,
                                .start = place.start,
                                .size = place.size});
      const Ref ref{&kAllocationClaim, {settings_.ns, claim["metadata"]["name"].str()}};
      const auto before = own.find(ref.key.name);
      const Claim* kept = before == own.end() ? nullptr : before->second;
      const bool same = kept != nullptr && kept->object.spec() == claim["spec"];
      if (kept != nullptr) {
        if (!same) {
          drop(plan, *kept);
        }
        own.erase(before);
      }
      if (!same) {
        plan.then(Create{.target = ref, .object = claim});
        events.then(Emit{
            .about = {&api::kPod, pod.key()},
            .about_uid = std::string(pod.uid()),
            .reason = "SliceStaged",
            .note = fmt::format("{} on {}, {}, slot {}", slice.profile, name, gpu, place.start)});
      }
      // `staged` and `created` in one write: the claim is for the chosen node from the start.
      // An agent may have made the slice already, for a pod whose claim it did not see yet.
      const Value status = same ? kept->object.status() : Value();
      if (!same || (kept->state != kCreated && !is_made(*kept))) {
        plan.then(
            Status{.target = ref, .status = claim_status(status, {kStaged, kCreated}, 1, now_)});
      }
      slots.held.push_back({.pod_uid = std::string(pod.uid()),
                            .gpu = gpu,
                            .profile = slice.profile,
                            .start = place.start,
                            .size = place.size});
    }
    for (const auto& [left, claim] : own) {
      drop(plan, *claim);
    }
    plan.merge(std::move(events));
    return plan;
  }

  // A crash between claim and binding leaves claims behind; they would block their slots for ever.
  Plan release(const Object& pod) override {
    Plan plan;
    for (const Claim& claim : claims_for(view_, pod.uid())) {
      drop(plan, claim);
    }
    return plan;
  }

 private:
  // The slots that are kept for this pod since its controller's last one was evicted; nullptr:
  // none.
  Reservation* kept_for(const Object& pod) {
    if (!reservations_) {
      reservations_ = reservations_of(view_);
    }
    const auto controller =
        reservations_->empty() ? std::optional<OwnerReference>() : pod.controller();
    if (!controller) {
      return nullptr;
    }
    const std::vector<std::string> profiles = request_of(pod).profiles();
    for (Reservation& one : *reservations_) {
      if (one.controller == controller->uid && !one.matching(profiles).empty()) {
        return &one;
      }
    }
    return nullptr;
  }

  // Where these slots are on the node; nullopt: none are kept there, or their GPU is no longer
  // offered.
  std::optional<std::vector<PlacedSlice>> kept_places(const Object& pod,
                                                      const Object& accelerator) {
    const Reservation* kept = kept_for(pod);
    if (kept == nullptr || kept->node != accelerator.name()) {
      return std::nullopt;
    }
    const std::vector<NodeGpu>& gpus = slots_of(accelerator).inventory->gpus;
    std::vector<PlacedSlice> places;
    for (const Claim* claim : kept->matching(request_of(pod).profiles())) {
      const auto gpu = std::ranges::find(gpus, claim->gpu, &NodeGpu::uuid);
      if (gpu == gpus.end() || !gpu->healthy || gpu->dra || gpu->shared) {
        return std::nullopt;
      }
      places.push_back({static_cast<std::size_t>(gpu - gpus.begin()), claim->start, claim->size});
    }
    return places;
  }

  // The pod takes the slots that are kept for it: their claims give way to its own.
  void use_reservation(const Object& pod, const Object& accelerator, Plan& plan) {
    if (!kept_places(pod, accelerator)) {
      return;
    }
    Reservation* const kept = kept_for(pod);
    std::vector<Held>& held = slots_of(accelerator).held;
    for (const Claim& claim : kept->claims) {
      drop(plan, claim);
      std::erase_if(held, [&](const Held& one) {
        return one.pod_uid.empty() && one.gpu == claim.gpu && one.start == claim.start;
      });
    }
    kept->claims.clear();
  }

  // As it was seen: an agent may have made its slice since, and given it to another pod. A slice
  // that is made ends on its node.
  static void drop(Plan& plan, const Claim& claim) {
    if (!is_made(claim)) {
      plan.then(
          Delete{.target = {&kAllocationClaim, claim.object.key()},
                 .guard = {.uid = std::string(claim.object.uid()),
                           .resource_version = std::string(claim.object.resource_version())}});
    }
  }

  const PodSlices& request_of(const Object& pod) {
    const auto [entry, fresh] = requests_.try_emplace(std::string(pod.uid()));
    if (fresh) {
      entry->second = slices_of(pod.spec());
    }
    return entry->second;
  }

  NodeSlots& slots_of(const Object& accelerator) {
    const auto [entry, fresh] = nodes_.try_emplace(std::string(accelerator.name()));
    if (fresh) {
      if (inventories_ == nullptr) {
        inventories_ = view_.derived<Inventories>(kInventories);
      }
      entry->second.inventory = &inventories_->find(accelerator.key())->second;
      for (const Claim& claim : claims_on(view_, accelerator.name())) {
        entry->second.held.push_back({.pod_uid = claim.pod_uid,
                                      .gpu = claim.gpu,
                                      .profile = claim.profile,
                                      .start = claim.start,
                                      .size = claim.size,
                                      .staged = claim.state == kStaged});
      }
    }
    return entry->second;
  }

  // Device plugins hand out none of the node's GPUs.
  bool all_dra(const Object& accelerator) {
    const std::vector<NodeGpu>& gpus = slots_of(accelerator).inventory->gpus;
    return !gpus.empty() && std::ranges::all_of(gpus, [](const NodeGpu& gpu) { return gpu.dra; });
  }

  // The GPUs as this pod finds them: its own claims do not count.
  std::vector<GpuSlots> gpus_for(const Object& pod, const Object& accelerator,
                                 std::span<const std::string_view> leaving) {
    const NodeSlots& node = slots_of(accelerator);
    const std::string_view wanted = pod.annotation(kGpuAnnotation);
    std::vector<GpuSlots> gpus;
    for (const NodeGpu& gpu : node.inventory->gpus) {
      GpuSlots state{
          .table = &node.inventory->tables[gpu.table],
          .open = gpu.healthy && !gpu.dra && !gpu.shared && (wanted.empty() || wanted == gpu.uuid)};
      state.occupancy.taken = gpu.foreign;
      for (const Held& held : node.held) {
        if (held.gpu != gpu.uuid || held.pod_uid == pod.uid() ||
            std::ranges::find(leaving, held.pod_uid) != leaving.end()) {
          continue;
        }
        state.open = state.open && !held.staged;
        state.occupancy.taken =
            static_cast<SlotMask>(state.occupancy.taken | mask_of(held.start, held.size));
        // Counted against the profile's maximum, where the GPU knows the profile.
        if (const int index = state.table->find(held.profile);
            index >= 0 &&
            state.table->profiles[static_cast<std::size_t>(index)].size == held.size) {
          state.occupancy.take(index, held.start, *state.table);
        }
      }
      gpus.push_back(std::move(state));
    }
    return gpus;
  }

  std::optional<std::vector<PlacedSlice>> find(const Object& pod, const Object& accelerator,
                                               std::span<const std::string_view> leaving) {
    if (auto kept = kept_places(pod, accelerator)) {
      return kept;
    }
    PlacementOptions options = settings_.placement();
    options.same_gpu = pod.annotation(kSameGpuAnnotation) == "true";
    return place(gpus_for(pod, accelerator, leaving), request_of(pod).profiles(), options);
  }

  const View& view_;
  Instant now_;
  Settings settings_;
  std::shared_ptr<const Inventories> inventories_{};
  std::map<std::string, NodeSlots, std::less<>> nodes_{};
  std::map<std::string, PodSlices, std::less<>> requests_{};
  std::optional<std::vector<Reservation>> reservations_{};  // read at the first question
};

std::unique_ptr<SchedulingSession> begin(const View& view, Instant now) {
  return std::make_unique<Session>(view, now);
}

// Profiles of every model, each once.
std::vector<std::string> resources() {
  std::set<std::string> names;
  for (const GpuModel& model : gpu_models()) {
    for (const MigProfile& profile : model.table.profiles) {
      names.insert(resource_of(profile.name));
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace

const SchedulingHooks& mig_scheduling() {
  static constexpr std::string_view kSchedulers[] = {kSchedulerName};
  static constexpr const Kind* kKinds[] = {&kNodeAccelerator, &kAllocationClaim};
  static constexpr const Kind* kWrites[] = {&kAllocationClaim};
  static const Index kIndexes[] = {{&kAllocationClaim, kClaimsByNode, claim_nodes},
                                   {&kAllocationClaim, kClaimsByPod, claim_pods}};
  static const Operator* const kBeside[] = {&log_level_operator(), &wake_operator()};
  static const SchedulingHooks kHooks{.name = "MigAccelerator",
                                      .schedulers = kSchedulers,
                                      .reads = kKinds,
                                      .writes = kWrites,
                                      .indexes = kIndexes,
                                      .small = kInventoryKinds,
                                      .begin = begin,
                                      .resources = resources,
                                      .beside = kBeside};
  return kHooks;
}

}  // namespace athanor::das
