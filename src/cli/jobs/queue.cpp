// SPDX-License-Identifier: Apache-2.0
// athanor queue.
#include <fmt/core.h>
#include <unistd.h>

#include "api/kueue.hpp"
#include "base/clock.hpp"
#include "cli/jobs/queue_watch.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/elsewhere.hpp"
#include "cli/session/verbs.hpp"
#include "views/listing.hpp"
#include "views/queue_view.hpp"

namespace athanor::cli {

namespace {

Result<int> list_queue(Session& session, const QueueOptions& options) {
  const ListOptions& list = options.list;
  const std::string ns = options.all_namespaces ? "" : session.ns();
  ATHANOR_TRY(const ListFilter filter,
              ListFilter::parse(list, views::queue_phases(), wall_clock()->now()));
  ATHANOR_TRY_VOID(check_watch(list));
  if (list.watch) {
    return QueueWatch(session, ns, options, filter).run();
  }
  ATHANOR_TRY(const std::vector<Object> workloads, session.list(api::kueue::kWorkload, ns));
  const bool wide = list.format.output == Output::Wide;
  views::Listing listing =
      views::queue_listing(views::queue_entries(workloads, read_queues(session)),
                           {.with_namespace = options.all_namespaces, .wide = wide});
  JobOwners owners(session, ns, list);
  for (views::ListRow& row : listing.rows) {
    row.traits.owner = owners.of(row.object);
  }
  ATHANOR_TRY_VOID(arrange(listing, filter, list));
  if (listing.rows.empty() && list.format.is_table()) {
    Terminal(STDERR_FILENO)
        .print(
            fmt::format("Nothing {} in {}.\n{}",
                        is_filtered(list) ? "that the flags select" : "holds or waits for quota",
                        ns.empty() ? "any namespace" : "namespace " + ns,
                        ns.empty() ? "" : hint_elsewhere(session, api::kueue::kWorkload, "queue")));
    return 0;
  }
  const Terminal out(STDOUT_FILENO);
  ATHANOR_TRY(const std::string text, print_listing(listing, list, out.columns()));
  out.print(text);
  return 0;
}

}  // namespace

int run(const QueueOptions& options) {
  auto session = Session::open(options.target, Session::Home::Jobs);
  if (!session.ok()) {
    return fail(session.error());
  }
  const auto code = list_queue(*session, options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
