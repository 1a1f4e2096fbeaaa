// SPDX-License-Identifier: Apache-2.0
// athanor queue.
#include <fmt/core.h>
#include <unistd.h>

#include "api/kueue.hpp"
#include "cli/jobs/queue_view.hpp"
#include "cli/jobs/queue_watch.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace athanor::cli {

int run(const QueueOptions& options) {
  auto session = Session::open(options.target, Session::Home::Jobs);
  if (!session.ok()) {
    return fail(session.error());
  }
  if (options.watch) {
    return QueueWatch(*session, options.all_namespaces ? "" : session->ns(), options).run();
  }
  const Kind& kind = api::kueue::kWorkload;
  const auto workloads = session->list(kind, options.all_namespaces ? "" : session->ns());
  if (!workloads.ok()) {
    return fail(workloads.error());
  }
  const Terminal out(STDOUT_FILENO);
  const std::vector<QueueEntry> entries = queue_entries(*workloads);
  const bool wide = options.output == Output::Wide;
  if (options.output != Output::Table && !wide) {
    std::vector<Object> ordered;
    ordered.reserve(entries.size());
    for (const QueueEntry& entry : entries) {
      ordered.push_back(entry.workload);
    }
    out.print(render(ordered, options.output, false, kind));
    return 0;
  }
  if (entries.empty()) {
    Terminal(STDERR_FILENO)
        .print(
            fmt::format("Nothing holds or waits for quota in {}.\n",
                        options.all_namespaces ? "any namespace" : "namespace " + session->ns()));
    return 0;
  }
  Table table(queue_header());
  for (const QueueEntry& entry : entries) {
    table.add(queue_row(entry, options.all_namespaces, wide));
  }
  out.print(table.text(wide ? 0 : out.columns()));
  return 0;
}

}  // namespace athanor::cli
