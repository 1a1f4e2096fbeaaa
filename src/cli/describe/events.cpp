// SPDX-License-Identifier: Apache-2.0
// athanor events: of a namespace, or of some objects and what belongs to them.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "base/clock.hpp"
#include "cli/jobs/live_list.hpp"
#include "cli/jobs/log_source.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/elsewhere.hpp"
#include "cli/session/verbs.hpp"
#include "runtime/view/usage.hpp"
#include "views/event_view.hpp"
#include "views/listing.hpp"

namespace athanor::cli {
namespace {

struct EventChoice {
  std::vector<views::EventSubject> about{};  // empty: of all
  std::vector<std::string> types{};

  [[nodiscard]] bool takes(const Object& event) const {
    const std::string type = event.body()["type"].str();
    return (types.empty() || std::ranges::find(types, type) != types.end()) &&
           (about.empty() || std::ranges::any_of(about, [&](const views::EventSubject& subject) {
              return views::is_about(event, subject);
            }));
  }
};

// An object with its pods and their owners; what else controllers make has a name that begins with
// its own.
Result<views::EventSubject> subject_of_events(Session& session, const std::string& about) {
  ATHANOR_TRY(const LogSource source, find_log_source(session, {about}));
  views::EventSubject subject{.name = source.name};
  ATHANOR_TRY(const std::vector<Object> pods, source.pods(session));
  for (const Object& pod : pods) {
    subject.members.emplace("Pod", std::string(pod.name()));
    for (const OwnerReference& owner : pod.owners()) {
      subject.members.emplace(owner.kind, owner.name);
    }
  }
  return subject;
}

class EventWatch {
 public:
  EventWatch(Session& session, std::string ns, EventChoice choice, ListFilter filter,
             bool with_namespace, bool no_headers)
      : session_(session),
        ns_(std::move(ns)),
        choice_(std::move(choice)),
        filter_(std::move(filter)),
        with_namespace_(with_namespace),
        no_headers_(no_headers),
        table_(views::event_header(with_namespace), views::event_widths(with_namespace)) {}

  Result<int> run() {
    if (!no_headers_) {
      out_.print(table_.header(out_.columns()));
    }
    LiveList list(
        session_,
        {.kind = &api::kEvent, .ns = ns_, .what_runs = "what runs", .goes_on = "what runs goes on"},
        {.shown =
             [this](const Object& event) {
               if (choice_.takes(event) && filter_.takes(event, views::event_traits(event))) {
                 const auto cells = views::event_cells(event, with_namespace_, wall_clock()->now());
                 out_.print(table_.row(cells, out_.columns()));
               }
             },
         .gone = [](const Key&) {},
         .tick = [](Instant) {}});
    return list.run();
  }

 private:
  Session& session_;
  std::string ns_;
  EventChoice choice_;
  ListFilter filter_;
  bool with_namespace_;
  bool no_headers_;
  LiveTable table_;
  Terminal out_{STDOUT_FILENO};
};

Result<int> list_events(const EventsOptions& options) {
  ATHANOR_TRY(Session session, Session::open(options.target, Session::Home::Jobs));
  const ListOptions& list = options.list;
  const std::string ns = options.all_namespaces ? "" : session.ns();
  EventChoice choice{.about = {}, .types = options.types};
  if (!options.about.empty()) {
    if (options.all_namespaces) {
      return wrong_usage("events of an object are in its namespace: leave -A out");
    }
    for (const std::string& about : options.about) {
      ATHANOR_TRY(views::EventSubject subject, subject_of_events(session, about));
      choice.about.push_back(std::move(subject));
    }
  }
  ATHANOR_TRY(const ListFilter filter, ListFilter::parse(list, {}, wall_clock()->now()));
  ATHANOR_TRY_VOID(check_watch(list));
  if (list.watch) {
    return EventWatch(session, ns, std::move(choice), filter, options.all_namespaces,
                      list.no_headers)
        .run();
  }
  ATHANOR_TRY(std::vector<Object> events, session.list(api::kEvent, ns));
  std::erase_if(events, [&](const Object& event) { return !choice.takes(event); });
  views::Listing listing =
      views::event_listing(std::move(events), options.all_namespaces, wall_clock()->now());
  ATHANOR_TRY_VOID(arrange(listing, filter, list));
  if (listing.rows.empty() && list.format.is_table()) {
    Terminal(STDERR_FILENO)
        .print(fmt::format(
            "No events{} in {}.\n{}",
            options.about.empty() ? "" : fmt::format(" of {}", fmt::join(options.about, ", ")),
            ns.empty() ? "any namespace" : "namespace " + ns,
            ns.empty() || !options.about.empty() ? ""
                                                 : hint_elsewhere(session, api::kEvent, "events")));
    return 0;
  }
  const Terminal out(STDOUT_FILENO);
  ATHANOR_TRY(const std::string text, print_listing(listing, list, out.columns()));
  out.print(text);
  return 0;
}

}  // namespace

int run(const EventsOptions& options) {
  const auto code = list_events(options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
