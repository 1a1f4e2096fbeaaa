// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/queue_watch.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "api/kueue.hpp"

namespace athanor::cli {
namespace {

// Rows of a live list cannot wait for the widest one.
std::vector<std::size_t> live_widths() {
  return {16, 7, 30, 8, 30, 0};
}

}  // namespace

std::vector<std::string> queue_header() {
  return {"QUEUE", "PLACE", "WORKLOAD", "PRIORITY", "REQUESTS", "WHY"};
}

std::vector<std::string> queue_row(const QueueEntry& entry, bool with_namespace, bool wide) {
  return {entry.queue,
          entry.admitted ? "running" : fmt::format("{}", entry.position),
          with_namespace ? entry.workload.key().text() : std::string(entry.workload.name()),
          fmt::format("{}", entry.priority),
          entry.requests,
          wide ? entry.queue_says : entry.reason};
}

QueueWatch::QueueWatch(Session& session, std::string ns, const QueueOptions& options,
                       Duration patience)
    : options_(options),
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

bool QueueWatch::shows_table() const {
  return options_.output == Output::Table || options_.output == Output::Wide;
}

int QueueWatch::run() {
  if (shows_table()) {
    out_.print(Table(queue_header(), live_widths()).text());
  }
  return list_.run();
}

void QueueWatch::show(const Object& workload) {
  if (!shows_table()) {
    out_.print(render({workload}, options_.output, true, api::kueue::kWorkload));
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
  if (!std::exchange(changed_, false) || !shows_table()) {
    return;
  }
  const bool wide = options_.output == Output::Wide;
  std::vector<Object> known;
  known.reserve(workloads_.size());
  for (const auto& [key, workload] : workloads_) {
    known.push_back(workload);
  }
  std::map<Key, std::vector<std::string>> rows;
  const auto print = [&](std::vector<std::string> row) {
    out_.print(Table(std::move(row), live_widths()).text(wide ? 0 : out_.columns()));
  };
  for (const QueueEntry& entry : queue_entries(known)) {
    std::vector<std::string> row = queue_row(entry, options_.all_namespaces, wide);
    const Key key = entry.workload.key();
    if (const auto before = printed_.find(key); before == printed_.end() || before->second != row) {
      print(row);
    }
    rows.emplace(key, std::move(row));
  }
  for (auto& [key, row] : printed_) {
    if (!rows.contains(key)) {
      row[1] = workloads_.contains(key) ? "over" : "gone";
      row.back() = "-";
      print(std::move(row));
    }
  }
  printed_ = std::move(rows);
}

}  // namespace athanor::cli
