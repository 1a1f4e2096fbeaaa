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
#include "systems/appwrapper/kinds.hpp"
#include "systems/appwrapper/kueue/workload.hpp"
#include "systems/appwrapper/lifecycle/fault_tolerance.hpp"
#include "systems/appwrapper/names.hpp"

namespace athanor::cli {
namespace {

using appwrapper::kAppWrapper;

constexpr int kNotFound = 404;

Result<std::string> page_of(Session& session, const Object& app) {
  const std::string ns(app.ns());
  AppWrapperFacts facts{.app = app};
  ATHANOR_TRY(facts.pods, session.list(api::kPod, ns,
                                       fmt::format("{}={}", appwrapper::name::kLabel, app.name())));
  for (const Kind* kind : {&api::kReplicaSet, &api::kJob}) {
    ATHANOR_TRY(const std::vector<Object> owners, session.list(*kind, ns));
    facts.owners.insert(facts.owners.end(), owners.begin(), owners.end());
  }
  auto workload =
      session.get(api::kueue::kWorkload, ns, appwrapper::workload_name(app.name(), app.uid()));
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

// A queued one is stopped and started through its Workload: what is admitted would start again.
Result<Value> set_running(Session& session, const Object& app, bool running) {
  const std::string workload = appwrapper::workload_name(app.name(), app.uid());
  const auto queued = session.get(api::kueue::kWorkload, session.ns(), workload);
  if (queued.ok()) {
    return merge(session, api::kueue::kWorkload, workload,
                 Value::object({{"spec", Value::object({{"active", running}})}}));
  }
  if (queued.error().code != kNotFound) {
    return queued.error();
  }
  return merge(session, kAppWrapper, std::string(app.name()),
               Value::object({{"spec", Value::object({{"suspend", !running}})}}));
}

Result<Value> retry(Session& session, const Object& app) {
  if (app.status()["phase"].as_string() != appwrapper::phase::kFailed) {
    return Error::bad_request(fmt::format("{} is {}; only a Failed AppWrapper can be tried again",
                                          app.name(), app.status()["phase"].as_string()));
  }
  const std::string key = std::string(appwrapper::name::kAnnotationPrefix) +
                          std::string(appwrapper::annotation::kRetry);
  return merge(
      session, kAppWrapper, std::string(app.name()),
      Value::object(
          {{"metadata",
            Value::object({{"annotations",
                            Value::object({{key, format_micro_time(wall_clock()->now())}})}})}}));
}

std::string_view past_of(AppWrapperVerb verb) {
  switch (verb) {
    case AppWrapperVerb::Retry:
      return "is tried again";
    case AppWrapperVerb::Suspend:
      return "is being suspended";
    case AppWrapperVerb::Resume:
      return "is being resumed";
  }
  return "";
}

Result<std::string> act(Session& session, const AppWrapperActOptions& options) {
  ATHANOR_TRY(const Object app, session.get(kAppWrapper, session.ns(), options.name));
  const auto done = options.verb == AppWrapperVerb::Retry
                        ? retry(session, app)
                        : set_running(session, app, options.verb == AppWrapperVerb::Resume);
  if (!done.ok()) {
    return done.error();
  }
  return fmt::format("{} {}\n", options.name, past_of(options.verb));
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
