// SPDX-License-Identifier: Apache-2.0
// Editing resource groups.
#include "systems/hearth/quota.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "kube/text/quantity.hpp"
#include "systems/hearth/names.hpp"

namespace athanor::hearth {
namespace {

// Kueue's limits (8.2 Q3).
constexpr std::size_t kMostFlavors = 64;
constexpr std::size_t kMostResources = 64;
constexpr std::size_t kMostPairs = 512;
constexpr std::size_t kMostFlavorsInAll = 256;
constexpr std::size_t kMostResourcesInAll = 256;

constexpr std::string_view kWayOut =
    "remove a cluster, or let another Hearth with a ClusterQueue of its own "
    "(HEARTH_KUEUE_CLUSTER_QUEUE_NAME) take it";

std::optional<std::int64_t> amount_of(const Value& entry) {
  const auto quantity = Quantity::parse(entry["nominalQuota"]);
  return quantity ? std::optional(quantity->value()) : std::nullopt;
}

struct Flavor {
  Value former{};                            // the entry as it was; Null for a new one
  std::map<std::string, Value> resources{};  // by name
};

Flavor read_flavor(const Value& entry) {
  Flavor flavor{.former = entry};
  for (const Value& resource : entry["resources"].items()) {
    flavor.resources[resource["name"].str()] = resource;
  }
  return flavor;
}

class Editor {
 public:
  Editor(const Value& groups, const std::string& gpu_prefix)
      : groups_(groups), gpu_prefix_(gpu_prefix) {
    find_group();
  }

  QuotaEdit run(const std::vector<QuotaWish>& wishes) {
    for (const QuotaWish& wish : wishes) {
      if (wish.presence == QuotaWish::Presence::Leave) {
        concerned_ = remove(wish.cluster) || concerned_;
      }
    }
    // Present entries have the older right to space.
    for (const bool there : {true, false}) {
      for (const QuotaWish& wish : wishes) {
        if (wish.presence != QuotaWish::Presence::Leave && has(wish.cluster) == there &&
            !edit_.outcomes.contains(wish.cluster)) {
          admit(wish);
        }
      }
    }
    for (const QuotaWish& wish : wishes) {
      if (edit_.outcomes.contains(wish.cluster) && has(wish.cluster)) {
        fill(wish);
      }
    }
    finish();
    for (auto& [cluster, outcome] : edit_.outcomes) {
      compare(cluster, outcome);
    }
    return std::move(edit_);
  }

 private:
  void find_group() {
    const auto items = groups_.items();
    for (std::size_t i = 0; i < items.size() && !group_; ++i) {
      for (const Value& resource : items[i]["coveredResources"].items()) {
        if (resource.as_string() == name::kClusterSlot) {
          group_ = i;
        }
      }
    }
    if (!group_ && !items.empty()) {
      group_ = 0;
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      const bool ours = group_ == i;
      for (const Value& resource : items[i]["coveredResources"].items()) {
        (ours ? covered_ : covered_elsewhere_).insert(resource.str());
      }
      for (const Value& entry : items[i]["flavors"].items()) {
        const std::string name = entry["name"].str();
        if (ours) {
          order_.push_back(name);
          flavors_[name] = read_flavor(entry);
        } else {
          flavors_elsewhere_.insert(name);
        }
      }
    }
  }

  [[nodiscard]] bool has(const std::string& cluster) const { return flavors_.contains(cluster); }

  bool remove(const std::string& cluster) {
    std::erase(order_, cluster);
    return flavors_.erase(cluster) > 0;
  }

  // Whether so many flavors and resources may be together; else why not.
  [[nodiscard]] std::string limit(std::size_t flavors, std::size_t resources) const {
    const auto text = [](std::string_view what, std::size_t most) {
      return fmt::format("the ClusterQueue may hold at most {} {}: {}", most, what, kWayOut);
    };
    if (flavors > kMostFlavors || flavors + flavors_elsewhere_.size() > kMostFlavorsInAll) {
      return text("flavors", flavors > kMostFlavors ? kMostFlavors : kMostFlavorsInAll);
    }
    if (resources > kMostResources || resources + covered_elsewhere_.size() > kMostResourcesInAll) {
      return text("resources", resources > kMostResources ? kMostResources : kMostResourcesInAll);
    }
    return flavors * resources > kMostPairs ? text("pairs of flavor and resource", kMostPairs)
                                            : std::string();
  }

  static void refuse(QuotaOutcome& outcome, QuotaOutcome::Kind kind, std::string message) {
    outcome.kind = kind;
    outcome.message = std::move(message);
  }

  // Adds an entry and its resources. What does not fit is left out.
  void admit(const QuotaWish& wish) {
    if (wish.presence == QuotaWish::Presence::Stay && !has(wish.cluster)) {
      return;
    }
    QuotaOutcome& outcome = edit_.outcomes[wish.cluster];
    outcome.was_there = has(wish.cluster);
    if (flavors_elsewhere_.contains(wish.cluster)) {
      refuse(
          outcome, QuotaOutcome::Kind::Rejected,
          fmt::format("flavor {} is in another resource group of the ClusterQueue", wish.cluster));
      return;
    }
    std::set<std::string> resources = covered_;
    resources.insert(std::string(name::kClusterSlot));
    for (const auto& [resource, count] : wish.gpus) {
      if (covered_elsewhere_.contains(resource)) {
        refuse(outcome, QuotaOutcome::Kind::Rejected,
               fmt::format("resource {} is covered by another resource group of the ClusterQueue",
                           resource));
      } else if (wish.discovered) {
        resources.insert(resource);
      }
    }
    const std::size_t flavors = order_.size() + (outcome.was_there ? 0 : 1);
    std::string problem = limit(flavors, resources.size());
    if (!problem.empty()) {  // an entry that is there stays; its new GPUs do not fit
      refuse(outcome, QuotaOutcome::Kind::QuotaLimit, std::move(problem));
      return;
    }
    concerned_ = true;
    covered_ = std::move(resources);
    if (!outcome.was_there) {
      order_.push_back(wish.cluster);
      flavors_[wish.cluster] = {};
    }
  }

  static void set_amount(Flavor& flavor, const std::string& resource, std::int64_t amount) {
    Value& entry = flavor.resources[resource];
    if (amount_of(entry) != std::optional(amount)) {
      entry.set("name", resource);
      entry.set("nominalQuota", std::to_string(amount));
    }
  }

  // E4 to E7.
  void fill(const QuotaWish& wish) {
    Flavor& flavor = flavors_[wish.cluster];
    QuotaOutcome& outcome = edit_.outcomes[wish.cluster];
    const std::string slot(name::kClusterSlot);
    const auto stored = flavor.resources.find(slot);
    if (stored != flavor.resources.end()) {
      outcome.former_slots = amount_of(stored->second);
    }
    set_amount(flavor, slot, wish.slots.value_or(outcome.former_slots.value_or(kSlotsPerCluster)));
    if (!wish.discovered) {
      return;
    }
    for (const std::string& resource : covered_) {
      if (resource.starts_with(gpu_prefix_)) {
        const auto count = wish.gpus.find(resource);
        set_amount(flavor, resource, count == wish.gpus.end() ? 0 : count->second);
      }
    }
  }

  // E2: every flavor lists every resource, in one order.
  [[nodiscard]] Value entry_of(const std::string& flavor_name, const Flavor& flavor) const {
    Value resources = Value::list();
    for (const std::string& resource : covered_) {
      const auto known = flavor.resources.find(resource);
      resources.push_back(known != flavor.resources.end()
                              ? known->second
                              : Value::object({{"name", resource}, {"nominalQuota", "0"}}));
    }
    Value entry = flavor.former.is_null() ? Value::object({{"name", flavor_name}}) : flavor.former;
    entry.set("resources", std::move(resources));
    return entry;
  }

  void finish() {
    edit_.groups = groups_.is_list() ? groups_ : Value::list();
    if (!concerned_) {
      return;
    }
    if (order_.empty()) {
      if (group_) {
        edit_.groups.erase_item(*group_);
      }
    } else {
      Value group = group_ ? groups_[*group_] : Value::object();
      Value covered = Value::list();
      for (const std::string& resource : covered_) {
        covered.push_back(resource);
      }
      Value flavors = Value::list();
      for (const std::string& flavor : order_) {
        flavors.push_back(entry_of(flavor, flavors_.at(flavor)));
      }
      group.set("coveredResources", std::move(covered));
      group.set("flavors", std::move(flavors));
      if (group_) {
        edit_.groups.item(*group_) = std::move(group);
      } else {
        edit_.groups.push_back(std::move(group));
      }
    }
    edit_.changed = edit_.groups != (groups_.is_list() ? groups_ : Value::list());
  }

  void compare(const std::string& cluster, QuotaOutcome& outcome) const {
    if (!has(cluster)) {
      return;
    }
    const Flavor& flavor = flavors_.at(cluster);
    const Flavor former = flavor.former.is_null() ? Flavor() : read_flavor(flavor.former);
    outcome.differs = flavor.former.is_null();
    for (const std::string& resource : covered_) {
      const auto now = flavor.resources.find(resource);
      const auto before = former.resources.find(resource);
      const auto amount = [](const auto& at, const auto& all) {
        return at == all.end() ? 0 : amount_of(at->second).value_or(0);
      };
      if (amount(now, flavor.resources) != amount(before, former.resources)) {
        outcome.differs = true;
        outcome.gpus_differ = outcome.gpus_differ || resource.starts_with(gpu_prefix_);
      }
    }
  }

  const Value& groups_;
  const std::string& gpu_prefix_;
  std::optional<std::size_t> group_{};
  std::set<std::string> covered_{};  // in byte order: the order that is written
  std::set<std::string> covered_elsewhere_{};
  std::set<std::string> flavors_elsewhere_{};
  std::vector<std::string> order_{};  // Kueue's preference
  std::map<std::string, Flavor> flavors_{};
  bool concerned_ = false;  // anything of ours in or out
  QuotaEdit edit_{};
};

}  // namespace

QuotaEdit edit_quotas(const Value& groups, const std::vector<QuotaWish>& wishes,
                      const std::string& gpu_prefix) {
  return Editor(groups, gpu_prefix).run(wishes);
}

}  // namespace athanor::hearth
