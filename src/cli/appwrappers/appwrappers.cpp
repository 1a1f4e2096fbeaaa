// SPDX-License-Identifier: Apache-2.0
// athanor appwrappers: the list, one with its tree, and what can be done to one.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "base/clock.hpp"
#include "cli/appwrappers/appwrapper_settings.hpp"
#include "cli/jobs/live_list.hpp"
#include "cli/output/formats.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/chosen_names.hpp"
#include "cli/session/elsewhere.hpp"
#include "cli/session/verbs.hpp"
#include "kube/value/condition.hpp"
#include "systems/appwrapper/kueue/workload.hpp"
#include "systems/appwrapper/model/fault_tolerance.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/model/wrapped_kinds.hpp"
#include "views/appwrapper_view.hpp"
#include "views/listing.hpp"

namespace athanor::cli {
namespace {

using appwrapper::kAppWrapper;

constexpr int kNotFound = 404;
constexpr int kConflict = 409;
constexpr int kMostOwners = 10;
constexpr std::size_t kLiveWidth = 12;  // of the columns of a live list

// Adds the owners between an object and its AppWrapper; one that cannot be read ends the chain.
void add_owners(Session& session, const Object& object, std::vector<Object>& owners) {
  Object current = object;
  for (int depth = 0; depth < kMostOwners; ++depth) {
    const auto owner = current.controller();
    const bool known = owner && std::ranges::any_of(owners, [&](const Object& one) {
                         return one.uid() == owner->uid;
                       });
    const Kind* kind =
        owner && !known ? appwrapper::find_wrapped_kind(owner->api_version, owner->kind) : nullptr;
    if (kind == nullptr) {
      return;
    }
    auto found = session.get(*kind, std::string(object.ns()), owner->name);
    if (!found.ok() || found->uid() != owner->uid) {
      return;
    }
    owners.push_back(*found);
    current = *std::move(found);
  }
}

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
  views::AppWrapperFacts facts{.app = app};
  ATHANOR_TRY(facts.pods, session.list(api::kPod, ns,
                                       fmt::format("{}={}", appwrapper::name::kLabel, app.name())));
  for (const Object& pod : facts.pods) {
    add_owners(session, pod, facts.owners);
  }
  facts.settings = read_fault_tolerance(session);
  auto workload = workload_of(session, app);
  if (workload.ok()) {
    facts.workload = *std::move(workload);
  }
  return views::appwrapper_page(facts, wall_clock()->now());
}

views::Traits traits_of(const Object& app) {
  return {.phase = app.status()["phase"].str(),
          .owner = std::string(app.label(appwrapper::name::kUserLabel))};
}

// Prints a row whenever one changes.
int watch_appwrappers(Session& session, const std::string& ns, const AppWrappersOptions& options,
                      const ListFilter& filter) {
  const ListOptions& list = options.list;
  const bool wide = list.format.output == Output::Wide;
  views::AppWrapperListing shared{.settings = read_fault_tolerance(session),
                                  .with_namespace = options.all_namespaces};
  const Terminal out(STDOUT_FILENO);
  const std::vector<std::string> titles = views::appwrapper_header(options.all_namespaces);
  const LiveTable table(titles, std::vector<std::size_t>(titles.size(), kLiveWidth));
  const auto print_row = [&](const std::vector<std::string>& cells) {
    out.print(table.row(cells, wide ? 0 : out.columns()));
  };
  const auto show = [&](const Object& app) {
    if (!filter.takes(app, traits_of(app))) {
      return;
    }
    if (list.format.is_table()) {
      const auto pods = session.list(api::kPod, std::string(app.ns()),
                                     fmt::format("{}={}", appwrapper::name::kLabel, app.name()));
      shared.pods = pods.value_or({});
      print_row(views::appwrapper_row(app, shared, wall_clock()->now()));
      return;
    }
    const auto text = render_objects({app}, list.format, Shape::Single, list.no_headers);
    out.print(text.ok() ? *text : fmt::format("athanor: {}\n", text.error().message));
  };
  if (list.format.is_table() && !list.no_headers) {
    print_row(titles);
  }
  LiveList live(session,
                {.kind = &kAppWrapper,
                 .ns = ns,
                 .name = list.names.size() == 1 ? list.names.front() : std::string(),
                 .what_runs = "what runs",
                 .goes_on = "the AppWrappers go on"},
                {.shown = show,
                 .gone =
                     [&](const Key& app) {
                       if (list.format.is_table()) {
                         std::vector<std::string> row(titles.size(), "-");
                         row[options.all_namespaces ? 1 : 0] = app.name;
                         row[options.all_namespaces ? 2 : 1] = "Gone";
                         print_row(row);
                       }
                     },
                 .tick = [](Instant) {}});
  return live.run();
}

Result<int> list_appwrappers(Session& session, const AppWrappersOptions& options) {
  const ListOptions& list = options.list;
  const Instant now = wall_clock()->now();
  const std::string ns = options.all_namespaces ? "" : session.ns();
  ATHANOR_TRY(const ListFilter filter, ListFilter::parse(list, views::appwrapper_phases(), now));
  ATHANOR_TRY_VOID(check_watch(list));
  const Terminal out(STDOUT_FILENO);
  if (list.watch) {
    return watch_appwrappers(session, ns, options, filter);
  }
  std::vector<Object> apps;
  if (list.names.size() == 1 && !options.all_namespaces) {
    const std::string& name = list.names.front();
    auto found = session.get(kAppWrapper, session.ns(), name);
    if (!found.ok()) {
      return with_other_namespaces(session, kAppWrapper, name, found.error());
    }
    Object app = *std::move(found);
    if (shows_one(list)) {
      ATHANOR_TRY(const std::string page, page_of(session, app));
      out.print(page);
      return 0;
    }
    apps.push_back(std::move(app));
  } else {
    ATHANOR_TRY(apps, session.list(kAppWrapper, ns));
  }
  views::AppWrapperListing shared{.with_namespace = options.all_namespaces};
  if (list.format.is_table()) {
    ATHANOR_TRY(shared.pods, session.list(api::kPod, ns, std::string(appwrapper::name::kLabel)));
    shared.settings = read_fault_tolerance(session);
  }
  const std::vector<std::string> missing = filter.missing(apps);
  views::Listing listing{.titles = views::appwrapper_header(options.all_namespaces)};
  for (const Object& app : apps) {
    listing.rows.push_back({.object = app,
                            .cells = list.format.is_table()
                                         ? views::appwrapper_row(app, shared, now)
                                         : std::vector<std::string>(),
                            .traits = traits_of(app)});
  }
  ATHANOR_TRY_VOID(arrange(listing, filter, list));
  if (listing.rows.empty() && missing.empty() && list.format.is_table()) {
    Terminal(STDERR_FILENO)
        .print(fmt::format("No AppWrappers{} in {}.\n{}",
                           is_filtered(list) ? " that the flags select" : "",
                           ns.empty() ? "any namespace" : "namespace " + ns,
                           ns.empty() ? "" : hint_elsewhere(session, kAppWrapper, "appwrappers")));
    return 0;
  }
  ATHANOR_TRY(const std::string text, print_listing(listing, list, out.columns()));
  out.print(text);
  return report_missing("AppWrapper", missing);
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

// Kueue queues an AppWrapper again only when its finished Workload is gone (B-19).
Result<void> delete_finished_workload(Session& session, const Object& app) {
  const auto workload = workload_of(session, app);
  if (!workload.ok()) {
    return workload.error().code == kNotFound ? Result<void>() : workload.error();
  }
  if (!condition_is(workload->status()["conditions"], "Finished", "True")) {
    return {};
  }
  const auto done = session.connection().call(
      {.method = "DELETE",
       .path = Session::path(api::kueue::kWorkload, session.ns(), std::string(workload->name())),
       .body = Value::object(
           {{"apiVersion", "v1"},
            {"kind", "DeleteOptions"},
            {"preconditions", Value::object({{"uid", std::string(workload->uid())}})}})});
  const bool gone = done.ok() || done.error().code == kNotFound || done.error().code == kConflict;
  return gone ? Result<void>()
              : done.error().with_context(
                    fmt::format("{} waits until its finished Workload is deleted", app.name()));
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
  if (!done.ok()) {
    return done.error();
  }
  ATHANOR_TRY_VOID(delete_finished_workload(session, app));
  return said(app,
              keeps_objects(app) ? "is tried again when its objects are gone" : "is tried again");
}

Result<std::string> act(Session& session, AppWrapperVerb verb, const std::string& name) {
  const auto app = session.get(kAppWrapper, session.ns(), name);
  if (!app.ok()) {
    return with_other_namespaces(session, kAppWrapper, name, app.error());
  }
  return verb == AppWrapperVerb::Retry ? retry(session, *app)
                                       : set_running(session, *app, verb == AppWrapperVerb::Resume);
}

Result<int> act_on_appwrappers(const AppWrapperActOptions& options) {
  ATHANOR_TRY(Session session, Session::open(options.target));
  ATHANOR_TRY(const std::vector<std::string> names,
              chosen_names(session, kAppWrapper, options.choice));
  const Terminal out(STDOUT_FILENO);
  return for_each_name(names, [&](const std::string& name) -> Result<int> {
    ATHANOR_TRY(const std::string text, act(session, options.verb, name));
    out.print(text);
    return 0;
  });
}

}  // namespace

int run(const AppWrappersOptions& options) {
  auto session = Session::open(options.target);
  if (!session.ok()) {
    return fail(session.error());
  }
  const auto code = list_appwrappers(*session, options);
  return code.ok() ? *code : fail(code.error());
}

int run(const AppWrapperActOptions& options) {
  const auto code = act_on_appwrappers(options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
