// SPDX-License-Identifier: Apache-2.0
#include "systems/das/agent/exchange.hpp"

#include <algorithm>
#include <set>

#include "kube/text/json.hpp"

namespace athanor::das {
namespace {

bool names(const Grant& grant, const Claim& claim) {
  return std::ranges::find(grant.claims, claim.object.uid()) != grant.claims.end();
}

// The holder's own claims of the grant's profile.
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

// Where an exchange is carried out.
struct Place {
  Ledger& ledger;
  AllocateWorld& world;
  const AllocateOptions& options;
};

// Does what is not done yet, each step as often as it takes. Returns true if all of it is done.
bool carry_out(const Exchange& exchange, NodeSight sight, const Place& at) {
  for (const Transfer& transfer : exchange.transfers) {
    const auto claim = std::ranges::find_if(
        sight.claims, [&](const Claim& one) { return one.object.uid() == transfer.claim_uid; });
    const bool due = claim != sight.claims.end() && claim->pod_uid != transfer.pod_uid;
    if (due && !at.world.give(transfer).ok()) {
      return false;
    }
  }
  for (const CdiSpec& file : exchange.dropped) {
    at.world.remove_file(file);
    at.ledger.forget(file.id);
  }
  at.ledger.hand_over(exchange.device, exchange.to.pod_uid, exchange.to.container);
  // Claims as they are now; where nothing is seen, as they were: a file must list its slices.
  if (NodeSight now = at.world.look(); now.seen) {
    sight = std::move(now);
  }
  for (const PodContainer& one : {exchange.to, exchange.from}) {
    for (const CdiSpec& file :
         container_files(at.ledger, one.pod_uid, one.container, sight, at.world, at.options)) {
      if (!at.world.write_file(file).ok()) {
        return false;
      }
    }
  }
  return at.world.keep_exchange("").ok();
}

Value print_container(const PodContainer& one) {
  return Value::object({{"podUid", one.pod_uid}, {"container", one.container}});
}
PodContainer parse_container(const Value& one) {
  return {.pod_uid = one["podUid"].str(), .container = one["container"].str()};
}

// Returns true if a container of a pod that is not seen yet has the grant's devices.
bool is_held_unseen(const Grant& grant, const Claim& claim, std::span<const Holder> holders) {
  return std::ranges::any_of(holders, [&](const Holder& one) {
    return one.pod_uid.empty() && one.profile == grant.profile && one.pod != claim.pod &&
           std::ranges::any_of(one.ids, [&](const std::string& id) {
             return std::ranges::find(grant.ids, id) != grant.ids.end();
           });
  });
}

}  // namespace

std::string print_exchange(const Exchange& exchange) {
  Value transfers = Value::list();
  for (const Transfer& one : exchange.transfers) {
    transfers.push_back(Value::object({{"claim", one.claim.name},
                                       {"claimNamespace", one.claim.ns},
                                       {"claimUid", one.claim_uid},
                                       {"pod", one.pod.name},
                                       {"podNamespace", one.pod.ns},
                                       {"podUid", one.pod_uid},
                                       {"container", one.container}}));
  }
  Value dropped = Value::list();
  for (const CdiSpec& one : exchange.dropped) {
    dropped.push_back(Value::object({{"profile", one.profile}, {"id", one.id}}));
  }
  return json::print(Value::object({{"device", exchange.device},
                                    {"from", print_container(exchange.from)},
                                    {"to", print_container(exchange.to)},
                                    {"transfers", std::move(transfers)},
                                    {"dropped", std::move(dropped)}})) +
         "\n";
}

std::optional<Exchange> parse_exchange(std::string_view text) {
  const auto document = json::parse(text);
  if (!document.ok() || (*document)["device"].as_string().empty()) {
    return std::nullopt;
  }
  Exchange exchange{.device = (*document)["device"].str(),
                    .from = parse_container((*document)["from"]),
                    .to = parse_container((*document)["to"])};
  for (const Value& one : (*document)["transfers"].items()) {
    exchange.transfers.push_back({.claim = {one["claimNamespace"].str(), one["claim"].str()},
                                  .claim_uid = one["claimUid"].str(),
                                  .pod_uid = one["podUid"].str(),
                                  .pod = {one["podNamespace"].str(), one["pod"].str()},
                                  .container = one["container"].str()});
  }
  for (const Value& one : (*document)["dropped"].items()) {
    exchange.dropped.push_back({.profile = one["profile"].str(), .id = one["id"].str()});
  }
  return exchange;
}

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
    Exchange exchange{.device = one.grant.cdi_id,
                      .from = {one.grant.pod_uid, one.grant.container},
                      .to = {one.holder.pod_uid, ledger.container_for(one, sight)}};
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
    // Claims name the containers that they were made for, never init containers before these.
    for (const Claim& claim : own.unused) {
      exchange.transfers.push_back({.claim = claim.object.key(),
                                    .claim_uid = std::string(claim.object.uid()),
                                    .pod_uid = one.grant.pod_uid,
                                    .pod = granted.front().pod,
                                    .container = granted.front().container.empty()
                                                     ? one.grant.container
                                                     : granted.front().container});
    }
    for (const Claim& claim : granted) {
      exchange.transfers.push_back({.claim = claim.object.key(),
                                    .claim_uid = std::string(claim.object.uid()),
                                    .pod_uid = one.holder.pod_uid,
                                    .pod = holder->key(),
                                    .container = one.holder.container});
    }
    for (const Grant& grant : own.lost) {
      exchange.dropped.push_back({.profile = grant.profile, .id = grant.cdi_id});
    }
    return exchange;
  }
  return std::nullopt;
}

bool finish_exchange(Ledger& ledger, AllocateWorld& world, const AllocateOptions& options) {
  const std::string text = world.kept_exchange();
  if (text.empty()) {
    return true;
  }
  const auto exchange = parse_exchange(text);
  if (!exchange) {
    return world.keep_exchange("").ok();  // nothing of it was done
  }
  const NodeSight sight = world.look();
  return sight.seen && carry_out(*exchange, sight, {ledger, world, options});
}

void compare(std::span<const Holder> holders, Ledger& ledger, AllocateWorld& world,
             const AllocateOptions& options) {
  if (!finish_exchange(ledger, world, options)) {
    return;
  }
  ledger.learn(holders);
  // Each one hands a grant to its holder for good.
  for (std::size_t left = ledger.grants().size(); left > 0; --left) {
    const NodeSight sight = world.look();
    ledger.follow(sight);
    const auto exchange = next_exchange(ledger, holders, sight);
    if (!exchange || !world.keep_exchange(print_exchange(*exchange)).ok() ||
        !carry_out(*exchange, sight, {ledger, world, options})) {
      return;
    }
  }
}

Ending end_of(const Claim& claim, Ledger& ledger, AllocateWorld& world,
              const AllocateOptions& options) {
  if (!finish_exchange(ledger, world, options)) {
    return Ending::Wait;
  }
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
  if (ending != Ending::Unknown) {
    return ending;
  }
  const Grant* grant = ledger.with_claim(claim.object.uid());
  const bool held = grant != nullptr && is_held_unseen(*grant, claim, *holders);
  return held ? Ending::Unknown : Ending::Destroy;  // nothing has them any more
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
