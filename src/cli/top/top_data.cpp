// SPDX-License-Identifier: Apache-2.0
#include "cli/top/top_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/kueue_configuration.hpp"
#include "api/tekton.hpp"
#include "cli/session/reconnection.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "systems/numa/model/kinds.hpp"
#include "views/cluster_view.hpp"
#include "views/job_view.hpp"
#include "views/queue_view.hpp"

namespace athanor::cli {
namespace {

constexpr int kAbsentKind = 404;

// Reads lists until the server is away; what is refused is noted.
class TopReader {
 public:
  TopReader(Session& session, TopData& data) : session_(session), data_(data) {}

  std::vector<Object> read(const Kind& kind, const std::string& ns, TopView view) {
    if (away_) {
      return {};
    }
    auto objects = session_.list(kind, ns);
    if (objects.ok()) {
      return *std::move(objects);
    }
    if (is_passing(objects.error())) {
      away_ = objects.error();
    } else {
      data_.absent.emplace_back(
          view, objects.error().code == kAbsentKind
                    ? fmt::format("this cluster has no {}.{}", kind.plural, kind.group)
                    : objects.error().message);
    }
    return {};
  }
  // Returns Kueue's ConfigMap; null where there is none or it may not be read.
  [[nodiscard]] Value read_queueing() {
    if (away_) {
      return {};
    }
    const Key map = api::kueue::configuration_map();
    const auto found = session_.get(api::kConfigMap, map.ns, map.name);
    return found.ok() ? found->body() : Value();
  }
  [[nodiscard]] const std::optional<Error>& away() const { return away_; }

 private:
  Session& session_;
  TopData& data_;
  std::optional<Error> away_{};
};

void read_jobs_view(TopReader& reader, TopData& data) {
  std::vector<Object> jobs = reader.read(api::kFournosJob, data.ns, TopView::Jobs);
  const bool failed = std::ranges::any_of(
      jobs, [](const Object& job) { return job.status()["phase"].as_string() == "Failed"; });
  const std::vector<Object> runs =
      failed ? reader.read(api::kTaskRun, data.ns, TopView::Jobs) : std::vector<Object>();
  data.jobs = views::job_listing(std::move(jobs), views::failure_causes(runs),
                                 {.with_namespace = data.ns.empty()}, data.now);
}

void read_queue_view(TopReader& reader, TopData& data) {
  const std::vector<Object> workloads = reader.read(api::kueue::kWorkload, data.ns, TopView::Queue);
  const std::vector<Object> local = reader.read(api::kueue::kLocalQueue, data.ns, TopView::Queue);
  const std::vector<Object> cluster = reader.read(api::kueue::kClusterQueue, "", TopView::Queue);
  const Value configuration = reader.read_queueing();
  data.queue = views::queue_listing(
      views::queue_entries(workloads, views::queues_of(local, cluster, configuration)),
      {.with_namespace = data.ns.empty()});
}

void read_clusters_view(TopReader& reader, TopData& data, const std::string& ns) {
  const std::vector<Object> clusters = reader.read(api::kFournosCluster, ns, TopView::Clusters);
  const std::vector<Object> flavors =
      reader.read(api::kueue::kResourceFlavor, "", TopView::Clusters);
  std::vector<Object> bare;
  for (const Object& flavor : flavors) {
    const bool known = std::ranges::any_of(
        clusters, [&](const Object& cluster) { return cluster.name() == flavor.name(); });
    if (!known && views::is_cluster_flavor(flavor)) {
      bare.push_back(flavor);
    }
  }
  const std::vector<Object> queues = reader.read(api::kueue::kClusterQueue, "", TopView::Clusters);
  data.clusters = views::cluster_listing(clusters, bare, queues, false, data.now);
}

void read_slices_view(TopReader& reader, TopData& data) {
  const std::vector<Object> nodes = reader.read(das::kNodeAccelerator, "", TopView::Slices);
  const std::vector<Object> claims = nodes.empty()
                                         ? std::vector<Object>()
                                         : reader.read(das::kAllocationClaim, "", TopView::Slices);
  data.slices = gpu_listing(nodes, claims);
}

}  // namespace

Result<TopData> read_top(Session& session, const TopPlaces& places, TopView view, Instant now) {
  TopData data{.now = now, .ns = places.jobs};
  TopReader reader(session, data);
  const auto wanted = [view](TopView one) { return view == one || view == TopView::Overview; };
  if (wanted(TopView::Jobs)) {
    read_jobs_view(reader, data);
  }
  if (wanted(TopView::Queue)) {
    read_queue_view(reader, data);
  }
  if (wanted(TopView::Clusters)) {
    read_clusters_view(reader, data, places.clusters);
  }
  if (wanted(TopView::Slices)) {
    read_slices_view(reader, data);
  }
  if (wanted(TopView::Zones)) {
    data.zones = zone_listing(reader.read(numa::kTopologyKind, "", TopView::Zones));
  }
  if (wanted(TopView::AppWrappers)) {
    data.appwrappers =
        appwrapper_states(reader.read(appwrapper::kAppWrapper, data.ns, TopView::AppWrappers), now);
  }
  if (reader.away()) {
    return *reader.away();
  }
  return data;
}

}  // namespace athanor::cli
