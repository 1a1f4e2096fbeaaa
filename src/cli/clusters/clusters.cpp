// SPDX-License-Identifier: Apache-2.0
// athanor clusters: the list, and the live list.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "api/kueue.hpp"
#include "base/clock.hpp"
#include "base/interrupt.hpp"
#include "cli/clusters/cluster_view.hpp"
#include "cli/reconnection.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "kube/text/json.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"

namespace athanor::cli {
namespace {

// Who may not see the queues still sees the clusters.
std::vector<Object> queues_of(Session& session) {
  auto queues = session.list(api::kueue::kClusterQueue, "");
  return queues.ok() ? *std::move(queues) : std::vector<Object>();
}

// Clusters that the queue alone knows: flavors that stand for a cluster and have no FournosCluster.
std::vector<Object> bare_flavors(Session& session, const std::vector<Object>& clusters) {
  const auto flavors = session.list(api::kueue::kResourceFlavor, "");
  std::vector<Object> bare;
  for (const Object& flavor : flavors.value_or({})) {
    const bool known = std::ranges::any_of(
        clusters, [&](const Object& cluster) { return cluster.name() == flavor.name(); });
    if (!known && is_cluster_flavor(flavor)) {
      bare.push_back(flavor);
    }
  }
  return bare;
}

// Prints a line whenever what a cluster's line says has changed.
class ClusterWatch {
 public:
  ClusterWatch(Session& session, const ClustersOptions& options)
      : session_(session), options_(options), wide_(options.output == Output::Wide) {}

  int run() {
    if (shows_table()) {
      out_.print(Table(cluster_header(wide_), cluster_widths(wide_)).text());
      show_bare();
    }
    for (const Object& queue : queues_of(session_)) {
      queues_.insert_or_assign(std::string(queue.name()), queue);
    }
    while (!error_) {
      const Instant now = wall_clock()->now();
      if (interrupt_.came()) {
        return kInterrupted;
      }
      if (reconnection_.lost(now)) {
        return fail(Error::unavailable("the API server is away: " + reconnection_.why()));
      }
      if (!clusters_open_ && reconnection_.due(now)) {
        watch_clusters();
      }
      if (!queues_open_ && !reconnection_.away()) {
        watch_queues();
      }
      session_.connection().run(std::chrono::milliseconds(250));
    }
    return fail(*error_);
  }

 private:
  [[nodiscard]] bool shows_table() const { return options_.output == Output::Table || wide_; }

  void watch_clusters() {
    std::string url = Session::path(api::kFournosCluster, session_.ns()) + "?watch=true";
    if (!options_.name.empty()) {
      url += "&fieldSelector=" + client::escape("metadata.name=" + options_.name);
    }
    clusters_open_ = true;
    clusters_stream_ = session_.connection().stream(
        url, {.line = [this](std::string_view line) { on_cluster(line); },
              .ended =
                  [this](const Result<void>& outcome) {
                    clusters_open_ = false;
                    if (outcome.ok()) {
                      return;
                    }
                    if (is_passing(outcome.error())) {
                      reconnection_.failed(outcome.error(), wall_clock()->now());
                    } else {
                      error_ = outcome.error();
                    }
                  }});
  }

  void watch_queues() {
    queues_open_ = true;
    queues_stream_ = session_.connection().stream(
        Session::path(api::kueue::kClusterQueue, "") + "?watch=true",
        {.line = [this](std::string_view line) { on_queue(line); },
         // Without queues the list goes on; who may not see them is not asked again.
         .ended =
             [this](const Result<void>& outcome) {
               queues_open_ = !outcome.ok() && !is_passing(outcome.error());
             }});
  }

  void on_cluster(std::string_view line) {
    const auto event = json::parse(line);
    if (!event.ok() || (*event)["type"].as_string() == "BOOKMARK") {
      return;
    }
    reconnection_.answered();
    const Object cluster((*event)["object"]);
    const std::string name(cluster.name());
    if (!shows_table()) {
      return out_.print(render({cluster}, options_.output, true, api::kFournosCluster));
    }
    if ((*event)["type"].as_string() == "DELETED") {
      clusters_.erase(name);
      shown_.erase(name);
      std::vector<std::string> row(cluster_header(wide_).size(), "-");
      row[0] = name;
      row[3] = "Gone";
      return out_.print(Table(std::move(row), cluster_widths(wide_)).text());
    }
    clusters_.insert_or_assign(name, cluster);
    show(name);
  }

  void on_queue(std::string_view line) {
    const auto event = json::parse(line);
    if (!event.ok() || (*event)["type"].as_string() == "BOOKMARK") {
      return;
    }
    const Object queue((*event)["object"]);
    if ((*event)["type"].as_string() == "DELETED") {
      queues_.erase(std::string(queue.name()));
    } else {
      queues_.insert_or_assign(std::string(queue.name()), queue);
    }
    if (shows_table()) {
      for (const auto& [name, cluster] : clusters_) {
        show(name);
      }
    }
  }

  // Clusters without a FournosCluster change with the queue's objects alone: shown once.
  void show_bare() {
    const auto known = session_.list(api::kFournosCluster, session_.ns());
    const std::vector<Object> queues = queues_of(session_);
    for (const Object& flavor : bare_flavors(session_, known.value_or({}))) {
      if (options_.name.empty() || options_.name == flavor.name()) {
        out_.print(
            Table(bare_row(flavor, cluster_use(queues, flavor.name()), wide_, wall_clock()->now()),
                  cluster_widths(wide_))
                .text());
      }
    }
  }

  void show(const std::string& name) {
    std::vector<Object> queues;
    queues.reserve(queues_.size());
    for (const auto& [queue_name, queue] : queues_) {
      queues.push_back(queue);
    }
    std::vector<std::string> row =
        cluster_row(clusters_.at(name), cluster_use(queues, name), wide_, wall_clock()->now());
    std::vector<std::string> state(row.begin(), row.end() - 1);  // its age is no news
    std::vector<std::string>& last = shown_[name];
    if (last != state) {
      last = std::move(state);
      out_.print(Table(std::move(row), cluster_widths(wide_)).text());
    }
  }

  Session& session_;
  const ClustersOptions& options_;
  const bool wide_;
  Terminal out_{STDOUT_FILENO};
  std::map<std::string, Object> clusters_{};
  std::map<std::string, Object> queues_{};
  std::map<std::string, std::vector<std::string>> shown_{};
  std::optional<Error> error_{};
  Interrupt interrupt_{};
  Reconnection reconnection_{"what the list shows", std::chrono::seconds(60)};
  bool clusters_open_ = false;
  bool queues_open_ = false;
  // Streams end before what they write to: declared last, destroyed first.
  std::shared_ptr<void> clusters_stream_{};
  std::shared_ptr<void> queues_stream_{};
};

}  // namespace

int run(const ClustersOptions& options) {
  auto session = Session::open(options.target);
  if (!session.ok()) {
    return fail(session.error());
  }
  if (options.watch) {
    return ClusterWatch(*session, options).run();
  }
  const bool wide = options.output == Output::Wide;
  const bool shows_table = wide || options.output == Output::Table;
  std::vector<Object> clusters;
  if (options.name.empty()) {
    auto listed = session->list(api::kFournosCluster, session->ns());
    if (!listed.ok()) {
      return fail(listed.error());
    }
    clusters = *std::move(listed);
  } else {
    auto one = session->get(api::kFournosCluster, session->ns(), options.name);
    if (one.ok()) {
      clusters.push_back(*std::move(one));
    } else if (!shows_table || one.error().code != 404) {
      return fail(explain_unmanaged(*session, options.name, one.error()));
    }
  }
  const Terminal out(STDOUT_FILENO);
  if (!shows_table) {
    out.print(render(clusters, options.output, !options.name.empty(), api::kFournosCluster));
    return 0;
  }
  std::vector<Object> bare = bare_flavors(*session, clusters);
  if (!options.name.empty()) {
    std::erase_if(bare, [&](const Object& flavor) { return flavor.name() != options.name; });
    if (clusters.empty() && bare.empty()) {
      return fail(Error::not_found(
          fmt::format("there is no cluster \"{}\": neither a FournosCluster in namespace {} nor a "
                      "ResourceFlavor",
                      options.name, session->ns())));
    }
  }
  if (clusters.empty() && bare.empty()) {
    Terminal(STDERR_FILENO)
        .print(fmt::format("No clusters in namespace {}. Add one: athanor clusters add --help\n",
                           session->ns()));
    return 0;
  }
  const std::vector<Object> queues = queues_of(*session);
  Table table(cluster_header(wide));
  for (const Object& cluster : clusters) {
    table.add(cluster_row(cluster, cluster_use(queues, cluster.name()), wide, wall_clock()->now()));
  }
  for (const Object& flavor : bare) {
    table.add(bare_row(flavor, cluster_use(queues, flavor.name()), wide, wall_clock()->now()));
  }
  out.print(table.text(wide ? 0 : out.columns()));
  if (!options.name.empty() && clusters.empty()) {
    out.print(fmt::format("{}\n", unmanaged_text(options.name, session->ns())));
  } else if (!options.name.empty()) {
    for (const std::string& trouble : cluster_troubles(clusters.front())) {
      out.print(trouble + "\n");
    }
  }
  return 0;
}

}  // namespace athanor::cli
