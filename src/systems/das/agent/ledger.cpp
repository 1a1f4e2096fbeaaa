// SPDX-License-Identifier: Apache-2.0
#include "systems/das/agent/ledger.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "kube/text/quantity.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::das {
namespace {

constexpr int kConflictingWrite = 412;
constexpr std::string_view kInit = "initContainers";

// A sidecar runs beside the pod's containers, and has slices of its own.
bool restarts_always(const Value& container) {
  return container["restartPolicy"].as_string() == "Always";
}

std::size_t count_of(const Value& container, std::string_view profile) {
  std::int64_t count = 0;
  for (const Member& limit : container["resources"]["limits"].members()) {
    const auto quantity = Quantity::parse(limit.value);
    if (quantity && (limit.key() == profile || profile_of_resource(limit.key()) == profile)) {
      count += std::max<std::int64_t>(quantity->value(), 0);
    }
  }
  return static_cast<std::size_t>(count);
}

std::vector<std::string> sorted(std::vector<std::string> words) {
  std::ranges::sort(words);
  return words;
}

bool share_one(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::ranges::any_of(
      a, [&](const std::string& one) { return std::ranges::find(b, one) != b.end(); });
}

// Claims of one pod and profile, oldest first, that may be handed out or were.
std::vector<Claim> usable(const NodeSight& sight, std::string_view pod_uid,
                          std::string_view profile) {
  std::vector<Claim> claims;
  for (const Claim& claim : sight.claims) {
    const bool ready =
        claim.state == kCreated || claim.state == kProcessing || claim.state == kInUse;
    if (ready && claim.pod_uid == pod_uid && claim.profile == profile && !claim.object.deleting() &&
        !is_mirror(claim.object)) {
      claims.push_back(claim);
    }
  }
  return claims;
}

// Claims of the container, then claims without one, and for an init container the pod's
// others, which it uses before their containers do. Fewer than wanted: not there yet.
std::vector<Claim> for_container(std::vector<Claim> claims, const Expected& ask) {
  if (!ask.init) {
    std::erase_if(claims, [&](const Claim& claim) {
      return !claim.container.empty() && claim.container != ask.container;
    });
  }
  std::ranges::stable_partition(
      claims, [&](const Claim& claim) { return claim.container == ask.container; });
  claims.resize(std::min(ask.count, claims.size()));
  return claims;
}

// All of a pod's questions come before its kubelet says when it started.
bool was_admitted(const Object& pod) {
  return !pod.status()["startTime"].as_string().empty();
}

const Holder* same_container(std::span<const Holder> holders, const Grant& grant) {
  const auto found = std::ranges::find_if(holders, [&](const Holder& one) {
    return one.pod_uid == grant.pod_uid && one.container == grant.container &&
           one.profile == grant.profile;
  });
  return found == holders.end() ? nullptr : &*found;
}

// An init container: its devices are some of those of the containers after it.
bool is_handed_on(const Grant& grant, const Object* pod) {
  return pod != nullptr &&
         std::ranges::any_of(expected_asks(pod->spec(), grant.profile), [&](const Expected& one) {
           return one.init && one.container == grant.container;
         });
}

// The container that has a grant's devices.
const Holder* holder_of(std::span<const Holder> holders, const Grant& grant) {
  const Holder* found = nullptr;
  for (const Holder& one : holders) {
    // An init container's devices are some of those of the containers after it.
    const bool own = one.pod_uid == grant.pod_uid && share_one(one.ids, grant.ids);
    if (one.profile == grant.profile && !grant.ids.empty() && !one.pod_uid.empty() &&
        (own || sorted(one.ids) == grant.ids) && (found == nullptr || own)) {
      found = &one;
    }
  }
  return found;
}

}  // namespace

const Object* NodeSight::pod(std::string_view uid) const {
  const auto found = pods.find(uid);
  return found == pods.end() ? nullptr : &found->second;
}

bool has_ended(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed";
}

bool never_restarts(const Object& pod) {
  const bool sidecars = std::ranges::any_of(pod.spec()[kInit].items(), restarts_always);
  return pod.spec()["restartPolicy"].as_string() == "Never" && !sidecars;
}

std::vector<Expected> expected_asks(const Value& pod_spec, std::string_view profile) {
  std::vector<Expected> asks;
  for (const std::string_view list : {kInit, std::string_view("containers")}) {
    for (const Value& container : pod_spec[list].items()) {
      if (const std::size_t count = count_of(container, profile); count > 0) {
        asks.push_back({.container = container["name"].str(),
                        .count = count,
                        .init = list == kInit && !restarts_always(container)});
      }
    }
  }
  return asks;
}

const Grant* Ledger::same_ids(const DeviceAsk& ask, const NodeSight& sight) const {
  const std::vector<std::string> ids = sorted(ask.ids);
  for (const Grant& grant : grants_) {
    const Object* pod = sight.pod(grant.pod_uid);
    if (grant.profile == ask.profile && grant.ids == ids && !grant.lost && pod != nullptr &&
        !has_ended(*pod)) {
      return &grant;
    }
  }
  return nullptr;
}

std::optional<Expected> Ledger::next_ask(const Object& pod, std::string_view profile) const {
  for (Expected& ask : expected_asks(pod.spec(), profile)) {
    const bool answered = std::ranges::any_of(grants_, [&](const Grant& grant) {
      return grant.pod_uid == pod.uid() && grant.profile == profile &&
             grant.container == ask.container && !grant.lost;
    });
    if (!answered) {
      return std::move(ask);
    }
  }
  return std::nullopt;
}

void Ledger::remove_held(std::vector<Claim>& claims, const NodeSight& sight) const {
  std::erase_if(claims, [&](const Claim& claim) {
    return std::ranges::any_of(grants_, [&](const Grant& grant) {
      return !grant.lost &&
             std::ranges::find(grant.claims, claim.object.uid()) != grant.claims.end() &&
             !is_handed_on(grant, sight.pod(grant.pod_uid));
    });
  });
}

Result<Picked> Ledger::pick(const DeviceAsk& ask, const NodeSight& sight) const {
  const Grant* same = same_ids(ask, sight);
  const auto repeat = [&] {
    return Picked{.pod_uid = same->pod_uid, .container = same->container, .repeated = *same};
  };
  if (const Object* pod = same == nullptr ? nullptr : sight.pod(same->pod_uid);
      pod != nullptr && !pod->deleting() && !was_admitted(*pod) && same->holder.empty() &&
      !is_handed_on(*same, pod)) {
    return repeat();  // its kubelet did not note the answer: what a pod holds is not handed out
  }
  const std::size_t wanted = std::max<std::size_t>(ask.ids.size(), 1);
  std::size_t found = 0;
  std::set<std::string> seen;
  std::optional<Picked> last;  // of a pod that is being deleted: a kubelet starts none
  std::optional<Picked> best;
  for (const Claim& claim : sight.claims) {
    if (claim.profile != ask.profile || claim.pod_uid.empty() || is_mirror(claim.object) ||
        !seen.insert(claim.pod_uid).second) {
      continue;
    }
    const Object* pod = sight.pod(claim.pod_uid);
    const bool again = std::ranges::any_of(grants_, [&](const Grant& grant) {
      return grant.lost && grant.pod_uid == claim.pod_uid && grant.profile == ask.profile;
    });
    if (pod == nullptr || has_ended(*pod) || (was_admitted(*pod) && !again)) {
      continue;
    }
    const std::optional<Expected> expected = next_ask(*pod, ask.profile);
    if (!expected || expected->count != wanted) {
      continue;
    }
    std::vector<Claim> claims = usable(sight, claim.pod_uid, ask.profile);
    remove_held(claims, sight);
    Picked picked{.pod_uid = claim.pod_uid, .container = expected->container};
    picked.claims = for_container(std::move(claims), *expected);
    found = std::max(found, picked.claims.size());
    if (picked.claims.size() < wanted) {
      continue;
    }
    // The kubelet hands devices of init containers on to the containers after them.
    const bool handed_on = std::ranges::any_of(grants_, [&](const Grant& grant) {
      return grant.pod_uid == picked.pod_uid && grant.profile == ask.profile && !grant.lost &&
             share_one(grant.ids, ask.ids);
    });
    if (handed_on) {
      return picked;
    }
    std::optional<Picked>& slot = pod->deleting() ? last : best;
    if (!slot) {
      slot = std::move(picked);
    }
  }
  if (best || last) {
    return best ? *std::move(best) : *std::move(last);
  }
  if (same != nullptr) {
    return repeat();
  }
  return Error{.code = kConflictingWrite,
               .reason = "FailedPrecondition",
               .message = fmt::format("requested {} allocations but only found {}", wanted, found)};
}

std::vector<Grant> Ledger::add(Grant grant) {
  grant.ids = sorted(std::move(grant.ids));
  std::vector<Grant> replaced;
  std::erase_if(grants_, [&](const Grant& one) {
    const bool over =
        one.lost && (one.cdi_id == grant.cdi_id || share_one(one.claims, grant.claims));
    if (over) {
      replaced.push_back(one);
    }
    return over;
  });
  grants_.push_back(std::move(grant));
  return replaced;
}

std::vector<Grant> Ledger::take_back(const DeviceAsk& ask, std::string_view pod_uid) {
  std::vector<Grant> taken;
  std::erase_if(grants_, [&](const Grant& grant) {
    const bool over =
        grant.profile == ask.profile && grant.pod_uid != pod_uid && share_one(grant.ids, ask.ids);
    if (over) {
      taken.push_back(grant);
    }
    return over;
  });
  return taken;
}

void Ledger::forget_claim(std::string_view claim_uid) {
  std::erase_if(grants_, [&](const Grant& grant) {
    return std::ranges::find(grant.claims, claim_uid) != grant.claims.end();
  });
}

void Ledger::forget(std::string_view cdi_id) {
  std::erase_if(grants_, [&](const Grant& grant) { return grant.cdi_id == cdi_id; });
}

void Ledger::learn(std::span<const Holder> holders) {
  for (Grant& grant : grants_) {
    const Holder* own = same_container(holders, grant);
    if (grant.ids.empty() && own != nullptr) {
      grant.ids = sorted(own->ids);
    }
    const Holder* holder = holder_of(holders, grant);
    grant.holder = holder == nullptr ? "" : holder->pod_uid;
    grant.lost = grant.lost && holder == nullptr;
  }
}

void Ledger::follow(const NodeSight& sight) {
  for (Grant& grant : grants_) {
    const Claim* other = nullptr;
    for (const Claim& claim : sight.claims) {
      if (std::ranges::find(grant.claims, claim.object.uid()) == grant.claims.end()) {
        continue;
      }
      if (claim.pod_uid == grant.pod_uid) {
        other = nullptr;  // an exchange is not over before its last claim
        break;
      }
      other = &claim;
    }
    if (other != nullptr && !other->pod_uid.empty()) {
      grant.pod_uid = other->pod_uid;
      grant.container = other->container.empty() ? grant.container : other->container;
    }
  }
}

void Ledger::settle(std::span<const Holder> holders, const NodeSight& sight) {
  learn(holders);
  unsure_ = false;
  for (Grant& grant : grants_) {
    // Init containers are not listed: their devices are those of the containers after them.
    const bool init = is_handed_on(grant, sight.pod(grant.pod_uid));
    const bool listed = std::ranges::any_of(holders, [&](const Holder& one) {
      return one.profile == grant.profile &&
             (grant.ids.empty() ? one.pod_uid == grant.pod_uid : share_one(one.ids, grant.ids));
    });
    grant.lost = !init && !listed;
  }
}

std::vector<Misplaced> Ledger::misplaced(std::span<const Holder> holders) const {
  std::vector<Misplaced> all;
  for (const Grant& grant : grants_) {
    const Holder* holder = holder_of(holders, grant);
    if (holder != nullptr && holder->pod_uid != grant.pod_uid) {
      all.push_back({.grant = grant, .holder = *holder});
    }
  }
  return all;
}

void Ledger::hand_over(std::string_view cdi_id, const std::string& pod_uid,
                       const std::string& container) {
  for (Grant& grant : grants_) {
    if (grant.cdi_id == cdi_id) {
      grant.pod_uid = pod_uid;
      grant.container = container;
      grant.holder = pod_uid;
    }
  }
}

const Grant* Ledger::with_claim(std::string_view claim_uid) const {
  const Grant* found = nullptr;
  for (const Grant& grant : grants_) {
    if (std::ranges::find(grant.claims, claim_uid) != grant.claims.end() &&
        (found == nullptr || (found->lost && !grant.lost))) {
      found = &grant;
    }
  }
  return found;
}

std::string Ledger::container_for(const Misplaced& misplaced, const NodeSight& sight) const {
  const Object* pod = sight.pod(misplaced.holder.pod_uid);
  if (pod == nullptr || !is_handed_on(misplaced.grant, sight.pod(misplaced.grant.pod_uid))) {
    return misplaced.holder.container;
  }
  for (const Expected& ask : expected_asks(pod->spec(), misplaced.grant.profile)) {
    const bool taken = std::ranges::any_of(grants_, [&](const Grant& grant) {
      return grant.pod_uid == pod->uid() && grant.container == ask.container && !grant.lost &&
             grant.profile == misplaced.grant.profile;
    });
    if (ask.init && ask.count == misplaced.grant.claims.size() && !taken) {
      return ask.container;
    }
  }
  return misplaced.holder.container;
}

std::vector<Grant> Ledger::of_container(std::string_view pod_uid,
                                        std::string_view container) const {
  std::vector<Grant> grants;
  for (const Grant& grant : grants_) {
    const bool elsewhere = !grant.holder.empty() && grant.holder != pod_uid;
    if (grant.pod_uid == pod_uid && grant.container == container && !elsewhere) {
      grants.push_back(grant);
    }
  }
  std::ranges::stable_sort(grants, {}, &Grant::profile);
  return grants;
}

}  // namespace athanor::das
