// SPDX-License-Identifier: Apache-2.0
#include "sim/scenes/queue_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "api/kueue.hpp"
#include "kube/value/condition.hpp"

namespace athanor::sim {
namespace {

using News = std::span<const store::EventPtr>;

constexpr std::string_view kWorkloads = "workloads.kueue.x-k8s.io";

bool about_workloads(News news) {
  return std::ranges::any_of(
      news, [](const auto& event) { return event->object->resource == kWorkloads; });
}

bool has(const Object& workload, std::string_view condition) {
  return condition_is(workload.status()["conditions"], condition, "True");
}

bool holds(const Object& workload) {
  const Value& active = workload.spec()["active"];
  return has(workload, "QuotaReserved") && !has(workload, "Finished") &&
         (active.is_null() || active.as_bool());
}

std::int64_t number(const Value& value) {
  return value.is_integer() ? value.as_int() : std::stoll("0" + value.str());
}
std::optional<std::int64_t> limit(const Value& value) {
  return value.is_null() ? std::nullopt : std::optional(number(value));
}

// Every flavor and resource that somebody has quota of.
std::set<std::pair<std::string, std::string>> all_cells(const World& world) {
  std::set<std::pair<std::string, std::string>> cells;
  for (const Kind* kind : {&api::kueue::kClusterQueue, &api::kueue::kCohort}) {
    for (const Object& object : world.list(*kind)) {
      for (const Value& group : object.spec()["resourceGroups"].items()) {
        for (const Value& flavor : group["flavors"].items()) {
          for (const Value& resource : flavor["resources"].items()) {
            cells.emplace(flavor["name"].str(), resource["name"].str());
          }
        }
      }
    }
  }
  return cells;
}

// What a workload holds of a cell.
std::int64_t held_of(const Object& workload, std::string_view flavor, std::string_view resource) {
  std::int64_t amount = 0;
  for (const Value& pods : workload.status()["admission"]["podSetAssignments"].items()) {
    if (pods["flavors"][resource].as_string() == flavor) {
      amount += number(pods["resourceUsage"][resource]);
    }
  }
  return amount;
}

std::int64_t needed_of(const Object& workload, std::string_view resource) {
  const Value& pods = workload.spec()["podSets"][0];
  return number(pods["count"]) *
         number(pods["template"]["spec"]["containers"][0]["resources"]["requests"][resource]);
}

}  // namespace

void QuotaCount::read(const Object& object, const std::string& name, std::string_view parent_key) {
  Node& node = nodes_[name];
  if (const std::string parent = object.spec()[parent_key].str(); !parent.empty()) {
    node.parent = "co/" + parent;
    nodes_.try_emplace(node.parent);  // a cohort that is only named
  }
  for (const Value& group : object.spec()["resourceGroups"].items()) {
    for (const Value& flavor : group["flavors"].items()) {
      for (const Value& quota : flavor["resources"].items()) {
        if (flavor["name"].as_string() == flavor_ && quota["name"].as_string() == resource_) {
          nodes_[name].listed = true;
          nodes_[name].nominal = number(quota["nominalQuota"]);
          nodes_[name].borrowing = limit(quota["borrowingLimit"]);
          nodes_[name].lending = limit(quota["lendingLimit"]);
        }
      }
    }
  }
}

QuotaCount::QuotaCount(const World& world, std::string flavor, std::string resource)
    : flavor_(std::move(flavor)), resource_(std::move(resource)) {
  for (const Object& cohort : world.list(api::kueue::kCohort)) {
    read(cohort, "co/" + std::string(cohort.name()), "parentName");
  }
  for (const Object& queue : world.list(api::kueue::kClusterQueue)) {
    read(queue, "cq/" + std::string(queue.name()), "cohortName");
  }
  for (const Object& workload : world.list(api::kueue::kWorkload)) {
    if (holds(workload)) {
      nodes_["cq/" + workload.status()["admission"]["clusterQueue"].str()].held +=
          held_of(workload, flavor_, resource_);
    }
  }
}

std::vector<std::string> QuotaCount::children(const std::string& node) const {
  std::vector<std::string> names;
  for (const auto& [name, other] : nodes_) {
    if (other.parent == node) {
      names.push_back(name);
    }
  }
  return names;
}

std::int64_t QuotaCount::subtree(const std::string& node) const {
  std::int64_t sum = nodes_.at(node).nominal;
  for (const std::string& child : children(node)) {
    sum += subtree(child) - local(child);
  }
  return sum;
}

std::int64_t QuotaCount::local(const std::string& node) const {
  const auto& lending = nodes_.at(node).lending;
  return lending ? std::max<std::int64_t>(0, subtree(node) - *lending) : 0;
}

std::int64_t QuotaCount::usage(const std::string& node) const {
  std::int64_t sum = nodes_.at(node).held;
  for (const std::string& child : children(node)) {
    sum += std::max<std::int64_t>(0, usage(child) - local(child));
  }
  return sum;
}

std::int64_t QuotaCount::capacity(const std::string& node) const {
  const Node& own = nodes_.at(node);
  if (node.starts_with("cq/") && !own.listed) {
    return 0;
  }
  if (own.parent.empty()) {
    return subtree(node);
  }
  const std::int64_t with_parent = local(node) + capacity(own.parent);
  return own.borrowing ? std::min(with_parent, subtree(node) + *own.borrowing) : with_parent;
}

std::optional<std::string> QuotaCount::exceeded() const {
  for (const auto& [name, node] : nodes_) {
    const std::int64_t used = usage(name);
    const std::int64_t most = node.parent.empty() ? subtree(name)
                              : node.borrowing    ? subtree(name) + *node.borrowing
                                                  : used;
    if (used > most) {
      return fmt::format("{} uses {} of {} {}, and may use {}", name, used, flavor_, resource_,
                         most);
    }
  }
  return std::nullopt;
}

Invariant tree_quota_holds() {
  return {.name = "no tree of cohorts gives more than it has",
          .check = [](const World& world, News news) -> std::optional<std::string> {
            if (!about_workloads(news)) {
              return std::nullopt;
            }
            for (const auto& [flavor, resource] : all_cells(world)) {
              if (auto wrong = QuotaCount(world, flavor, resource).exceeded()) {
                return wrong;
              }
            }
            return std::nullopt;
          }};
}

Invariant admitted_once() {
  return {.name = "no workload is admitted twice",
          .check = [](const World& /*world*/, News news) -> std::optional<std::string> {
            for (const store::EventPtr& event : news) {
              if (event->object->resource != kWorkloads ||
                  event->type != store::Event::Type::Modified) {
                continue;
              }
              const Value& before = event->previous->body["status"]["admission"];
              const Value& after = event->object->body["status"]["admission"];
              if (!before.is_null() && !after.is_null() && before != after) {
                return event->object->body["metadata"]["name"].str() +
                       " got other quota while it held some";
              }
            }
            return std::nullopt;
          }};
}

Invariant preemption_rests(std::int64_t limit) {
  return {.name = "preemption does not go in circles",
          .check = [limit](const World& /*world*/, News news) -> std::optional<std::string> {
            for (const store::EventPtr& event : news) {
              for (const Value& one :
                   event->object->body["status"]["schedulingStats"]["evictions"].items()) {
                if (one["reason"].as_string() == "Preempted" && one["count"].as_int() > limit) {
                  return fmt::format("{} was preempted {} times",
                                     event->object->body["metadata"]["name"].str(),
                                     one["count"].as_int());
                }
              }
            }
            return std::nullopt;
          }};
}

Invariant finished_in_time(std::string prefix, Duration limit) {
  return {.name = "who fits finishes in time",
          .when = Invariant::When::AtRest,
          .check = [prefix = std::move(prefix), limit](
                       const World& world, News /*news*/) -> std::optional<std::string> {
            for (const Object& workload : world.list(api::kueue::kWorkload)) {
              const auto created = workload.creation_time();
              const auto ended = parse_time(
                  find_condition(workload.status()["conditions"], "Finished")["lastTransitionTime"]
                      .as_string());
              if (workload.name().starts_with(prefix) && created && ended &&
                  *ended - *created > limit) {
                return fmt::format("{} finished {} after it was created", workload.name(),
                                   format_go_duration(*ended - *created));
              }
            }
            return std::nullopt;
          }};
}

Invariant who_waits_does_not_fit() {
  return {.name = "who waits does not fit and knows it",
          .when = Invariant::When::AtRest,
          .check = [](const World& world, News /*news*/) -> std::optional<std::string> {
            for (const Object& workload : world.list(api::kueue::kWorkload)) {
              if (has(workload, "Finished") || holds(workload)) {
                continue;
              }
              const Value& reserved =
                  find_condition(workload.status()["conditions"], "QuotaReserved");
              if (reserved["message"].as_string().empty()) {
                return std::string(workload.name()) + " waits and was not told why";
              }
              for (const auto& [flavor, resource] : all_cells(world)) {
                const QuotaCount count(world, flavor, resource);
                const std::string queue = "cq/" + workload.spec()["queueName"].str();
                if (needed_of(workload, resource) <= count.capacity(queue)) {
                  return fmt::format("{} waits and would fit in {}", workload.name(), flavor);
                }
              }
            }
            return std::nullopt;
          }};
}

Invariant counts_are_those_of_workloads() {
  return {.name = "the counts of ClusterQueues are those of workloads",
          .when = Invariant::When::AtRest,
          .check = [](const World& world, News /*news*/) -> std::optional<std::string> {
            for (const Object& queue : world.list(api::kueue::kClusterQueue)) {
              std::int64_t holders = 0;
              std::map<std::pair<std::string, std::string>, std::int64_t> counted;
              for (const Object& workload : world.list(api::kueue::kWorkload)) {
                if (!holds(workload) ||
                    workload.status()["admission"]["clusterQueue"].as_string() != queue.name()) {
                  continue;
                }
                ++holders;
                for (const auto& cell : all_cells(world)) {
                  counted[cell] += held_of(workload, cell.first, cell.second);
                }
              }
              if (queue.status()["reservingWorkloads"].as_int() != holders) {
                return fmt::format("{} counts {} of {} workloads", queue.name(),
                                   queue.status()["reservingWorkloads"].as_int(), holders);
              }
              for (const Value& flavor : queue.status()["flavorsReservation"].items()) {
                for (const Value& resource : flavor["resources"].items()) {
                  const std::int64_t said = number(resource["total"]);
                  const std::int64_t is = counted[{flavor["name"].str(), resource["name"].str()}];
                  if (said != is) {
                    return fmt::format("{} says {} of {}, and it is {}", queue.name(), said,
                                       flavor["name"].as_string(), is);
                  }
                }
              }
            }
            return std::nullopt;
          }};
}

}  // namespace athanor::sim
