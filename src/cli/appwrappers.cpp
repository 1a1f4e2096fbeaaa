// SPDX-License-Identifier: Apache-2.0
// athanor appwrappers: the list, one with its tree, and what can be done to one.
#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "base/clock.hpp"
#include "cli/appwrapper_view.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "kube/value/condition.hpp"
#include "systems/appwrapper/kinds.hpp"
#include "systems/appwrapper/kueue/workload.hpp"
#include "systems/appwrapper/lifecycle/fault_tolerance.hpp"
#include "systems/appwrapper/names.hpp"

namespace athanor::cli {
namespace {

using appwrapper::kAppWrapper;

constexpr int kNotFound = 404;

// The gate ShortWorkloadNames of Kueue's configuration decides which of both names it has.
Result<Object> workload_of(Session& session, const Object& app) {
  using api::kueue::NameLength;
  const std::string ns(app.ns());
  const std::string name = appwrapper::workload_name(app, NameLength::Object);
  const std::string shorter = appwrapper::workload_name(app, NameLength::Short);
  auto workload = session.get(api::kueue::kWorkload, ns, name);
  return workload.ok() || workload.error().code != kNotFound || name == shorter
             ? std::move(workload)
             : session.get(api::kueue::kWorkload, ns, shorter);
}

Result<std::string> page_of(Session& session, const Object& app) {
  const std::string ns(app.ns());
  AppWrapperFacts facts{.app = app};
  ATHANOR_TRY(facts.pods, session.list(api::kPod, ns,
                                       fmt::format("{}={}", appwrapper::name::kLabel, app.name())));
  for (const Kind* kind : {&api::kReplicaSet, &api::kJob}) {
    ATHANOR_TRY(const std::vector<Object> owners, session.list(*kind, ns));
    facts.owners.insert(facts.owners.end(), owners.begin(), owners.end());
  }
  auto workload = workload_of(session, app);
  if (workload.ok()) {
    facts.workload = *std::move(workload);
  }
  return appwrapper_page(facts, wall_clock()->now());
}

Result<std::string> list_of(Session& session, const std::string& ns,
                            const AppWrappersOptions& options) {
  ATHANOR_TRY(const std::vector<Object> apps, session.list(kAppWrapper, ns));
  if (options.output != Output::Table && options.output != Output::Wide) {
    return render(apps, options.output, false, kAppWrapper);
  }
  ATHANOR_TRY(const std::vector<Object> pods,
              session.list(api::kPod, ns, std::string(appwrapper::name::kLabel)));
  const std::size_t columns =
      options.output == Output::Wide ? 0 : Terminal(STDOUT_FILENO).columns();
  Table table(appwrapper_header(options.all_namespaces));
  for (const Object& app : apps) {
    table.add(appwrapper_row(app, pods, options.all_namespaces, wall_clock()->now()));
  }
  return table.rows() == 0 ? "no AppWrappers\n" : table.text(columns);
}

Result<std::string> show(Session& session, const AppWrappersOptions& options) {
  const std::string ns = options.all_namespaces ? "" : session.ns();
  if (options.name.empty()) {
    return list_of(session, ns, options);
  }
  ATHANOR_TRY(const Object app, session.get(kAppWrapper, session.ns(), options.name));
  return options.output == Output::Table || options.output == Output::Wide
             ? page_of(session, app)
             : Result<std::string>(render({app}, options.output, true, kAppWrapper));
}

Result<Value> merge(Session& session, const Kind& kind, const std::string& name, Value patch) {
  return session.connection().call({.method = "PATCH",
                                    .path = Session::path(kind, session.ns(), name),
                                    .body = std::move(patch),
                                    .content_type = "application/merge-patch+json"});
}

bool keeps_objects(const Object& app) {
  return condition_is(app.status()["conditions"], appwrapper::condition::kResourcesDeployed,
                      "True");
}

std::string said(const Object& app, std::string_view what) {
  return fmt::format("{} {}\n", app.name(), what);
}

// A queued one is stopped and started through its Workload: what is admitted would start again.
Result<std::string> set_running(Session& session, const Object& app, bool running) {
  const std::string_view phase = app.status()["phase"].as_string();
  if (phase == appwrapper::phase::kSucceeded ||
      (phase == appwrapper::phase::kFailed && !keeps_objects(app))) {
    return Error::bad_request(fmt::format("{} is {}: there is nothing to {}", app.name(), phase,
                                          running ? "resume" : "suspend"));
  }
  const auto queued = workload_of(session, app);
  if (!queued.ok() && queued.error().code != kNotFound) {
    return queued.error();
  }
  const bool runs =
      queued.ok() ? queued->spec()["active"].as_bool(true) : !app.spec()["suspend"].as_bool();
  if (runs == running) {
    return said(app, !running                                 ? "is suspended already"
                     : phase == appwrapper::phase::kSuspended ? "waits in its queue already"
                                                              : "is not suspended");
  }
  const auto done = queued.ok()
                        ? merge(session, api::kueue::kWorkload, std::string(queued->name()),
                                Value::object({{"spec", Value::object({{"active", running}})}}))
                        : merge(session, kAppWrapper, std::string(app.name()),
                                Value::object({{"spec", Value::object({{"suspend", !running}})}}));
  return done.ok()
             ? Result<std::string>(said(app, running ? "is being resumed" : "is being suspended"))
             : done.error();
}

Result<std::string> retry(Session& session, const Object& app) {
  if (app.status()["phase"].as_string() != appwrapper::phase::kFailed) {
    return Error::bad_request(fmt::format("{} is {}; only a Failed AppWrapper can be tried again",
                                          app.name(), app.status()["phase"].as_string()));
  }
  const std::string key = std::string(appwrapper::name::kAnnotationPrefix) +
                          std::string(appwrapper::annotation::kRetry);
  const auto done = merge(
      session, kAppWrapper, std::string(app.name()),
      Value::object(
          {{"metadata",
            Value::object({{"annotations",
                            Value::object({{key, format_micro_time(wall_clock()->now())}})}})}}));
  return done.ok() ? Result<std::string>(said(app, keeps_objects(app)
                                                       ? "is tried again when its objects are gone"
                                                       : "is tried again"))
                   : done.error();
}

Result<std::string> act(Session& session, const AppWrapperActOptions& options) {
  ATHANOR_TRY(const Object app, session.get(kAppWrapper, session.ns(), options.name));
  return options.verb == AppWrapperVerb::Retry
             ? retry(session, app)
             : set_running(session, app, options.verb == AppWrapperVerb::Resume);
}

template <class Options>
int print_outcome(const Options& options,
                  Result<std::string> (*outcome)(Session& session, const Options& options)) {
  auto session = Session::open(options.target);
  if (!session.ok()) {
    return fail(session.error());
  }
  const auto text = outcome(*session, options);
  if (!text.ok()) {
    return fail(text.error());
  }
  Terminal(STDOUT_FILENO).print(*text);
  return 0;
}

}  // namespace

int run(const AppWrappersOptions& options) {
  return print_outcome(options, show);
}

int run(const AppWrapperActOptions& options) {
  return print_outcome(options, act);
}

}  // namespace athanor::cli
