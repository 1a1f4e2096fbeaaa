// SPDX-License-Identifier: Apache-2.0
#include "views/subjects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/ascii.hpp"
#include "base/near_name.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::views {
namespace {

constexpr std::array<std::pair<std::string_view, Subject>, 33> kKinds{
    {{"jobs", Subject::Job},
     {"job", Subject::Job},
     {"fournosjob", Subject::Job},
     {"fournosjobs", Subject::Job},
     {"clusters", Subject::Cluster},
     {"cluster", Subject::Cluster},
     {"fournoscluster", Subject::Cluster},
     {"fournosclusters", Subject::Cluster},
     {"queues", Subject::Queue},
     {"queue", Subject::Queue},
     {"clusterqueue", Subject::Queue},
     {"clusterqueues", Subject::Queue},
     {"appwrappers", Subject::AppWrapper},
     {"appwrapper", Subject::AppWrapper},
     {"aw", Subject::AppWrapper},
     {"slices", Subject::Slices},
     {"slice", Subject::Slices},
     {"gpus", Subject::Slices},
     {"zones", Subject::Zones},
     {"zone", Subject::Zones},
     {"workloads", Subject::Workload},
     {"workload", Subject::Workload},
     {"schedules", Subject::Schedule},
     {"schedule", Subject::Schedule},
     {"cronjobs", Subject::Schedule},
     {"cronjob", Subject::Schedule},
     {"resourceflavors", Subject::Cluster},
     {"resourceflavor", Subject::Cluster},
     {"nodeaccelerators", Subject::Slices},
     {"nodeaccelerator", Subject::Slices},
     {"noderesourcetopologies", Subject::Zones},
     {"noderesourcetopology", Subject::Zones},
     {"nrt", Subject::Zones}}};

// API groups in which a subject's objects may be.
std::string_view groups_of(Subject subject) {
  switch (subject) {
    case Subject::Job:
      return "fournos.dev";
    case Subject::Cluster:
      return "fournos.dev kueue.x-k8s.io";
    case Subject::Queue:
    case Subject::Workload:
      return "kueue.x-k8s.io";
    case Subject::AppWrapper:
      return "workload.codeflare.dev";
    case Subject::Slices:
      return "inference.redhat.com";
    case Subject::Zones:
      return "topology.node.k8s.io";
    case Subject::Schedule:
      return "batch";
  }
  return {};
}

// Returns true for "fournos.dev" and "v1.fournos.dev" of a job.
bool has_group(Subject subject, std::string_view group) {
  return std::ranges::any_of(words_of(groups_of(subject), ' '), [&](std::string_view one) {
    return group == one || (group.size() > one.size() && group.ends_with(one) &&
                            group[group.size() - one.size() - 1] == '.');
  });
}

std::optional<Subject> find_kind(std::string_view word) {
  // "fournosjob.fournos.dev", as -o name prints it; "job.batch" is another kind.
  const std::size_t dot = std::min(word.find('.'), word.size());
  const std::string plain = lower(word.substr(0, dot));
  const auto* const found =
      std::ranges::find(kKinds, plain, &std::pair<std::string_view, Subject>::first);
  if (found == kKinds.end() ||
      (dot < word.size() && !has_group(found->second, word.substr(dot + 1)))) {
    return std::nullopt;
  }
  return found->second;
}

Error unknown_kind(std::string_view word) {
  std::vector<std::string> known;
  known.reserve(kKinds.size());
  for (const auto& [name, kind] : kKinds) {
    known.emplace_back(name);
  }
  return wrong_usage(
      fmt::format("unknown kind \"{}\"{}; known are jobs, clusters, queues, appwrappers, slices, "
                  "zones, schedules and workloads",
                  word, near_hint(word, known)));
}

}  // namespace

Result<Subject> parse_subject_kind(std::string_view word) {
  const auto kind = find_kind(word);
  return kind ? Result<Subject>(*kind) : unknown_kind(word);
}

Result<std::vector<SubjectName>> parse_subjects(const std::vector<std::string>& words) {
  std::vector<SubjectName> subjects;
  std::optional<Subject> kind;
  std::string last;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::size_t slash = word.find('/');
    if (slash != std::string::npos) {
      const auto own = find_kind(std::string_view(word).substr(0, slash));
      if (!own) {
        return unknown_kind(word.substr(0, slash));
      }
      if (slash + 1 == word.size()) {
        return wrong_usage(fmt::format("{}: the name is missing", word));
      }
      subjects.push_back({.kind = *own, .name = word.substr(slash + 1)});
    } else if (word.empty()) {
      return wrong_usage("a name is empty");
    } else if (const auto own = find_kind(word); own && i == 0 && words.size() > 1) {
      kind = own;
    } else {
      subjects.push_back({.kind = kind.value_or(Subject::Job), .name = word});
    }
  }
  if (subjects.empty()) {
    return wrong_usage("say what: KIND/NAME, as jobs/my-job");
  }
  return subjects;
}

}  // namespace athanor::views
