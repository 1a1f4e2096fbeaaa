// SPDX-License-Identifier: Apache-2.0
// Filter finds devices and writes nothing. Reserve writes the allocation and the reservation of
// every claim in one status write, so that a crash leaves a claim that is the pod's or one that is
// free.
#include "embedded/devices/claim_hooks.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "api/builtin.hpp"
#include "api/device_kinds.hpp"
#include "embedded/devices/allocator.hpp"
#include "embedded/devices/pod_claims.hpp"
#include "embedded/devices/pool.hpp"
#include "embedded/devices/requests.hpp"

namespace athanor::devices {
namespace {

constexpr std::string_view kByPool = "devices-pool";
constexpr std::size_t kMostConsumers = 256;
constexpr const char* kElsewhere = "resourceclaim not available on the node";

std::string pool_key(std::string_view driver, std::string_view pool) {
  return std::string(driver).append("/").append(pool);
}

// The pools that a claim holds devices of.
std::vector<std::string> claim_pools(const Object& claim) {
  std::set<std::string> pools;
  for (const Value& result : claim.status()["allocation"]["devices"]["results"].items()) {
    pools.insert(pool_key(result["driver"].as_string(), result["pool"].as_string()));
  }
  return {pools.begin(), pools.end()};
}

std::shared_ptr<const void> read_inventory(const View& view) {
  return std::make_shared<Inventory>(read_pools(view.list(api::kResourceSlice)));
}
constexpr const Kind* kSliceKinds[] = {&api::kResourceSlice};
constexpr Derivation kInventory{.kinds = kSliceKinds, .make = read_inventory};

struct KnownClasses {
  Classes by_name{};
  ExtendedClasses by_resource{};
};
std::shared_ptr<const void> read_classes(const View& view) {
  auto known = std::make_shared<KnownClasses>();
  const std::vector<Object> all = view.list(api::kDeviceClass);
  for (const Object& one : all) {
    known->by_name.emplace(std::string(one.name()), one);
  }
  known->by_resource = extended_classes(all);
  return known;
}
constexpr const Kind* kClassKinds[] = {&api::kDeviceClass};
constexpr Derivation kKnownClasses{.kinds = kClassKinds, .make = read_classes};

// What a pod asks for, whatever the node.
struct PodDevices {
  std::string refusal{};
  std::vector<Object> claims{};           // named by the pod
  std::vector<Object> waiting{};          // those without an allocation
  std::vector<ClaimRequests> requests{};  // of `waiting`
  std::vector<ExtendedRequest> extended{};
};

class Session final : public SchedulingSession {
 public:
  explicit Session(const View& view) : view_(view) {}

  bool concerns(const Object& pod) override {
    return !pod.spec()["resourceClaims"].empty() || !extended_of(pod).empty();
  }

  std::optional<std::string> refuse(const Object& pod) override {
    const PodDevices& wanted = devices_of(pod);
    return wanted.refusal.empty() ? std::nullopt : std::optional(wanted.refusal);
  }

  bool defers(const Object& pod) override {
    return std::ranges::any_of(devices_of(pod).claims, [&](const Object& claim) {
      return written_.contains(std::string(claim.uid()));
    });
  }

  std::vector<std::string> covers(const Object& pod) override {
    std::vector<std::string> names;
    for (const ExtendedRequest& request : extended_of(pod)) {
      names.push_back(request.resource);
    }
    return names;
  }

  std::optional<HookRefusal> filter(const Object& pod, const Object& node,
                                    std::span<const std::string_view> leaving) override {
    for (const Object& claim : devices_of(pod).claims) {
      const Value& allocation = claim.status()["allocation"];
      if (!allocation.is_null() && !usable_on(allocation, node)) {
        return HookRefusal{.reason = kElsewhere, .for_good = true};
      }
    }
    const std::vector<ClaimRequests> requests = requests_on(pod, node);
    if (requests.empty()) {
      return std::nullopt;
    }
    if (const auto made = extended_claim_of(pod);
        made &&
        (made->deleting() || made->spec() != extended_claim(pod, extended_on(pod, node))["spec"])) {
      return HookRefusal{
          .reason = "resourceclaim \"" + std::string(made->name()) + "\" is being deleted",
          .for_good = true};
    }
    load(node);
    const std::vector<Device> freed = held_by(pod, node, leaving);
    for (const Device& device : freed) {
      ledger_.give_back(device);
    }
    const auto found = allocate_on(pod, node, requests);
    for (const Device& device : freed) {
      ledger_.take(device);
    }
    return found.ok() ? std::nullopt : std::optional(HookRefusal{.reason = found.error().message});
  }

  std::int64_t score(const Object& /*pod*/, const Object& /*node*/) override { return 0; }

  Plan reserve(const Object& pod, const Object& node) override {
    const PodDevices& wanted = devices_of(pod);
    const std::vector<ClaimRequests> requests = requests_on(pod, node);
    load(node);
    for (const Device& device : held_by(pod, node, {})) {
      ledger_.give_back(device);
    }
    const auto found = allocate_on(pod, node, requests);
    if (!found.ok()) {
      return Plan::retry(found.error());
    }
    Plan plan;
    std::size_t next = 0;
    for (const Object& claim : wanted.claims) {
      Value allocation = claim.status()["allocation"];
      if (allocation.is_null()) {
        allocation = allocation_of(requests[next], (*found)[next], node);
        ++next;
      } else if (reserved_for(claim, pod)) {
        continue;
      }
      hold_claim(plan, claim, pod, std::move(allocation));
    }
    if (next < requests.size()) {
      hold_extended(plan, pod, node, allocation_of(requests[next], (*found)[next], node));
    }
    for (const ClaimDevices& devices : *found) {
      for (const Chosen& one : devices) {
        if (!one.request->admin) {
          ledger_.take(*one.device);
        }
      }
    }
    return plan;
  }

  // Gives back claims that hold devices of a node on which the pod does not fit any more.
  Plan release(const Object& pod) override {
    Plan plan;
    for (const Object& claim : devices_of(pod).claims) {
      const Value& consumers = claim.status()["reservedFor"];
      const bool alone = consumers.empty() || (consumers.size() == 1 && reserved_for(claim, pod));
      if (alone && !claim.status()["allocation"].is_null()) {
        plan.then(
            Status{.target = {&api::kResourceClaim, claim.key()},
                   .status = Value::object({{"allocation", Value()}, {"reservedFor", Value()}}),
                   .guard = guard_of(claim)});
      }
    }
    if (const auto made = extended_claim_of(pod)) {
      plan.then(Delete{.target = {&api::kResourceClaim, made->key()},
                       .guard = {.uid = std::string(made->uid())}});
    }
    return plan;
  }

 private:
  static Guard guard_of(const Object& claim) {
    return {.uid = std::string(claim.uid()),
            .resource_version = std::string(claim.resource_version())};
  }

  const KnownClasses& classes() {
    if (classes_ == nullptr) {
      classes_ = view_.derived<KnownClasses>(kKnownClasses);
    }
    return *classes_;
  }

  const Inventory& inventory() {
    if (inventory_ == nullptr) {
      inventory_ = view_.derived<Inventory>(kInventory);
      expressions_ = Expressions(inventory_->verdicts(), inventory_->devices());
    }
    return *inventory_;
  }

  std::vector<const Pool*> near(const Object& node) { return inventory().near(node.name()); }

  Result<std::vector<ClaimDevices>> allocate_on(const Object& pod, const Object& node,
                                                std::span<const ClaimRequests> requests) {
    const std::vector<const Pool*> pools = near(node);
    expressions_.charge_to(pod.ns());
    return allocate(requests, pools, ledger_, node, expressions_);
  }

  const std::vector<ExtendedRequest>& extended_of(const Object& pod) {
    const auto [entry, fresh] = extended_.try_emplace(std::string(pod.uid()));
    if (fresh) {
      entry->second = extended_requests(pod, classes().by_resource);
    }
    return entry->second;
  }

  const PodDevices& devices_of(const Object& pod) {
    const auto [entry, fresh] = pods_.try_emplace(std::string(pod.uid()));
    if (fresh) {
      entry->second = read_pod(pod);
    }
    return entry->second;
  }

  PodDevices read_pod(const Object& pod) {
    NamedClaims named = named_claims(view_, pod);
    PodDevices wanted{.refusal = std::move(named.refusal),
                      .claims = std::move(named.claims),
                      .extended = extended_of(pod)};
    for (const Object& claim : wanted.claims) {
      if (!claim.status()["allocation"].is_null()) {
        if (claim.status()["reservedFor"].size() >= kMostConsumers && !reserved_for(claim, pod)) {
          wanted.refusal = "resourceclaim in use";
        }
        continue;
      }
      auto requests = read_requests(claim.spec(), classes().by_name);
      if (!requests.ok()) {
        wanted.refusal = requests.error().message;
        break;
      }
      wanted.waiting.push_back(claim);
      wanted.requests.push_back(*std::move(requests));
    }
    return wanted;
  }

  // Those of the pod's extended resources that the node does not report itself.
  std::vector<ExtendedRequest> extended_on(const Object& pod, const Object& node) {
    std::vector<ExtendedRequest> wanted = extended_of(pod);
    std::erase_if(wanted, [&](const ExtendedRequest& request) {
      const auto reported = Quantity::parse(node.status()["allocatable"][request.resource]);
      return reported && !reported->is_zero();
    });
    return wanted;
  }

  // What has to be allocated on the node: of claims first, then of extended resources.
  std::vector<ClaimRequests> requests_on(const Object& pod, const Object& node) {
    std::vector<ClaimRequests> requests = devices_of(pod).requests;
    if (const auto extended = extended_on(pod, node); !extended.empty()) {
      auto read = read_requests(extended_claim(pod, extended)["spec"], classes().by_name);
      if (read.ok()) {
        requests.push_back(*std::move(read));
      }
    }
    return requests;
  }

  std::optional<Object> extended_claim_of(const Object& pod) {
    auto claim = view_.get(api::kResourceClaim, {std::string(pod.ns()), extended_claim_name(pod)});
    return claim && claim->owned_by(pod.uid()) ? claim : std::nullopt;
  }

  // The devices of a claim, of the pools that are given.
  static std::vector<Device> devices_of_claim(const Object& claim,
                                              const std::vector<const Pool*>& pools) {
    std::vector<Device> devices;
    for (const Value& result : claim.status()["allocation"]["devices"]["results"].items()) {
      if (result["adminAccess"].as_bool()) {
        continue;
      }
      const DeviceId id{result["driver"].str(), result["pool"].str(), result["device"].str()};
      for (const Pool* pool : pools) {
        if (pool->driver != id.driver || pool->name != id.pool) {
          continue;
        }
        const auto known = std::ranges::find(pool->devices, id, &Device::id);
        devices.push_back(known == pool->devices.end() ? Device{.id = id} : *known);
      }
    }
    return devices;
  }

  // Takes what claims hold of the pools that the node reaches.
  void load(const Object& node) {
    for (const Pool* pool : near(node)) {
      const std::string key = pool_key(pool->driver, pool->name);
      if (!loaded_.insert(key).second) {
        continue;
      }
      for (const Object& claim :
           view_.list(api::kResourceClaim, {.index = std::string(kByPool), .index_value = key})) {
        for (const Device& device : devices_of_claim(claim, {pool})) {
          ledger_.take(device);
        }
      }
    }
  }

  // What counts as free for the pod: devices of its own earlier attempt, and those of claims that
  // leaving pods alone hold.
  std::vector<Device> held_by(const Object& pod, const Object& node,
                              std::span<const std::string_view> leaving) {
    std::vector<Device> devices;
    const std::vector<const Pool*> pools = near(node);
    const auto add = [&](const Object& claim) {
      std::ranges::move(devices_of_claim(claim, pools), std::back_inserter(devices));
    };
    if (const auto made = extended_claim_of(pod)) {
      add(*made);
    }
    if (leaving.empty()) {
      return devices;
    }
    for (const Pool* pool : pools) {
      const Select of_pool{.index = std::string(kByPool),
                           .index_value = pool_key(pool->driver, pool->name)};
      for (const Object& claim : view_.list(api::kResourceClaim, of_pool)) {
        const Value& consumers = claim.status()["reservedFor"];
        const bool goes =
            !consumers.empty() &&
            std::ranges::all_of(consumers.items(), [&](const Value& consumer) {
              return std::ranges::find(leaving, consumer["uid"].as_string()) != leaving.end();
            });
        if (goes) {
          std::ranges::move(devices_of_claim(claim, {pool}), std::back_inserter(devices));
        }
      }
    }
    return devices;
  }

  void hold_claim(Plan& plan, const Object& claim, const Object& pod, Value allocation) {
    const Ref target{&api::kResourceClaim, claim.key()};
    plan.then(Status{.target = target,
                     .status = Value::object({{"allocation", std::move(allocation)},
                                              {"reservedFor", reserved_with(claim, pod)}}),
                     .guard = guard_of(claim)});
    protect(plan, claim);
    written_.insert(std::string(claim.uid()));
  }

  // After the allocation: the controller that releases claims removes the finalizer of a claim
  // without an allocation.
  static void protect(Plan& plan, const Object& claim) {
    if (claim.has_finalizer(kClaimFinalizer)) {
      return;
    }
    Value finalizers =
        claim.metadata()["finalizers"].is_list() ? claim.metadata()["finalizers"] : Value::list();
    finalizers.push_back(kClaimFinalizer);
    plan.then(
        Patch{.target = {&api::kResourceClaim, claim.key()},
              .merge = Value::object({{"metadata", Value::object({{"finalizers", finalizers}})}})});
  }

  void hold_extended(Plan& plan, const Object& pod, const Object& node, Value allocation) {
    const std::vector<ExtendedRequest> wanted = extended_on(pod, node);
    const Value claim = extended_claim(pod, wanted);
    const Ref target{&api::kResourceClaim, {std::string(pod.ns()), extended_claim_name(pod)}};
    const auto known = extended_claim_of(pod);
    const Value status = Value::object({{"allocation", std::move(allocation)},
                                        {"reservedFor", reserved_with(Object(claim), pod)}});
    if (!known) {
      plan.then(Create{.target = target, .object = claim});
    }
    plan.then(Status{.target = target, .status = status});
    protect(plan, known ? *known : Object(claim));
    plan.then(Status{
        .target = {&api::kPod, pod.key()},
        .status = Value::object({{"extendedResourceClaimStatus", extended_status(pod, wanted)}}),
        .guard = {.uid = std::string(pod.uid())}});
  }

  const View& view_;
  std::shared_ptr<const KnownClasses> classes_{};
  std::shared_ptr<const Inventory> inventory_{};
  Expressions expressions_{};
  Ledger ledger_{};
  std::set<std::string> loaded_{};   // pools
  std::set<std::string> written_{};  // uids of claims that this cycle has written
  std::map<std::string, PodDevices, std::less<>> pods_{};
  std::map<std::string, std::vector<ExtendedRequest>, std::less<>> extended_{};
};

std::unique_ptr<SchedulingSession> begin(const View& view, Instant /*now*/) {
  return std::make_unique<Session>(view);
}

}  // namespace

const SchedulingHooks& device_scheduling() {
  static constexpr const Kind* kReads[] = {&api::kResourceSlice, &api::kDeviceClass,
                                           &api::kResourceClaim};
  static constexpr const Kind* kWrites[] = {&api::kResourceClaim, &api::kPod};
  static constexpr const Kind* kSmall[] = {&api::kResourceSlice, &api::kDeviceClass};
  static const Index kIndexes[] = {{&api::kResourceClaim, kByPool, claim_pools}};
  static const SchedulingHooks kHooks{.name = "DynamicResources",
                                      .reads = kReads,
                                      .writes = kWrites,
                                      .indexes = kIndexes,
                                      .small = kSmall,
                                      .begin = begin};
  return kHooks;
}

}  // namespace athanor::devices
