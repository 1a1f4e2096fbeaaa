// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/preflight.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "api/kueue.hpp"
#include "base/near_name.hpp"
#include "embedded/lab/file/lab_file.hpp"
#include "kube/text/quantity.hpp"
#include "simulation/whatif/trace_run.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/messages.hpp"

namespace athanor::cli {
namespace {

namespace text = fournos::text;

constexpr std::string_view kRequestedGpuPrefix = "fournos/gpu-";
constexpr std::string_view kLocalQueue =
    "fournos-queue";  // FOURNOS_KUEUE_LOCAL_QUEUE_NAME's default

// The clusters and what the job's queue has of each, as a lab file says it.
struct Fleet {
  lab::Lab lab{};
  std::set<std::string> gpu_types{};
  std::string queue{};
};

std::int64_t whole_amount(const Value& amount) {
  const auto quantity = Quantity::parse(amount);
  return quantity ? quantity->value() : 0;
}

std::vector<std::string> names_of(const std::vector<Object>& objects) {
  std::vector<std::string> names;
  names.reserve(objects.size());
  for (const Object& object : objects) {
    names.emplace_back(object.name());
  }
  return names;
}

// A queue of a cohort may borrow what others have: all of it counts.
void add_quota(const Object& queue,
               std::map<std::string, std::map<std::string, std::int64_t>>& sum) {
  for (const Value& group : queue.spec()["resourceGroups"].items()) {
    for (const Value& flavor : group["flavors"].items()) {
      for (const Value& resource : flavor["resources"].items()) {
        sum[flavor["name"].str()][resource["name"].str()] += whole_amount(resource["nominalQuota"]);
      }
    }
  }
}

Result<Fleet> fleet_of(Session& session, const std::string& ns) {
  Fleet fleet;
  ATHANOR_TRY(const auto flavors, session.list(api::kueue::kResourceFlavor, ""));
  ATHANOR_TRY(const auto queues, session.list(api::kueue::kClusterQueue, ""));
  ATHANOR_TRY(const auto local, session.list(api::kueue::kLocalQueue, ns));
  const auto named = std::ranges::find(local, kLocalQueue, &Object::name);
  std::set<std::string> reached;
  for (const Object& queue : local) {
    if (named == local.end() || queue.name() == kLocalQueue) {
      reached.insert(queue.spec()["clusterQueue"].str());
    }
  }
  const bool borrows = std::ranges::any_of(queues, [&](const Object& queue) {
    return reached.contains(std::string(queue.name())) &&
           !queue.spec()["cohortName"].as_string().empty();
  });
  std::map<std::string, std::map<std::string, std::int64_t>> quota;
  for (const Object& queue : queues) {
    if (borrows || reached.contains(std::string(queue.name()))) {
      add_quota(queue, quota);
    }
    for (const Value& group : queue.spec()["resourceGroups"].items()) {
      for (const Value& resource : group["coveredResources"].items()) {
        if (resource.as_string().starts_with(kRequestedGpuPrefix)) {
          fleet.gpu_types.insert(resource.str().substr(kRequestedGpuPrefix.size()));
        }
      }
    }
  }
  for (const Object& flavor : flavors) {
    lab::Cluster cluster{.name = std::string(flavor.name()), .quota = {}, .kubeconfig = {}};
    for (const auto& [resource, amount] : quota[cluster.name]) {
      cluster.quota[resource] = fmt::format("{}", amount);
    }
    fleet.lab.clusters.push_back(std::move(cluster));
  }
  fleet.queue =
      reached.empty() ? "the queue" : "queue " + fmt::format("{}", fmt::join(reached, ", "));
  return fleet;
}

// The first of Fournos' checks (docs/spec/fournos.md section 5) that the job does not pass.
std::string failure_of(const Value& spec, const Fleet& fleet,
                       const std::vector<std::string>* priorities) {
  const std::string cluster = spec["cluster"].str();
  const std::string gpu = spec["hardware"]["gpuType"].str();
  const bool seed = spec["forge"].is_object();
  if (seed && cluster.empty() && !spec["hardware"].is_object()) {
    return std::string(text::kNeedsTarget);
  }
  if (seed && spec["exclusive"].as_bool() && cluster.empty()) {
    return std::string(text::kExclusiveNeedsCluster);
  }
  if (!cluster.empty() && std::ranges::find(fleet.lab.clusters, cluster, &lab::Cluster::name) ==
                              fleet.lab.clusters.end()) {
    return fmt::format(text::kNoCluster, cluster);
  }
  if (seed && !gpu.empty() && !fleet.gpu_types.contains(gpu)) {
    return fmt::format(text::kUnknownGpuType, gpu, fmt::join(fleet.gpu_types, ", "));
  }
  const std::string priority = spec["priority"].str();
  if (!priority.empty() && priorities != nullptr &&
      std::ranges::find(*priorities, priority) == priorities->end()) {
    return fmt::format(text::kNoPriorityClass, priority);
  }
  return {};
}

// The word between the first pair of quotes.
std::string quoted(std::string_view message) {
  const std::size_t begin = message.find('\'');
  const std::size_t end = message.find('\'', begin + 1);
  return begin == std::string_view::npos || end == std::string_view::npos
             ? std::string()
             : std::string(message.substr(begin + 1, end - begin - 1));
}

std::vector<std::string> listed(Session& session, const Kind& kind) {
  const auto objects = session.list(kind, "");
  return objects.ok() ? names_of(*objects) : std::vector<std::string>();
}

}  // namespace

Preflight preflight(Session& session, const Value& job, const std::string& ns) {
  const Value& spec = job["spec"];
  if (spec["clusterless"].as_bool() || !spec["shutdown"].as_string().empty()) {
    return {};
  }
  const auto fleet = fleet_of(session, ns);
  if (!fleet.ok()) {
    return {.failure = {}, .misfit = {}, .unseen = fleet.error().message};
  }
  const auto classes = session.list(api::kueue::kWorkloadPriorityClass, "");
  const std::vector<std::string> priorities =
      classes.ok() ? names_of(*classes) : std::vector<std::string>();
  Preflight found{.failure = failure_of(spec, *fleet, classes.ok() ? &priorities : nullptr),
                  .misfit = {},
                  .unseen = classes.ok() ? "" : classes.error().message};
  if (found.failure.empty() && spec["hardware"].is_object()) {
    found.misfit = whatif::misfit({.gpu_type = spec["hardware"]["gpuType"].str(),
                                   .gpus = spec["hardware"]["gpuCount"].as_int(),
                                   .cluster = spec["cluster"].str()},
                                  fleet->lab, fleet->queue);
  }
  return found;
}

std::string correction(Session& session, std::string_view message) {
  const std::string word = quoted(message);
  if (word.empty()) {
    return {};
  }
  const auto is = [&](std::string_view pattern) {
    return message.starts_with(pattern.substr(0, pattern.find('{')));
  };
  if (is(text::kNoCluster) && message.ends_with("not found")) {
    return near_hint(word, listed(session, api::kueue::kResourceFlavor));
  }
  if (is(text::kNoPriorityClass)) {
    return near_hint(word, listed(session, api::kueue::kWorkloadPriorityClass));
  }
  return {};
}

}  // namespace athanor::cli
