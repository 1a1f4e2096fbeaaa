// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/queue_watch.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/kueue_configuration.hpp"
#include "cli/output/filter.hpp"
#include "cli/output/formats.hpp"
#include "kube/value/condition.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "views/job_labels.hpp"
#include "views/listing.hpp"

namespace athanor::cli {
namespace {

// Rows of a live list cannot wait for the widest one.
std::vector<std::size_t> queue_widths() {
  return {16, 9, 30, 8, 30, 0};
}

}  // namespace

views::Queues read_queues(Session& session) {
  const auto locals = session.list(api::kueue::kLocalQueue, "");
  const auto queues = session.list(api::kueue::kClusterQueue, "");
  const Key map = api::kueue::configuration_map();
  const auto configuration = session.get(api::kConfigMap, map.ns, map.name);
  return views::queues_of(locals.value_or({}), queues.value_or({}),
                          configuration.ok() ? configuration->body() : Value());
}

JobOwners::JobOwners(Session& session, const std::string& ns, const ListOptions& list)
    : session_(session), asked_(!list.owners.empty()) {
  if (asked_) {
    for (const Object& job : session.list(api::kFournosJob, ns).value_or({})) {
      known_.emplace(job.key(), job.spec()["owner"].str());
    }
  }
}

std::string JobOwners::of(const Object& workload) {
  const Key job{std::string(workload.ns()), std::string(workload.label(views::kJobNameLabel))};
  if (!asked_ || job.name.empty()) {
    return {};
  }
  const auto [found, is_new] = known_.try_emplace(job);
  if (is_new) {  // a job that came later
    const auto read = session_.get(api::kFournosJob, job.ns, job.name);
    found->second = read.ok() ? read->spec()["owner"].str() : std::string();
  }
  return found->second;
}

QueueWatch::QueueWatch(Session& session, std::string ns, const QueueOptions& options,
                       ListFilter filter, Duration patience)
    : options_(options),
      filter_(std::move(filter)),
      table_(views::queue_header(), queue_widths()),
      queues_(read_queues(session)),
      owners_(session, ns, options.list),
      out_(STDOUT_FILENO),
      list_(session,
            {.kind = &api::kueue::kWorkload,
             .ns = std::move(ns),
             .what_runs = "what runs",
             .goes_on = "the workloads go on",
             .patience = patience},
            {.shown = [this](const Object& workload) { show(workload); },
             .gone = [this](const Key& workload) { show_gone(workload); },
             .tick = [this](Instant /*now*/) { print_changed(); }}) {}

void QueueWatch::print_row(const std::vector<std::string>& cells) const {
  out_.print(table_.row(cells, options_.list.format.output == Output::Wide ? 0 : out_.columns()));
}

int QueueWatch::run() {
  if (options_.list.format.is_table() && !options_.list.no_headers) {
    print_row(views::queue_header());
  }
  return list_.run();
}

void QueueWatch::show(const Object& workload) {
  const ListOptions& list = options_.list;
  if (!list.format.is_table()) {
    if (filter_.takes(workload, {.phase = views::queue_word(views::queue_state(workload)),
                                 .owner = owners_.of(workload)})) {
      const auto text = render_objects({workload}, list.format, Shape::Single, list.no_headers);
      out_.print(text.ok() ? *text : fmt::format("athanor: {}\n", text.error().message));
    }
    return;
  }
  workloads_.insert_or_assign(workload.key(), workload);
  changed_ = true;
}

void QueueWatch::show_gone(const Key& workload) {
  workloads_.erase(workload);
  changed_ = true;
}

void QueueWatch::print_changed() {
  if (!std::exchange(changed_, false) || !options_.list.format.is_table()) {
    return;
  }
  const views::QueueColumns columns{.with_namespace = options_.all_namespaces,
                                    .wide = options_.list.format.output == Output::Wide};
  std::vector<Object> known;
  known.reserve(workloads_.size());
  for (const auto& [key, workload] : workloads_) {
    known.push_back(workload);
  }
  std::map<Key, std::vector<std::string>> rows;
  for (const views::QueueEntry& entry : views::queue_entries(known, queues_)) {
    views::ListRow made = views::queue_row(entry, columns);
    made.traits.owner = owners_.of(made.object);
    if (!filter_.takes(made.object, made.traits)) {
      continue;
    }
    std::vector<std::string> row = std::move(made.cells);
    const Key key = entry.workload.key();
    if (const auto before = printed_.find(key); before == printed_.end() || before->second != row) {
      print_row(row);
    }
    rows.emplace(key, std::move(row));
  }
  for (auto& [key, row] : printed_) {
    if (!rows.contains(key)) {
      row[1] = !workloads_.contains(key) ? "gone"
               : condition_is(workloads_.at(key).status()["conditions"], "Finished", "True")
                   ? "over"
                   : "left";
      row.back() = "-";
      print_row(row);
    }
  }
  printed_ = std::move(rows);
}

}  // namespace athanor::cli
