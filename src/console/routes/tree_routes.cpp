// SPDX-License-Identifier: Apache-2.0
// Routes of trees of owners, for the tab Related (docs/spec/dashboard.md G7). A tree has only
// objects of kinds that the viewer may list.
#include <fmt/format.h>

#include <span>
#include <string>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "client/connection.hpp"
#include "console/data/features.hpp"
#include "console/data/owner_tree.hpp"
#include "console/routes/job_changes.hpp"
#include "console/routes/route_table.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "systems/numa/model/kinds.hpp"
#include "views/job_labels.hpp"

namespace athanor::console {
namespace {

using net::Response;

// Kinds in the trees of namespaced objects, and in those of nodes.
constexpr const Kind* kOwners[] = {
    &api::kFournosCluster,  &api::kFournosJob,  &appwrapper::kAppWrapper, &api::kCronJob,
    &api::kueue::kWorkload, &api::kPipelineRun, &api::kTaskRun,           &api::kPod};
constexpr const Kind* kOnNodes[] = {&das::kNodeAccelerator, &numa::kTopologyKind,
                                    &das::kAllocationClaim, &api::kPod};

// Adds the objects of a kind that the viewer may list; those of one namespace unless it is empty.
void add_visible(Exchange& exchange, const Facts& facts, const Kind& kind, std::string_view ns,
                 std::vector<Object>& all) {
  Visible visible;
  if (ns.empty()) {
    visible = visible_namespaces(exchange, kind);
  } else if (exchange.services.access.may(exchange.viewer(), "list", kind, ns).value_or(false)) {
    visible.all = true;
  }
  for (const Object& object : facts.all(kind)) {
    if ((ns.empty() || object.ns() == ns) && visible.shows(object.ns())) {
      all.push_back(object);
    }
  }
}

// Adds objects with a job's label that no watch follows; none where the viewer may not list them.
void add_listed(Exchange& exchange, const Object& job, std::vector<Object>& all) {
  const std::string query = fmt::format(
      "?labelSelector={}", client::escape(fmt::format("{}={}", views::kJobNameLabel, job.name())));
  for (const Kind* kind : {&api::kJob, &api::kSecret}) {
    const auto listed =
        exchange.services.port.list(exchange.viewer(), *kind, std::string(job.ns()), query);
    for (const Object& object : listed.value_or({})) {
      // The name alone: values of Secrets are never sent.
      all.emplace_back(Value::object({{"apiVersion", kind->api_version()},
                                      {"kind", kind->name},
                                      {"metadata", object.metadata()},
                                      {"status", object.status()}}));
    }
  }
}

Response answer_tree(Exchange& exchange, const Object& subject) {
  const auto facts = exchange.services.world.facts();
  const bool is_node = subject.kind() == api::kNode.name;
  std::vector<Object> all;
  for (const Kind* kind :
       is_node ? std::span<const Kind* const>(kOnNodes) : std::span<const Kind* const>(kOwners)) {
    add_visible(exchange, *facts, *kind, is_node ? "" : subject.ns(), all);
  }
  if (subject.kind() == api::kFournosJob.name) {
    add_listed(exchange, subject, all);
  }
  return answer_value(owner_tree(subject, all));
}

Response show_job_tree(Exchange& exchange) {
  const std::string uid = exchange.text("uid");
  const auto job = find_job(exchange, path_key(exchange), uid);
  return job.ok() ? answer_tree(exchange, job->object) : answer_error(job.error());
}

Response show_object_tree(Exchange& exchange) {
  const Kind* kind = find_shown_kind(exchange.text("apiVersion"), exchange.text("kind"));
  if (kind != nullptr && exchange.services.world.facts()->state(*kind) == nullptr) {
    return answer_error(Error::bad_request("the console shows no such tree"), "kind");
  }
  return with_named_object(exchange, [&](const Kind& /*kind*/, const Object& object) {
    return answer_tree(exchange, object);
  });
}

}  // namespace

std::vector<Route> tree_routes() {
  return {{.method = "GET",
           .path = "/api/v1/jobs/{ns}/{name}/tree",
           .summary = "Show the objects of a job as a tree of owners",
           .handle = show_job_tree,
           .parameters = {"uid"}},
          {.method = "GET",
           .path = "/api/v1/objects/tree",
           .summary = "Show an object with its owners and what it owns",
           .handle = show_object_tree,
           .parameters = {"apiVersion", "kind", "ns", "name"}}};
}

}  // namespace athanor::console
