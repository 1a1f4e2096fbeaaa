// SPDX-License-Identifier: Apache-2.0
#include "systems/das/agent/ledger.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "kube/text/quantity.hpp"
#include "systems/das/names.hpp"
#include "systems/das/placement/profile.hpp"

namespace athanor::das {
namespace {

constexpr int kPreconditionFailed = 412;
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

// Those of the container itself, then those that name none, and of an init container the pod's
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
    if (grant.profile == ask.profile && grant.ids == ids && pod != nullptr && !has_ended(*pod)) {
      return &grant;
    }
  }
  return nullptr;
}

std::size_t Ledger::answered(std::string_view pod_uid, std::string_view profile) const {
  return static_cast<std::size_t>(std::ranges::count_if(grants_, [&](const Grant& grant) {
    return grant.pod_uid == pod_uid && grant.profile == profile;
  }));
}

Result<Picked> Ledger::pick(const DeviceAsk& ask, const NodeSight& sight) const {
  const std::size_t wanted = std::max<std::size_t>(ask.ids.size(), 1);
  std::size_t found = 0;
  std::set<std::string> seen;
  std::optional<Picked> oldest;
  bool stays = false;  // its pod; a kubelet starts none that is being deleted
  for (const Claim& claim : sight.claims) {
    if (claim.profile != ask.profile || claim.pod_uid.empty() || is_mirror(claim.object) ||
        !seen.insert(claim.pod_uid).second) {
      continue;
    }
    const Object* pod = sight.pod(claim.pod_uid);
    if (pod != nullptr && (has_ended(*pod) || was_admitted(*pod))) {
      continue;
    }
    const std::vector<Claim> claims = usable(sight, claim.pod_uid, ask.profile);
    Picked picked{.pod_uid = claim.pod_uid};
    Expected expected{.container = claim.container, .count = wanted};
    const std::size_t next = answered(claim.pod_uid, ask.profile);
    if (pod != nullptr) {
      const std::vector<Expected> asks = expected_asks(pod->spec(), ask.profile);
      if (next >= asks.size() || asks[next].count != wanted) {
        continue;
      }
      expected = asks[next];
    } else if (next > 0) {
      continue;
    }
    picked.container = expected.container;
    picked.claims = for_container(claims, expected);
    found = std::max(found, picked.claims.size());
    if (picked.claims.size() < wanted) {
      continue;
    }
    // The kubelet hands devices of init containers on to the containers after them.
    const bool handed_on = std::ranges::any_of(grants_, [&](const Grant& grant) {
      return grant.pod_uid == picked.pod_uid && grant.profile == ask.profile &&
             share_one(grant.ids, ask.ids);
    });
    if (handed_on) {
      return picked;
    }
    const bool deleted = pod != nullptr && pod->deleting();
    if (!oldest || (!stays && !deleted)) {
      oldest = std::move(picked);
      stays = !deleted;
    }
  }
  if (oldest) {
    return *std::move(oldest);
  }
  if (const Grant* grant = same_ids(ask, sight)) {
    return Picked{.pod_uid = grant->pod_uid, .container = grant->container, .repeated = *grant};
  }
  return Error{.code = kPreconditionFailed,
               .reason = "FailedPrecondition",
               .message = fmt::format("requested {} allocations but only found {}", wanted, found)};
}

void Ledger::add(Grant grant) {
  grant.ids = sorted(std::move(grant.ids));
  grants_.push_back(std::move(grant));
}

void Ledger::forget_pod(std::string_view pod_uid) {
  std::erase_if(grants_, [&](const Grant& grant) { return grant.pod_uid == pod_uid; });
}

void Ledger::learn(std::span<const Holder> holders) {
  for (Grant& grant : grants_) {
    const auto holder = std::ranges::find_if(holders, [&](const Holder& one) {
      return one.pod_uid == grant.pod_uid && one.container == grant.container &&
             one.profile == grant.profile;
    });
    if (grant.ids.empty() && holder != holders.end()) {
      grant.ids = sorted(holder->ids);
    }
  }
}

std::vector<std::pair<Grant, Grant>> Ledger::mistaken(std::span<const Holder> holders) const {
  const auto holder_of = [&](const Grant& grant) {
    const auto found = std::ranges::find_if(holders, [&](const Holder& one) {
      return one.profile == grant.profile && !grant.ids.empty() && sorted(one.ids) == grant.ids;
    });
    return found == holders.end() ? std::string() : found->pod_uid;
  };
  std::vector<std::pair<Grant, Grant>> pairs;
  for (std::size_t i = 0; i < grants_.size(); ++i) {
    const Grant& one = grants_[i];
    const std::string holder = holder_of(one);
    if (holder.empty() || holder == one.pod_uid) {
      continue;
    }
    for (std::size_t j = i + 1; j < grants_.size(); ++j) {
      const Grant& other = grants_[j];
      if (other.pod_uid == holder && other.profile == one.profile &&
          other.claims.size() == one.claims.size() && holder_of(other) == one.pod_uid) {
        pairs.emplace_back(one, other);
      }
    }
  }
  return pairs;
}

void Ledger::exchange(std::string_view cdi_id, std::string_view other) {
  const auto one = std::ranges::find(grants_, cdi_id, &Grant::cdi_id);
  const auto two = std::ranges::find(grants_, other, &Grant::cdi_id);
  if (one == grants_.end() || two == grants_.end()) {
    return;
  }
  std::swap(one->pod_uid, two->pod_uid);
  std::swap(one->container, two->container);
  std::swap(one->claims, two->claims);
}

std::vector<Grant> Ledger::of_container(std::string_view pod_uid,
                                        std::string_view container) const {
  std::vector<Grant> grants;
  for (const Grant& grant : grants_) {
    if (grant.pod_uid == pod_uid && grant.container == container) {
      grants.push_back(grant);
    }
  }
  std::ranges::stable_sort(grants, {}, &Grant::profile);
  return grants;
}

}  // namespace athanor::das
