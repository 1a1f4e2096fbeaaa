// SPDX-License-Identifier: Apache-2.0
// athanor top: the live screen, or one view as text or JSON.
#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "base/clock.hpp"
#include "cli/output/formats.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/verbs.hpp"
#include "cli/top/keyboard.hpp"
#include "cli/top/top_data.hpp"
#include "cli/top/top_view.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::cli {
namespace {

Result<TopState> state_of(const TopOptions& options) {
  TopState state;
  const auto view = find_view(options.view);
  if (!view) {
    return wrong_usage(fmt::format(
        "there is no view \"{}\"; there are overview, jobs, queue, clusters, slices, zones and "
        "appwrappers",
        options.view));
  }
  state.view = *view;
  state.filter_text = options.filter;
  ATHANOR_TRY(state.filter, ViewFilter::parse(options.filter));
  return state;
}

Result<int> print_once(Session& session, const TopOptions& options, const TopPlaces& places) {
  ATHANOR_TRY(TopState state, state_of(options));
  ATHANOR_TRY(const TopData data, read_top(session, places, state.view, wall_clock()->now()));
  const Terminal out(STDOUT_FILENO);
  if (options.output != Output::Table) {
    ATHANOR_TRY(const std::string text,
                render_values({top_value(data, state.view, state.filter)},
                              {.output = options.output, .pattern = {}}, Shape::Single, false));
    out.print(text);
    return 0;
  }
  constexpr std::size_t kPlainColumns = 80;
  constexpr std::size_t kFrame = 3;
  TopSize size{.columns = options.columns > 0 ? static_cast<std::size_t>(options.columns)
                          : out.columns() > 0 ? out.columns()
                                              : kPlainColumns,
               .lines = options.lines > 0 ? static_cast<std::size_t>(options.lines)
                                          : rows_of(data, state) + kFrame};
  for (const std::string& line : top_screen(data, state, size)) {
    out.print(line + "\n");
  }
  return 0;
}

// Refreshes until a key ends it. An API server that is away leaves the last screen, with a note.
Result<int> run_live(Session& session, const TopOptions& options, const TopPlaces& places) {
  ATHANOR_TRY(TopState state, state_of(options));
  const Duration interval = std::chrono::seconds(options.interval);
  TopData data{.now = wall_clock()->now(), .ns = places.jobs};
  std::optional<TopView> read;  // what `data` was read for
  Instant due{};
  LiveScreen screen;
  while (true) {
    const Instant now = wall_clock()->now();
    if (now >= due || read != state.view) {
      auto fresh = read_top(session, places, state.view, now);
      if (fresh.ok()) {
        data = *std::move(fresh);
        state.error.clear();
      } else {
        state.error = fresh.error().message;
      }
      read = state.view;
      due = wall_clock()->now() + interval;
    }
    const TopSize size = screen.size();
    screen.show(top_screen(data, state, size));
    for (const std::string& key : screen.wait(due - wall_clock()->now())) {
      if (!top_key(state, key, rows_of(data, state), screen.size().lines)) {
        return 0;
      }
    }
  }
}

Result<int> show_top(const TopOptions& options) {
  ATHANOR_TRY([[maybe_unused]] const TopState checked, state_of(options));
  ATHANOR_TRY(Session session, Session::open(options.target, Session::Home::Jobs));
  const TopPlaces places{.jobs = options.all_namespaces ? "" : session.ns(),
                         .clusters = options.clusters_ns};
  const bool live = !options.once && options.output == Output::Table &&
                    ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  return live ? run_live(session, options, places) : print_once(session, options, places);
}

}  // namespace

int run(const TopOptions& options) {
  const auto code = show_top(options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
