// SPDX-License-Identifier: Apache-2.0
#include "systems/das/agent/exchange.hpp"

#include <algorithm>
#include <set>

namespace athanor::das {
namespace {

bool names(const Grant& grant, const Claim& claim) {
  return std::ranges::find(grant.claims, claim.object.uid()) != grant.claims.end();
}

// What the holder has of its own for the grant's profile.
struct Own {
  std::vector<Claim> unused{};  // in no grant, or in lost ones
  std::vector<Grant> lost{};
  bool unnoted = false;  // a grant that may be the answer to a question under way
};

Own own_of(const Misplaced& misplaced, const Ledger& ledger, const std::set<std::string>& moving,
           const NodeSight& sight) {
  Own own;
  const Grant& wanted = misplaced.grant;
  for (const Grant& grant : ledger.grants()) {
    if (grant.profile != wanted.profile || grant.pod_uid != misplaced.holder.pod_uid) {
      continue;
    }
    if (grant.lost) {
      own.lost.push_back(grant);
    } else if (grant.holder.empty() && !moving.contains(grant.cdi_id)) {
      own.unnoted = true;
    }
  }
  for (const Claim& claim : sight.claims) {
    const bool used = std::ranges::any_of(
        ledger.grants(), [&](const Grant& grant) { return !grant.lost && names(grant, claim); });
    const bool elsewhere =
        !claim.container.empty() && claim.container != misplaced.holder.container;
    if (claim.profile == wanted.profile && claim.pod_uid == misplaced.holder.pod_uid &&
        !is_mirror(claim.object) && !used && !elsewhere &&
        own.unused.size() < wanted.claims.size()) {
      own.unused.push_back(claim);
    }
  }
  return own;
}

Ending ending_of(const Claim& claim, const Ledger& ledger) {
  const Grant* grant = ledger.with_claim(claim.object.uid());
  if (grant == nullptr) {
    return Ending::Destroy;
  }
  if (grant->pod_uid != claim.pod_uid) {
    return Ending::Another;
  }
  if (grant->holder.empty()) {
    return Ending::Unknown;
  }
  return grant->holder == claim.pod_uid ? Ending::Destroy : Ending::Wait;
}

}  // namespace

Value patch_of(const Transfer& transfer) {
  return Value::object(
      {{"spec", Value::object({{"podRef", Value::object({{"kind", "Pod"},
                                                         {"namespace", transfer.pod.ns},
                                                         {"name", transfer.pod.name},
                                                         {"uid", transfer.pod_uid}})},
                               {"container", transfer.container}})}});
}

std::optional<Exchange> next_exchange(const Ledger& ledger, std::span<const Holder> holders,
                                      const NodeSight& sight) {
  const std::vector<Misplaced> all = ledger.misplaced(holders);
  std::set<std::string> moving;
  for (const Misplaced& one : all) {
    moving.insert(one.grant.cdi_id);
  }
  for (const Misplaced& one : all) {
    Own own = own_of(one, ledger, moving, sight);
    if (own.unnoted) {
      continue;
    }
    Exchange exchange{.of = one};
    std::vector<Claim> granted;
    for (const Claim& claim : sight.claims) {
      if (names(one.grant, claim)) {
        granted.push_back(claim);
      }
    }
    const Object* holder = sight.pod(one.holder.pod_uid);
    if (granted.empty() || holder == nullptr || holder->key() == granted.front().pod) {
      continue;  // of one name: the kubelet may mean the pod before
    }
    for (Claim& claim : own.unused) {
      exchange.transfers.push_back({.claim = std::move(claim),
                                    .pod_uid = one.grant.pod_uid,
                                    .pod = granted.front().pod,
                                    .container = one.grant.container});
    }
    for (Claim& claim : granted) {
      exchange.transfers.push_back({.claim = std::move(claim),
                                    .pod_uid = one.holder.pod_uid,
                                    .pod = holder->key(),
                                    .container = one.holder.container});
    }
    exchange.dropped = std::move(own.lost);
    return exchange;
  }
  return std::nullopt;
}

void compare(std::span<const Holder> holders, Ledger& ledger, AllocateWorld& world,
             const AllocateOptions& options) {
  ledger.learn(holders);
  // Each one hands a grant to its holder for good.
  for (std::size_t left = ledger.grants().size(); left > 0; --left) {
    NodeSight sight = world.look();
    ledger.follow(sight);
    const auto exchange = next_exchange(ledger, holders, sight);
    if (!exchange) {
      return;
    }
    for (const Transfer& transfer : exchange->transfers) {
      if (transfer.claim.pod_uid != transfer.pod_uid && !world.give(transfer).ok()) {
        return;
      }
    }
    for (const Grant& grant : exchange->dropped) {
      world.remove_file({.profile = grant.profile, .id = grant.cdi_id});
      ledger.forget(grant.cdi_id);
    }
    ledger.hand_over(exchange->of.grant.cdi_id, exchange->of.holder);
    // Claims as they are now; where nothing is seen, as they were: a file must list its slices.
    if (NodeSight now = world.look(); now.seen) {
      sight = std::move(now);
    }
    for (const auto& [uid, container] :
         {std::pair(exchange->of.holder.pod_uid, exchange->of.holder.container),
          std::pair(exchange->of.grant.pod_uid, exchange->of.grant.container)}) {
      for (const CdiSpec& file : container_files(ledger, uid, container, sight, world, options)) {
        static_cast<void>(world.write_file(file));
      }
    }
  }
}

Ending end_of(const Claim& claim, Ledger& ledger, AllocateWorld& world,
              const AllocateOptions& options) {
  Ending ending = ending_of(claim, ledger);
  if (ending == Ending::Destroy || ending == Ending::Another) {
    return ending;
  }
  const auto holders = world.holders();
  if (!holders) {
    return Ending::Unknown;
  }
  compare(*holders, ledger, world, options);
  ending = ending_of(claim, ledger);
  return ending == Ending::Unknown ? Ending::Destroy : ending;  // nothing has them any more
}

void drop_grant(const Claim& claim, std::span<const CdiSpec> files, Ledger& ledger,
                AllocateWorld& world) {
  for (const CdiSpec& file : files) {
    if (std::ranges::any_of(file.claims, [&](const Value& one) {
          return one["metadata"]["uid"].as_string() == claim.object.uid();
        })) {
      world.remove_file(file);
    }
  }
  ledger.forget_claim(claim.object.uid());
}

}  // namespace athanor::das
