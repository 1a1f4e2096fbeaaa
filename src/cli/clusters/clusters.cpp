// SPDX-License-Identifier: Apache-2.0
// athanor clusters: the list, and the live list.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "api/kueue.hpp"
#include "base/clock.hpp"
#include "base/interrupt.hpp"
#include "base/near_name.hpp"
#include "cli/output/formats.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/reconnection.hpp"
#include "cli/session/verbs.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "runtime/view/usage.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "views/cluster_view.hpp"
#include "views/fleet_file.hpp"
#include "views/listing.hpp"

namespace athanor::cli {
namespace {

constexpr int kNotFound = 404;

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
    if (!known && views::is_cluster_flavor(flavor)) {
      bare.push_back(flavor);
    }
  }
  return bare;
}

// Prints a line whenever what a cluster's line says has changed.
class ClusterWatch {
 public:
  ClusterWatch(Session& session, const ClustersOptions& options, ListFilter filter)
      : session_(session),
        options_(options),
        filter_(std::move(filter)),
        wide_(options.list.format.output == Output::Wide),
        table_(views::cluster_header(wide_), views::cluster_widths(wide_)) {}

  int run() {
    if (shows_table()) {
      if (!options_.list.no_headers) {
        print_row(views::cluster_header(wide_));
      }
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
  [[nodiscard]] bool shows_table() const { return options_.list.format.is_table(); }
  [[nodiscard]] std::string only_name() const {
    return options_.list.names.size() == 1 ? options_.list.names.front() : std::string();
  }
  void print_row(const std::vector<std::string>& cells) const {
    out_.print(table_.row(cells, wide_ ? 0 : out_.columns()));
  }

  void watch_clusters() {
    std::string url = Session::path(api::kFournosCluster, session_.ns()) + "?watch=true";
    if (const std::string name = only_name(); !name.empty()) {
      url += "&fieldSelector=" + client::escape("metadata.name=" + name);
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
      return print_document(cluster);
    }
    if ((*event)["type"].as_string() == "DELETED") {
      clusters_.erase(name);
      shown_.erase(name);
      std::vector<std::string> row(views::cluster_header(wide_).size(), "-");
      row[0] = name;
      row[3] = "Gone";
      return print_row(row);
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
      if (filter_.takes(flavor, {})) {
        print_row(views::bare_row(flavor, views::cluster_use(queues, flavor.name()), wide_,
                                  wall_clock()->now()));
      }
    }
  }

  void print_document(const Object& cluster) const {
    const ListOptions& list = options_.list;
    if (!filter_.takes(cluster, views::cluster_traits(cluster))) {
      return;
    }
    const auto text = render_objects({cluster}, list.format, Shape::Single, list.no_headers);
    out_.print(text.ok() ? *text : fmt::format("athanor: {}\n", text.error().message));
  }

  void show(const std::string& name) {
    std::vector<Object> queues;
    queues.reserve(queues_.size());
    for (const auto& [queue_name, queue] : queues_) {
      queues.push_back(queue);
    }
    if (!filter_.takes(clusters_.at(name), views::cluster_traits(clusters_.at(name)))) {
      return;
    }
    std::vector<std::string> row = views::cluster_row(
        clusters_.at(name), views::cluster_use(queues, name), wide_, wall_clock()->now());
    std::vector<std::string> state(row.begin(), row.end() - 1);  // its age is no news
    std::vector<std::string>& last = shown_[name];
    if (last != state) {
      last = std::move(state);
      print_row(row);
    }
  }

  Session& session_;
  const ClustersOptions& options_;
  ListFilter filter_;
  const bool wide_;
  LiveTable table_;
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

namespace {

struct ClusterRead {
  std::vector<Object> clusters{};
  std::vector<Object> bare{};  // flavors without a FournosCluster
};

Result<ClusterRead> read_clusters(Session& session, const ListOptions& list) {
  ClusterRead read;
  const std::string name = list.names.size() == 1 ? list.names.front() : std::string();
  if (name.empty()) {
    ATHANOR_TRY(read.clusters, session.list(api::kFournosCluster, session.ns()));
  } else {
    auto one = session.get(api::kFournosCluster, session.ns(), name);
    if (one.ok()) {
      read.clusters.push_back(*std::move(one));
    } else if (one.error().code != kNotFound) {
      return explain_unmanaged(session, name, one.error());
    }
  }
  // The same rows in every format: clusters that the queue alone knows are ResourceFlavors.
  read.bare = bare_flavors(session, read.clusters);
  if (!name.empty()) {
    std::erase_if(read.bare, [&](const Object& flavor) { return flavor.name() != name; });
    if (read.clusters.empty() && read.bare.empty()) {
      return Error::not_found(
          fmt::format("there is no cluster \"{}\": neither a FournosCluster in namespace {} nor a "
                      "ResourceFlavor",
                      name, session.ns()));
    }
  }
  return read;
}

Result<int> print_fleet(Session& session, const ClustersOptions& options) {
  // The queues are in the jobs' namespace, not in that of the FournosClusters.
  Target target = options.target;
  target.ns.clear();
  ATHANOR_TRY(const Session jobs, Session::open(target, Session::Home::Jobs));
  views::FleetSource source{.ns = jobs.ns()};
  ATHANOR_TRY(source.cluster_queues, session.list(api::kueue::kClusterQueue, ""));
  ATHANOR_TRY(source.local_queues, session.list(api::kueue::kLocalQueue, source.ns));
  ATHANOR_TRY(source.priorities, session.list(api::kueue::kWorkloadPriorityClass, ""));
  const Value fleet = views::fleet_of(source);
  if (fleet["clusters"].empty()) {
    return Error::not_found(
        fmt::format("no queue of namespace {} has quota of a cluster", source.ns));
  }
  Terminal(STDOUT_FILENO).print(yaml::print(fleet));
  return 0;
}

Result<int> list_clusters(Session& session, const ClustersOptions& options) {
  const ListOptions& list = options.list;
  const Instant now = wall_clock()->now();
  ATHANOR_TRY(const ListFilter filter, ListFilter::parse(list, views::cluster_phases(), now));
  ATHANOR_TRY_VOID(check_watch(list));
  if (list.watch) {
    return ClusterWatch(session, options, filter).run();
  }
  if (list.format.output == Output::Fleet) {
    return print_fleet(session, options);
  }
  ATHANOR_TRY(const ClusterRead read, read_clusters(session, list));
  const std::vector<Object> queues =
      list.format.is_table() ? queues_of(session) : std::vector<Object>();
  const bool wide = list.format.output == Output::Wide;
  views::Listing listing = views::cluster_listing(read.clusters, read.bare, queues, wide, now);
  std::vector<Object> all = read.clusters;
  all.insert(all.end(), read.bare.begin(), read.bare.end());
  const std::vector<std::string> missing = filter.missing(all);
  if (!missing.empty() && missing.front() == list.names.front()) {
    static const std::vector<std::string> kVerbsBelow{"add",      "check", "remove",  "cordon",
                                                      "uncordon", "drain", "describe"};
    if (const std::string verb = near_name(missing.front(), kVerbsBelow); !verb.empty()) {
      return wrong_usage(fmt::format("there is no cluster \"{}\"; did you mean \"clusters {}\"?",
                                     missing.front(), verb));
    }
  }
  ATHANOR_TRY_VOID(arrange(listing, filter, list));
  const Terminal out(STDOUT_FILENO);
  if (listing.rows.empty() && missing.empty() && list.format.is_table()) {
    Terminal(STDERR_FILENO)
        .print(fmt::format("No clusters in namespace {}{}. Add one: athanor clusters add --help\n",
                           session.ns(), is_filtered(list) ? " that the flags select" : ""));
    return 0;
  }
  ATHANOR_TRY(const std::string text, print_listing(listing, list, out.columns()));
  out.print(text);
  if (list.names.size() == 1 && list.format.is_table()) {
    if (read.clusters.empty()) {
      out.print(fmt::format("{}\n", views::unmanaged_text(list.names.front(), session.ns())));
    }
    for (const Object& cluster : read.clusters) {
      for (const std::string& trouble : views::cluster_troubles(cluster)) {
        out.print(trouble + "\n");
      }
    }
  }
  return report_missing("cluster", missing);
}

}  // namespace

int run(const ClustersOptions& options) {
  auto session = Session::open(options.target);
  if (!session.ok()) {
    return fail(session.error());
  }
  const auto code = list_clusters(*session, options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
