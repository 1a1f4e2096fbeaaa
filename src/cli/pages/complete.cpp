// SPDX-License-Identifier: Apache-2.0
#include "cli/pages/complete.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <span>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "cli/output/terminal.hpp"
#include "cli/pages/candidates.hpp"
#include "cli/session/session.hpp"
#include "client/kubeconfig.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/schedules/scheduled_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "views/schedule_view.hpp"

namespace athanor::cli {
namespace {

constexpr unsigned kPatience = 3;  // seconds: a shell waits for no cluster that does not answer
constexpr const char* kClustersNamespace = "";  // FournosClusters of every namespace

std::set<std::string> names_of(Session& session, const Kind& kind, const std::string& ns,
                               const std::string& labels = {}) {
  std::set<std::string> names;
  const auto objects = session.list(kind, kind.namespaced ? ns : "", labels);
  if (objects.ok()) {
    for (const Object& object : *objects) {
      names.emplace(object.name());
    }
  }
  return names;
}

// "a100:" of every GPU type that a queue has quota of.
std::set<std::string> gpu_types(Session& session) {
  constexpr std::string_view kPrefix = "fournos/gpu-";
  std::set<std::string> types;
  const auto found = session.list(api::kueue::kClusterQueue, "");
  if (!found.ok()) {
    return types;
  }
  for (const Object& queue : *found) {
    for (const Value& group : queue.body()["spec"]["resourceGroups"].items()) {
      for (const Value& resource : group["coveredResources"].items()) {
        const std::string name = resource.str();
        if (name.starts_with(kPrefix)) {
          types.insert(name.substr(kPrefix.size()) + ":");
        }
      }
    }
  }
  return types;
}

// FournosClusters, and the clusters that the queue alone knows.
std::set<std::string> clusters(Session& session) {
  std::set<std::string> names = names_of(session, api::kFournosCluster, kClustersNamespace);
  names.merge(names_of(session, api::kueue::kResourceFlavor, ""));
  return names;
}

std::set<std::string> queues(Session& session) {
  std::set<std::string> names = names_of(session, api::kueue::kClusterQueue, "");
  names.merge(names_of(session, api::kueue::kLocalQueue, session.ns()));
  return names;
}

// CronJobs of the command line, and FournosJobs with spec.schedule.
std::set<std::string> schedules(Session& session) {
  std::set<std::string> names =
      names_of(session, api::kCronJob, session.ns(), std::string(fournos::kScheduleSelector));
  if (const auto jobs = session.list(api::kFournosJob, session.ns()); jobs.ok()) {
    for (const Object& job : *jobs) {
      if (views::is_recurring(job)) {
        names.emplace(job.name());
      }
    }
  }
  return names;
}

std::set<std::string> names_from(NameSource source, Session& session) {
  switch (source) {
    case NameSource::Namespaces:
      return names_of(session, api::kNamespace, "");
    case NameSource::Jobs:
      return names_of(session, api::kFournosJob, session.ns());
    case NameSource::Clusters:
      return clusters(session);
    case NameSource::GpuTypes:
      return gpu_types(session);
    case NameSource::Queues:
      return queues(session);
    case NameSource::AppWrappers:
      return names_of(session, appwrapper::kAppWrapper, session.ns());
    case NameSource::Pipelines:
      return names_of(session, api::kPipeline, session.ns());
    case NameSource::Priorities:
      return names_of(session, api::kueue::kWorkloadPriorityClass, "");
    case NameSource::Pods:
      return names_of(session, api::kPod, session.ns());
    case NameSource::Nodes:
      return names_of(session, api::kNode, "");
    case NameSource::Schedules:
      return schedules(session);
    case NameSource::Contexts:
    case NameSource::Nothing:
    case NameSource::Files:
    case NameSource::Subjects:
      break;
  }
  return {};
}

std::set<std::string> context_names(const std::string& path) {
  std::set<std::string> names;
  const auto config =
      client::read_kubeconfig({.path = path, .environment = client::kubeconfig_environment()});
  if (config.ok()) {
    for (const Value& context : config->merged["contexts"].items()) {
      names.insert(context["name"].str());
    }
  }
  return names;
}

}  // namespace

std::optional<int> complete_line(const std::vector<std::string>& words) {
  if (words.size() != 4 || words[1] != "__complete" || words[2] != "--line") {
    return std::nullopt;
  }
  const std::vector<std::string> line = split_line(words[3]);
  Terminal out(STDOUT_FILENO);
  if (line.size() < 2) {
    return 0;
  }
  const Completion found = complete_words(verb_summaries(), std::span(line).subspan(1));
  for (const Candidate& candidate : found.words) {
    out.print(candidate.help.empty() ? candidate.word + "\n"
                                     : fmt::format("{}\t{}\n", candidate.word, candidate.help));
  }
  if (found.source == NameSource::Files) {
    out.print(":files\n");
    return 0;
  }
  if (found.source == NameSource::Nothing) {
    return 0;
  }
  ::alarm(kPatience);  // ends the process: what is printed stays
  std::set<std::string> names;
  if (found.source == NameSource::Contexts) {
    names = context_names(found.target.kubeconfig);
  } else {
    const bool of_jobs = found.source == NameSource::Jobs || found.source == NameSource::Schedules;
    const Session::Home home = of_jobs ? Session::Home::Jobs : Session::Home::Default;
    auto session = Session::open(found.target, home);
    if (session.ok()) {
      names = names_from(found.source, *session);
    }
  }
  for (const std::string& name : names) {
    if (name.starts_with(found.partial)) {
      out.print(found.lead + name + "\n");
    }
  }
  return 0;
}

}  // namespace athanor::cli
