// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/log_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "base/ascii.hpp"
#include "base/near_name.hpp"
#include "cli/session/elsewhere.hpp"
#include "client/connection.hpp"
#include "embedded/wrapped/kinds.hpp"
#include "kube/names/selector.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/usage.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "views/job_labels.hpp"

namespace athanor::cli {
namespace {

constexpr int kAbsent = 404;

// A kind with the words that name it. `label`: of its pods, with its name as value; empty: its
// spec.selector, or itself.
struct LoggedKind {
  const Kind* kind;
  std::array<std::string_view, 4> words;
  std::string_view label;
};

std::span<const LoggedKind> logged_kinds() {
  static constexpr LoggedKind kKinds[] = {
      {&api::kFournosJob, {"job", "fj", "fjob", "fjobs"}, "fournos.dev/job-name"},
      {&api::kPipelineRun, {"pr", "pipelinerun", "run", "runs"}, "tekton.dev/pipelineRun"},
      {&api::kJob, {"batchjob", "batchjobs", "batch", ""}, "batch.kubernetes.io/job-name"},
      {&appwrapper::kAppWrapper, {"aw", "", "", ""}, appwrapper::name::kLabel},
      {&wrapped::kJobSet, {"js", "", "", ""}, "jobset.sigs.k8s.io/jobset-name"},
      {&api::kPod, {"po", "", "", ""}, ""},
      {&api::kTaskRun, {"tr", "", "", ""}, "tekton.dev/taskRun"},
      {&wrapped::kPyTorchJob, {"", "", "", ""}, "training.kubeflow.org/job-name"},
      {&wrapped::kRayCluster, {"", "", "", ""}, "ray.io/cluster"},
      {&wrapped::kRayJob, {"", "", "", ""}, "ray.io/cluster"},
      {&wrapped::kLeaderWorkerSet, {"lws", "", "", ""}, "leaderworkerset.sigs.k8s.io/name"},
      {&api::kDeployment, {"deploy", "", "", ""}, ""},
      {&api::kStatefulSet, {"sts", "", "", ""}, ""},
      {&api::kReplicaSet, {"rs", "", "", ""}, ""},
      {&api::kDaemonSet, {"ds", "", "", ""}, ""},
      {&api::kueue::kWorkload, {"wl", "", "", ""}, ""}};
  return kKinds;
}

bool names_kind(const LoggedKind& one, std::string_view word) {
  // "job.batch" and "fournosjob.fournos.dev", as -o name prints them.
  const std::string text = lower(word);
  const std::size_t dot = text.find('.');
  const std::string plain = text.substr(0, dot);
  const bool own = plain == lower(one.kind->name) || plain == one.kind->plural;
  if (dot != std::string::npos) {
    return own && one.kind->group.starts_with(std::string_view(text).substr(dot + 1));
  }
  // "job" and "jobs" alone are FournosJobs, as in every verb.
  const bool taken = one.kind == &api::kJob || (plain.empty());
  return (own && !taken) || (plain == "jobs" && one.kind == &api::kFournosJob) ||
         (!plain.empty() && std::ranges::find(one.words, plain) != one.words.end());
}

const LoggedKind* find_kind_of(std::string_view word) {
  const auto kinds = logged_kinds();
  const auto found =
      std::ranges::find_if(kinds, [&](const LoggedKind& one) { return names_kind(one, word); });
  return found == kinds.end() ? nullptr : &*found;
}

Error unknown_kind_of_logs(std::string_view word) {
  std::vector<std::string> known{"jobs"};
  for (const LoggedKind& one : logged_kinds()) {
    known.emplace_back(one.kind->plural);
  }
  return wrong_usage(fmt::format(
      "unknown kind \"{}\"{}; logs are read of jobs, pipelineruns, taskruns, batchjobs, jobsets, "
      "appwrappers, pods, workloads and what else makes pods",
      word, near_hint(word, known)));
}

// "a=b,c=d" of a spec.selector.
std::string selector_text(const Object& object) {
  std::string text;
  for (const Member& label : object.spec()["selector"]["matchLabels"].members()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", label.key(), label.value.as_string());
  }
  return text;
}

LogSource source_of_object(const LoggedKind& one, const Object& object, const std::string& ns) {
  LogSource source{.kind = one.kind, .ns = ns, .name = std::string(object.name())};
  if (one.kind == &wrapped::kRayJob) {
    const std::string cluster = object.status()["rayClusterName"].str();
    source.selector = fmt::format("{}={}", one.label, cluster.empty() ? source.name : cluster);
  } else if (!one.label.empty()) {
    source.selector = fmt::format("{}={}", one.label, source.name);
  } else if (one.kind != &api::kPod) {
    source.selector = selector_text(object);
  }
  return source;
}

Result<LogSource> read_source(Session& session, const LoggedKind& one, const std::string& name) {
  ATHANOR_TRY(const Object object, session.get(*one.kind, session.ns(), name));
  if (one.kind != &api::kueue::kWorkload) {
    return source_of_object(one, object, session.ns());
  }
  const auto owners = object.owners();
  if (owners.empty()) {
    return Error::not_found(
        fmt::format("workloads \"{}\" has no owner whose pods could log", name));
  }
  const auto kinds = logged_kinds();
  const auto owner = std::ranges::find_if(kinds, [&](const LoggedKind& kind) {
    return kind.kind->name == owners.front().kind &&
           kind.kind->api_version() == owners.front().api_version;
  });
  if (owner == kinds.end()) {
    return Error::not_found(fmt::format("workloads \"{}\" is of {}/{}, whose pods are not known",
                                        name, owners.front().kind, owners.front().name));
  }
  return read_source(session, *owner, owners.front().name);
}

// The kinds are tried in the order of their table up to pods; what cannot be read is passed over.
Result<LogSource> find_by_name(Session& session, const std::string& name) {
  std::optional<Error> first;
  for (const LoggedKind& one : logged_kinds()) {
    auto source = read_source(session, one, name);
    if (source.ok()) {
      return source;
    }
    if (!first) {
      first = source.error();
      if (first->code != kAbsent) {
        return *first;
      }
    }
    if (one.kind == &api::kPod) {
      break;
    }
  }
  for (const LoggedKind& one : logged_kinds()) {
    Error error = with_other_namespaces(session, *one.kind, name, *first);
    if (error.message != first->message || one.kind == &api::kPod) {
      return error;
    }
  }
  return *first;
}

Result<std::vector<LogSource>> sources_with(Session& session, const LoggedKind& one,
                                            const std::string& labels) {
  ATHANOR_TRY(std::vector<Object> objects, session.list(*one.kind, session.ns(), labels));
  std::ranges::stable_sort(
      objects, {}, [](const Object& object) { return object.creation_time().value_or(Instant()); });
  std::vector<LogSource> sources;
  sources.reserve(objects.size());
  for (const Object& object : objects) {
    sources.push_back(source_of_object(one, object, session.ns()));
  }
  return sources;
}

Result<std::vector<LogSource>> labelled_sources(Session& session,
                                                const std::vector<std::string>& words,
                                                const std::string& labels) {
  if (const auto parsed = LabelSelector::parse(labels); !parsed.ok()) {
    return wrong_usage(fmt::format("--selector {}: {}", labels, parsed.error().message));
  }
  std::vector<const LoggedKind*> kinds;
  for (const std::string& word : words) {
    kinds.push_back(find_kind_of(word));
    if (word.find('/') != std::string::npos || words.size() > 1) {
      return wrong_usage("-l excludes names: give a kind alone, or none");
    }
    if (kinds.back() == nullptr) {
      return unknown_kind_of_logs(word);
    }
    if (kinds.back()->kind == &api::kueue::kWorkload) {
      return wrong_usage("-l: logs of workloads are read by name; their owners have labels, too");
    }
  }
  if (kinds.empty()) {
    kinds = {find_kind_of("jobs"), find_kind_of("pods")};
  }
  std::optional<Error> unread;
  for (const LoggedKind* kind : kinds) {
    auto sources = sources_with(session, *kind, labels);
    if (sources.ok() && !sources->empty()) {
      return sources;
    }
    if (!sources.ok() && !unread) {
      unread = sources.error();
    }
  }
  // An API server without FournosJobs has pods, too.
  if (unread && (kinds.size() == 1 || unread->code != kAbsent)) {
    return *unread;
  }
  return Error::not_found(
      fmt::format("no {} have the labels {} in namespace {}",
                  kinds.size() > 1 ? std::string_view("jobs or pods") : kinds.front()->kind->plural,
                  labels, session.ns()));
}

bool has_true(const Object& object, std::initializer_list<std::string_view> types) {
  return std::ranges::any_of(types, [&](std::string_view type) {
    return condition_is(object.status()["conditions"], type, "True");
  });
}

}  // namespace

bool LogSource::is_job() const {
  return kind == &api::kFournosJob;
}

std::string LogSource::kind_word() const {
  return lower(kind->name);
}

std::string LogSource::noun() const {
  return "the " + (is_job() ? std::string("job") : kind_word());
}

std::string LogSource::text() const {
  return fmt::format("{}/{}",
                     kind == &api::kJob ? "job.batch"
                     : is_job()         ? "jobs"
                                        : kind_word(),
                     name);
}

std::string LogSource::pods_query() const {
  return selector.empty() ? "fieldSelector=" + client::escape("metadata.name=" + name)
                          : "labelSelector=" + client::escape(selector);
}

Result<std::vector<Object>> LogSource::pods(Session& session) const {
  if (!selector.empty()) {
    return session.list(api::kPod, ns, selector);
  }
  const auto pod = session.get(api::kPod, ns, name);
  if (!pod.ok() && pod.error().code != kAbsent) {
    return pod.error();
  }
  return pod.ok() ? std::vector<Object>{*pod} : std::vector<Object>();
}

LogSource source_of_job(std::string ns, std::string name) {
  std::string selector = fmt::format("{}={}", views::kJobNameLabel, name);
  return {.kind = &api::kFournosJob,
          .ns = std::move(ns),
          .name = std::move(name),
          .selector = std::move(selector)};
}

Result<LogSource> find_log_source(Session& session, const std::vector<std::string>& words) {
  if (words.empty() || words.size() > 2) {
    return wrong_usage("give one workload: KIND/NAME, as jobs/my-job or pod/my-pod");
  }
  const std::string& first = words.front();
  const std::size_t slash = first.find('/');
  if (words.size() == 1 && slash == std::string::npos) {
    return find_by_name(session, first);
  }
  const std::string word = first.substr(0, slash);
  const std::string name = words.size() == 2 ? words.back() : first.substr(slash + 1);
  if (words.size() == 2 && slash != std::string::npos) {
    return wrong_usage(fmt::format("{} {}: logs are read of one workload", first, name));
  }
  const LoggedKind* kind = find_kind_of(word);
  if (kind == nullptr) {
    return unknown_kind_of_logs(word);
  }
  if (name.empty()) {
    return wrong_usage(fmt::format("{}: the name is missing", first));
  }
  return read_source(session, *kind, name);
}

Result<std::vector<LogSource>> find_log_sources(Session& session,
                                                const std::vector<std::string>& words,
                                                const std::string& labels) {
  if (!labels.empty()) {
    return labelled_sources(session, words, labels);
  }
  const bool by_kind = words.size() == 2 && words.front().find('/') == std::string::npos &&
                       find_kind_of(words.front()) != nullptr;
  std::vector<LogSource> sources;
  if (by_kind || words.empty()) {
    ATHANOR_TRY(LogSource source, find_log_source(session, words));
    sources.push_back(std::move(source));
    return sources;
  }
  for (const std::string& word : words) {
    ATHANOR_TRY(LogSource source, find_log_source(session, {word}));
    const bool twice = std::ranges::any_of(sources, [&](const LogSource& one) {
      return one.kind == source.kind && one.name == source.name;
    });
    if (!twice) {
      sources.push_back(std::move(source));
    }
  }
  return sources;
}

std::string phase_of_source(const Kind& kind, const Object& object) {
  if (kind.name == api::kFournosJob.name || kind.name == api::kPod.name ||
      kind.name == appwrapper::kAppWrapper.name) {
    return object.status()["phase"].str();
  }
  const Value& succeeded = find_condition(object.status()["conditions"], "Succeeded");
  const std::string_view ray = object.status()["jobDeploymentStatus"].as_string();
  if (has_true(object, {"Failed", "FailureTarget"}) || ray == "Failed" ||
      succeeded["status"].as_string() == "False") {
    return "Failed";
  }
  if (has_true(object, {"Complete", "Completed", "Succeeded"}) || ray == "Complete") {
    return "Succeeded";
  }
  return "Running";
}

bool is_end_phase(std::string_view phase) {
  return phase == "Succeeded" || phase == "Failed" || phase == "Stopped";
}

}  // namespace athanor::cli
