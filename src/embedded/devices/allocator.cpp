// SPDX-License-Identifier: Apache-2.0
#include "embedded/devices/allocator.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "kube/names/node_match.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::devices {
namespace {

constexpr const char* kNotAll = "cannot allocate all claims";

struct Candidate {
  const Pool* pool = nullptr;
  const Device* device = nullptr;
};

bool tolerated(const Device& device, const DeviceRequest& request) {
  return std::ranges::all_of(device.body["taints"].items(), [&](const Value& taint) {
    const std::string_view effect = taint["effect"].as_string();
    return (effect != "NoSchedule" && effect != "NoExecute") ||
           tolerates(request.tolerations, taint);
  });
}

bool large_enough(const Device& device, const DeviceRequest& request) {
  return std::ranges::all_of(request.capacity.members(), [&](const Member& wanted) {
    const auto least = Quantity::parse(wanted.value);
    const auto has = Quantity::parse(capacity_of(device, wanted.key()));
    return least && has && *has >= *least;
  });
}

class Search {
 public:
  Search(std::span<const ClaimRequests> claims, std::span<const Pool* const> pools, Ledger& ledger,
         const Object& node, Expressions& expressions)
      : claims_(claims), ledger_(ledger), expressions_(expressions) {
    for (const Pool* pool : pools) {
      for (const Device& device : pool->devices) {
        // Devices that are to be prepared for a node first are for schedulers that wait for that.
        if (pool->complete && device.body["bindingConditions"].empty() && reachable(device, node)) {
          here_.push_back({pool, &device});
        }
      }
    }
    chosen_.resize(claims.size());
  }

  Result<std::vector<ClaimDevices>> run() {
    if (next_request(0, 0)) {
      for (const ClaimDevices& devices : chosen_) {
        for (const Chosen& one : devices) {
          if (!one.request->admin) {
            ledger_.give_back(*one.device);
          }
        }
      }
      return std::move(chosen_);
    }
    if (problem_) {
      return *problem_;
    }
    return Error::conflict(too_many_ ? std::string(kNotAll) + ": too many combinations" : kNotAll);
  }

 private:
  // Places the request `index` of a claim and all that follow.
  bool next_request(std::size_t claim, std::size_t index) {
    while (claim < claims_.size() && index == claims_[claim].choices.size()) {
      ++claim;
      index = 0;
    }
    if (claim == claims_.size()) {
      return true;
    }
    for (const DeviceRequest& request : claims_[claim].choices[index]) {
      const std::vector<Candidate>* fit = candidates(request);
      if (fit == nullptr) {
        return false;
      }
      const std::size_t count =
          request.all ? fit->size()
                      : static_cast<std::size_t>(std::max<std::int64_t>(request.count, 0));
      const Place place{claim, index, request, *fit, count};
      if (count <= fit->size() && (count > 0 || !request.all) && next_device(place, 0, 0)) {
        return true;
      }
    }
    return false;
  }

  struct Place {
    std::size_t claim = 0;
    std::size_t index = 0;
    const DeviceRequest& request;
    const std::vector<Candidate>& fit;
    std::size_t count = 0;
  };

  // Chooses the device number `have` of a request among the candidates from `from` on.
  bool next_device(const Place& place, std::size_t have, std::size_t from) {
    if (have == place.count) {
      return next_request(place.claim, place.index + 1);
    }
    for (std::size_t i = from; i + (place.count - have) <= place.fit.size(); ++i) {
      if (problem_ || !take_steps(1)) {
        return false;
      }
      const Candidate& candidate = place.fit[i];
      if (!available(place, candidate)) {
        if (place.request.all) {
          return false;
        }
        continue;
      }
      const Device& device = *candidate.device;
      if (!place.request.admin) {
        ledger_.take(device);
      }
      chosen_[place.claim].push_back({&place.request, &device});
      if (next_device(place, have + 1, i + 1)) {
        return true;
      }
      chosen_[place.claim].pop_back();
      if (!place.request.admin) {
        ledger_.give_back(device);
      }
      if (place.request.all) {
        return false;
      }
    }
    return false;
  }

  bool available(const Place& place, const Candidate& candidate) {
    const Device& device = *candidate.device;
    const bool free = place.request.admin ||
                      (!ledger_.taken(device.id) && ledger_.affords(*candidate.pool, device));
    return free && std::ranges::all_of(claims_[place.claim].constraints,
                                       [&](const DeviceConstraint& constraint) {
                                         return satisfied(constraint, place, device);
                                       });
  }

  // Of this node, and of the pods of the namespace on all nodes. False: the search ends.
  bool take_steps(std::size_t count) {
    tries_ += count;
    too_many_ = too_many_ || tries_ > kMostTries || !expressions_.take_steps(count);
    return !too_many_;
  }

  bool satisfied(const DeviceConstraint& constraint, const Place& place, const Device& device) {
    if (!constraint.covers(place.request)) {
      return true;
    }
    if (!take_steps(1 + chosen_[place.claim].size())) {
      return false;
    }
    const Value& value = attribute_of(device, constraint.attribute);
    return !value.is_null() && std::ranges::all_of(chosen_[place.claim], [&](const Chosen& other) {
      return !constraint.covers(*other.request) ||
             (attribute_of(*other.device, constraint.attribute) == value) != constraint.distinct;
    });
  }

  // The devices that match a request, whether free or not; nullptr: an expression is wrong.
  const std::vector<Candidate>* candidates(const DeviceRequest& request) {
    const auto known = fitting_.find(&request);
    if (known != fitting_.end()) {
      return &known->second;
    }
    std::vector<Candidate> fit;
    for (const Candidate& candidate : here_) {
      const Device& device = *candidate.device;
      bool matches = tolerated(device, request) && large_enough(device, request);
      for (std::size_t i = 0; matches && i < request.expressions.size(); ++i) {
        const auto holds = expressions_.holds(request.expressions[i], device.seen);
        if (!holds.ok()) {
          problem_ = holds.error().with_context("request " + request.name + ": selector #" +
                                                std::to_string(i) + ": device " + device.id.driver +
                                                "/" + device.id.pool + "/" + device.id.name);
          return nullptr;
        }
        matches = *holds;
      }
      if (matches) {
        fit.push_back(candidate);
      }
    }
    return &fitting_.emplace(&request, std::move(fit)).first->second;
  }

  std::span<const ClaimRequests> claims_;
  Ledger& ledger_;
  Expressions& expressions_;
  std::vector<Candidate> here_{};
  std::map<const DeviceRequest*, std::vector<Candidate>> fitting_{};  // only looked up
  std::vector<ClaimDevices> chosen_{};
  std::optional<Error> problem_{};
  std::size_t tries_ = 0;
  bool too_many_ = false;
};

Value config_entry(const char* source, const Value& requests, const Value& opaque) {
  Value entry = Value::object({{"source", source}, {"opaque", opaque}});
  if (!requests.empty()) {
    entry.set("requests", requests);
  }
  return entry;
}

}  // namespace

bool Ledger::affords(const Pool& pool, const Device& device) const {
  const auto used = used_.find({pool.driver, pool.name});
  return std::ranges::all_of(device.consumes, [&](const auto& use) {
    const auto& [set, amounts] = use;
    const auto has = pool.counters.find(set);
    return has != pool.counters.end() && std::ranges::all_of(amounts, [&](const auto& one) {
             const auto& [name, amount] = one;
             const auto most = has->second.find(name);
             if (most == has->second.end()) {
               return false;
             }
             Quantity left = most->second;
             if (used != used_.end()) {
               if (const auto by_set = used->second.find(set); by_set != used->second.end()) {
                 if (const auto spent = by_set->second.find(name); spent != by_set->second.end()) {
                   left -= spent->second;
                 }
               }
             }
             return amount <= left;
           });
  });
}

void Ledger::take(const Device& device) {
  devices_.insert(device.id);
  for (const auto& [set, amounts] : device.consumes) {
    for (const auto& [name, amount] : amounts) {
      used_[{device.id.driver, device.id.pool}][set][name] += amount;
    }
  }
}

void Ledger::give_back(const Device& device) {
  devices_.erase(device.id);
  for (const auto& [set, amounts] : device.consumes) {
    for (const auto& [name, amount] : amounts) {
      used_[{device.id.driver, device.id.pool}][set][name] -= amount;
    }
  }
}

Result<std::vector<ClaimDevices>> allocate(std::span<const ClaimRequests> claims,
                                           std::span<const Pool* const> pools, Ledger& ledger,
                                           const Object& node, Expressions& expressions) {
  return Search(claims, pools, ledger, node, expressions).run();
}

Value allocation_of(const ClaimRequests& claim, const ClaimDevices& devices, const Object& node) {
  Value results = Value::list();
  Value config = Value::list();
  bool anywhere = true;
  const DeviceRequest* last = nullptr;
  for (const Chosen& one : devices) {
    Value result = Value::object({{"request", one.request->name},
                                  {"driver", one.device->id.driver},
                                  {"pool", one.device->id.pool},
                                  {"device", one.device->id.name}});
    if (one.request->admin) {
      result.set("adminAccess", true);
    }
    if (!one.request->tolerations.empty()) {
      result.set("tolerations", one.request->tolerations);
    }
    results.push_back(std::move(result));
    anywhere = anywhere && one.device->place["allNodes"].as_bool();
    if (one.request != last) {
      for (const Value& entry : one.request->class_config.items()) {
        config.push_back(
            config_entry("FromClass", Value::list({one.request->name}), entry["opaque"]));
      }
    }
    last = one.request;
  }
  for (const Value& entry : claim.config.items()) {
    config.push_back(config_entry("FromClaim", entry["requests"], entry["opaque"]));
  }
  Value all = Value::object({{"results", std::move(results)}});
  if (!config.empty()) {
    all.set("config", std::move(config));
  }
  Value allocation = Value::object({{"devices", std::move(all)}});
  if (!anywhere) {
    const Value field = Value::object({{"key", "metadata.name"},
                                       {"operator", "In"},
                                       {"values", Value::list({std::string(node.name())})}});
    allocation.set(
        "nodeSelector",
        Value::object({{"nodeSelectorTerms",
                        Value::list({Value::object({{"matchFields", Value::list({field})}})})}}));
  }
  return allocation;
}

}  // namespace athanor::devices
