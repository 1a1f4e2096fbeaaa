// SPDX-License-Identifier: Apache-2.0
#include "systems/das/agent/allocate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "systems/das/agent/exchange.hpp"
#include "systems/das/agent/looks.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/sharing/share.hpp"

namespace athanor::das {
namespace {

constexpr int kPreconditionFailed = 412;
constexpr std::size_t kMostReads = 8;  // of pods at each look, some ms each
// Of pods during one question: each takes up to a second, and the looks 3.1 s.
constexpr int kMostUnanswered = 3;

// Returns whether the kubelet's word is known.
bool settle(Ledger& ledger, AllocateWorld& world) {
  const auto holders = world.holders();
  const NodeSight sight = holders ? world.look() : NodeSight{.seen = false};
  if (sight.seen) {
    ledger.settle(*holders, sight);
  }
  return sight.seen;
}

// One container's question under way: what it did, so that it can be undone.
class Call {
 public:
  Call(const DeviceAsk& ask, Ledger& ledger, AllocateWorld& world, const AllocateOptions& options)
      : ask_(ask), ledger_(ledger), world_(world), options_(options) {}

  Result<std::string> run() {
    auto picked = find();
    if (!picked.ok()) {
      return std::move(picked).error();
    }
    if (picked->repeated) {
      const CdiSpec device{.profile = ask_.profile, .id = picked->repeated->cdi_id};
      return device.device();
    }
    picked_ = *std::move(picked);
    // No file may name devices of two pods.
    for (const Grant& grant : ledger_.take_back(ask_, picked_.pod_uid)) {
      world_.remove_file({.profile = grant.profile, .id = grant.cdi_id});
    }
    before_ = ledger_;
    if (const Object* pod = sight_.pod(picked_.pod_uid)) {
      const auto conflict = conflict_in(pod->spec());
      if (conflict && conflict->container == picked_.container) {
        return Error{.code = kPreconditionFailed,
                     .reason = "FailedPrecondition",
                     .message = conflict->message};
      }
    }
    for (const Claim& claim : picked_.claims) {
      // Processing, or without its slice: an agent before this one ended while it answered, or
      // while it undid that.
      if (claim.state != kInUse || world_.slice_of(claim).empty()) {
        fresh_.push_back(claim);
      }
    }
    auto device = make();
    if (!device.ok()) {
      // Something else holds the slots: the claim must not lead another try there.
      undo(device.error().reason == kInsufficientResources ? kOrphaned : kCreated);
    }
    return device;
  }

  void undo(std::string_view state = kCreated) {
    for (const CdiSpec& file : written_) {
      world_.remove_file(file);
    }
    world_.destroy_slices(fresh_);
    // A claim that cannot be put back waits for the pod's end, which removes it.
    static_cast<void>(world_.write_state(fresh_, state));
    ledger_ = before_;
    // The container's files of other profiles list its slices as before.
    for (const CdiSpec& file :
         container_files(ledger_, picked_.pod_uid, picked_.container, sight_, world_, options_)) {
      static_cast<void>(world_.write_file(file));
    }
  }

 private:
  Result<Picked> find() {
    Looks looks;
    while (true) {
      sight_ = world_.look();
      read_unseen_pods();
      ledger_.follow(sight_);
      auto picked = ledger_.pick(ask_, sight_);
      const auto pause = picked.ok() ? std::nullopt : looks.next();
      if (!pause) {
        const bool learned = !picked.ok() && ledger_.unsure() && settle(ledger_, world_);
        return learned ? ledger_.pick(ask_, sight_) : picked;
      }
      world_.wait(*pause);
    }
  }

  // A kubelet may ask for a pod before the caches show that it is bound here: what its containers
  // are called, and in which order they come, is not to be guessed.
  void read_unseen_pods() {
    std::set<std::string, std::less<>> read;
    for (const Claim& claim : sight_.claims) {
      const bool waits = claim.state == kCreated || claim.state == kProcessing;
      if (!waits || claim.profile != ask_.profile || claim.pod_uid.empty() ||
          is_mirror(claim.object) || sight_.pod(claim.pod_uid) != nullptr ||
          read.size() == kMostReads || !read.insert(claim.pod_uid).second) {
        continue;
      }
      if (unanswered_ == kMostUnanswered) {
        return;
      }
      auto pod = world_.find_pod(claim);
      if (!pod.ok()) {
        ++unanswered_;
        return;  // another read would wait as long
      }
      if (*pod) {
        sight_.pods.emplace(claim.pod_uid, **std::move(pod));
      }
    }
  }

  Result<std::string> make() {
    ATHANOR_TRY_VOID(world_.write_state(fresh_, kProcessing));
    ATHANOR_TRY(const std::vector<std::string> made, world_.make_slices(fresh_));
    ATHANOR_TRY_VOID(world_.write_state(fresh_, kInUse));
    Grant grant{.profile = ask_.profile,
                .ids = ask_.ids,
                .pod_uid = picked_.pod_uid,
                .container = picked_.container,
                .cdi_id = free_id()};
    for (const Claim& claim : picked_.claims) {
      grant.claims.emplace_back(claim.object.uid());
    }
    for (const Grant& replaced : ledger_.add(grant)) {
      world_.remove_file({.profile = replaced.profile, .id = replaced.cdi_id});
    }
    const CdiSpec own{.profile = grant.profile, .id = grant.cdi_id};
    for (CdiSpec& file :
         container_files(ledger_, picked_.pod_uid, picked_.container, sight_, world_, options_)) {
      ATHANOR_TRY_VOID(world_.write_file(file));
      if (file.id == own.id) {
        written_.push_back(std::move(file));
      }
    }
    return own.device();
  }

  [[nodiscard]] std::string free_id() const {
    std::string id = cdi_id_of(picked_.pod_uid, picked_.container, ask_.profile);
    while (std::ranges::any_of(
        ledger_.grants(), [&](const Grant& grant) { return grant.cdi_id == id && !grant.lost; })) {
      id = uuid_of(id);
    }
    return id;
  }

  const DeviceAsk& ask_;
  Ledger before_{};
  Ledger& ledger_;
  AllocateWorld& world_;
  const AllocateOptions& options_;
  NodeSight sight_{};
  int unanswered_ = 0;  // reads of pods
  Picked picked_{};
  std::vector<Claim> fresh_{};
  std::vector<CdiSpec> written_{};
};

}  // namespace

Result<std::vector<std::string>> allocate(std::span<const DeviceAsk> asks, Ledger& ledger,
                                          AllocateWorld& world, const AllocateOptions& options) {
  if (!finish_exchange(ledger, world, options)) {
    return Error::unavailable("an exchange of claims is not finished");
  }
  if (ledger.unsure()) {
    settle(ledger, world);
  }
  std::vector<Call> calls;
  calls.reserve(asks.size());
  std::vector<std::string> devices;
  for (const DeviceAsk& ask : asks) {
    auto device = calls.emplace_back(ask, ledger, world, options).run();
    if (!device.ok()) {
      calls.pop_back();
      while (!calls.empty()) {  // newest first: each restores the ledger as it was before it
        calls.back().undo();
        calls.pop_back();
      }
      return std::move(device).error();
    }
    devices.push_back(*std::move(device));
  }
  return devices;
}

std::vector<CdiSpec> container_files(const Ledger& ledger, std::string_view pod_uid,
                                     std::string_view container, const NodeSight& sight,
                                     AllocateWorld& world, const AllocateOptions& options) {
  std::vector<CdiSpec> files;
  std::vector<std::string> slices;
  std::vector<ShareClaim> shares;
  std::map<std::string, std::string> names;  // of GPUs and slices with shares
  std::set<std::string> listed;
  const Object* pod = sight.pod(pod_uid);
  for (const Grant& grant : ledger.of_container(pod_uid, container)) {
    CdiSpec file{.profile = grant.profile,
                 .id = grant.cdi_id,
                 .ids = grant.ids,
                 .poststop = pod != nullptr && never_restarts(*pod)};
    for (const std::string& uid : grant.claims) {
      const auto claim = std::ranges::find_if(
          sight.claims, [&](const Claim& one) { return one.object.uid() == uid; });
      if (claim != sight.claims.end()) {
        file.claims.push_back(claim->object.body());
        if (!listed.insert(uid).second) {
          continue;  // of an init container whose devices this one has, too
        }
        if (auto share = is_share(*claim) ? read_share(claim->object) : std::nullopt) {
          names[share->part()] = world.slice_of(*claim);
          share->container = container;  // an init container's devices go to the next
          shares.push_back(*std::move(share));
        } else {
          slices.push_back(world.slice_of(*claim));
        }
      }
    }
    files.push_back(std::move(file));
  }
  ContainerEdits edits;
  if (!shares.empty()) {
    edits = share_edits(shares, names, options.state_folder)[std::string(container)];
  }
  for (CdiSpec& file : files) {
    if (shares.empty()) {
      file.env = slice_environment(slices, options.cuda_visible_devices);
      continue;
    }
    for (const auto& [name, value] : edits.env) {
      file.env.push_back(fmt::format("{}={}", name, value));
    }
    file.mounts = edits.mounts;
  }
  return files;
}

std::string cdi_id_of(std::string_view pod_uid, std::string_view container,
                      std::string_view profile) {
  return uuid_of(fmt::format("{}/{}/{}", pod_uid, container, profile));
}

}  // namespace athanor::das
