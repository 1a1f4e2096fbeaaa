// SPDX-License-Identifier: Apache-2.0
#include "cli/describe/chosen_subjects.hpp"

#include <fmt/format.h>

#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "cli/session/session.hpp"
#include "kube/names/selector.hpp"
#include "runtime/view/usage.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/schedules/scheduled_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"

namespace athanor::cli {

const Kind* kind_of_subject(views::Subject subject) {
  switch (subject) {
    case views::Subject::Job:
      return &api::kFournosJob;
    case views::Subject::Cluster:
      return &api::kFournosCluster;
    case views::Subject::Queue:
      return &api::kueue::kClusterQueue;
    case views::Subject::AppWrapper:
      return &appwrapper::kAppWrapper;
    case views::Subject::Workload:
      return &api::kueue::kWorkload;
    case views::Subject::Schedule:
      return &api::kCronJob;
    case views::Subject::Slices:
    case views::Subject::Zones:
      break;
  }
  return nullptr;
}

namespace {

Result<std::vector<Object>> labelled(Session& session, views::Subject subject,
                                     const std::string& labels, const std::string& clusters_ns) {
  const Kind* kind = kind_of_subject(subject);
  if (kind == nullptr) {
    return wrong_usage("--selector: slices and zones are of nodes: give their names");
  }
  const std::string ns = subject == views::Subject::Cluster ? clusters_ns : session.ns();
  return session.list(*kind, kind->namespaced ? ns : "",
                      subject == views::Subject::Schedule
                          ? fmt::format("{},{}", labels, fournos::kScheduleSelector)
                          : labels);
}

}  // namespace

Result<std::vector<views::SubjectName>> chosen_subjects(Session& session,
                                                        const std::vector<std::string>& words,
                                                        const std::string& labels,
                                                        const std::string& clusters_ns) {
  if (labels.empty()) {
    return views::parse_subjects(words);
  }
  if (const auto parsed = LabelSelector::parse(labels); !parsed.ok()) {
    return wrong_usage(fmt::format("--selector {}: {}", labels, parsed.error().message));
  }
  std::vector<views::Subject> kinds;
  for (const std::string& word : words) {
    ATHANOR_TRY(const views::Subject kind, views::parse_subject_kind(word));
    kinds.push_back(kind);
  }
  if (kinds.empty()) {
    kinds.push_back(views::Subject::Job);
  }
  std::vector<views::SubjectName> subjects;
  for (const views::Subject kind : kinds) {
    ATHANOR_TRY(const std::vector<Object> objects, labelled(session, kind, labels, clusters_ns));
    for (const Object& object : objects) {
      subjects.push_back({.kind = kind, .name = std::string(object.name())});
    }
  }
  if (subjects.empty()) {
    return Error::not_found(
        fmt::format("no {} have the labels {}", words.empty() ? "jobs" : words.front(), labels));
  }
  return subjects;
}

}  // namespace athanor::cli
