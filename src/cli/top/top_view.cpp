// SPDX-License-Identifier: Apache-2.0
#include "cli/top/top_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "cli/output/terminal.hpp"
#include "kube/text/quantity.hpp"
#include "systems/das/verb/gpu_states.hpp"
#include "systems/das/verb/slice_map.hpp"
#include "views/appwrapper_view.hpp"
#include "views/layout.hpp"
#include "views/table.hpp"

namespace athanor::cli {
namespace {

constexpr std::array<std::pair<std::string_view, char>, kTopViews> kViews{{{"overview", 'o'},
                                                                           {"jobs", 'j'},
                                                                           {"queue", 'u'},
                                                                           {"clusters", 'c'},
                                                                           {"slices", 's'},
                                                                           {"zones", 'z'},
                                                                           {"appwrappers", 'a'}}};

// Counts rows by phase: "1 Failed, 3 Running"; `without`: the word for no phase.
std::string counts_by_phase(const views::Listing& listing, std::string_view without = "New") {
  std::map<std::string, std::size_t> counts;
  for (const views::ListRow& row : listing.rows) {
    ++counts[row.traits.phase.empty() ? std::string(without) : row.traits.phase];
  }
  std::string text;
  for (const auto& [phase, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, phase);
  }
  return text.empty() ? "none" : text;
}

std::string cell_of(const views::Listing& listing, const views::ListRow& row,
                    std::string_view title) {
  const auto at = std::ranges::find(listing.titles, title);
  const auto index = static_cast<std::size_t>(at - listing.titles.begin());
  return index < row.cells.size() ? row.cells[index] : std::string();
}

std::int64_t sum_of(const views::Listing& listing, std::string_view title) {
  std::int64_t sum = 0;
  for (const views::ListRow& row : listing.rows) {
    if (const auto number = Quantity::parse(std::string_view(cell_of(listing, row, title)))) {
      sum += number->value();
    }
  }
  return sum;
}

// The longest wait of the queue, of those that wait.
std::string oldest_wait(const TopData& data) {
  std::optional<Instant> oldest;
  for (const views::ListRow& row : data.queue.rows) {
    const auto created = row.object.creation_time();
    if (row.traits.phase == "waiting" && created && (!oldest || *created < *oldest)) {
      oldest = created;
    }
  }
  return oldest ? fmt::format(", the longest for {}", format_age(data.now - *oldest)) : "";
}

views::Listing as_listing(const TopData& data) {
  views::Listing listing{.titles = {"WHAT", "STATE"}};
  for (const TopCard& card : overview_cards(data)) {
    listing.rows.push_back({.object = {}, .cells = {card.title, card.text}, .traits = {}});
  }
  for (const auto& [subject, text] : overview_problems(data)) {
    listing.rows.push_back({.object = {}, .cells = {"! " + subject, text}, .traits = {}});
  }
  return listing;
}

std::string padded(std::string text, std::size_t columns) {
  const std::size_t width = views::display_width(text);
  return width > columns ? views::cut_text(text, columns) : std::move(text);
}

std::string painted(std::string_view text, int code, bool colours) {
  return colours ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

// "[1 overview] 2 jobs 3 queue ...": the view in brackets is shown.
std::string title_line(const TopData& data, const TopState& state, std::size_t columns) {
  std::string line;
  for (std::size_t i = 0; i < kTopViews; ++i) {
    const bool shown = static_cast<std::size_t>(state.view) == i;
    const std::string_view name = kViews[i].first;
    line += fmt::format("{}{}{} {}{}", i == 0 ? "" : " ", shown ? "[" : "", i + 1, name,
                        shown ? "]" : "");
  }
  const std::string where =
      fmt::format("{}  {}", data.ns.empty() ? "all namespaces" : data.ns, format_time(data.now));
  const std::size_t used = views::display_width(line) + views::display_width(where);
  if (used + 2 <= columns) {
    return line + std::string(columns - used, ' ') + where;
  }
  return padded(line, columns);
}

std::string status_line(const TopState& state, std::size_t shown, std::size_t all,
                        std::size_t columns) {
  if (state.typing) {
    return padded(fmt::format("filter: {}_", state.filter_text), columns);
  }
  if (!state.error.empty()) {
    return padded("! " + state.error, columns);
  }
  std::string line =
      fmt::format("{}-{} of {}", shown == 0 ? 0 : state.first + 1, state.first + shown, all);
  if (!state.filter_text.empty()) {
    line += fmt::format("  filter: {}", state.filter_text);
  }
  return padded(line + "  q ends  / filters  ? helps", columns);
}

std::vector<std::string> help_lines() {
  return {"1-7 or o j u c s z a   a view: overview, jobs, queue, clusters, slices, zones,",
          "                       appwrappers",
          "up down pgup pgdn k    rows (k is up, n is down)",
          "/                      filter: words, or key:value with a column as key, as in",
          "                       phase:Failed owner:ann label:team=x age:<2h -cluster:c1",
          "escape                 no filter",
          "?                      this page",
          "q                      ends"};
}

std::string row_colour(const std::string& line, const views::ListRow& row, bool colours) {
  const std::string& phase = row.traits.phase;
  if (phase == "Failed" || (!row.cells.empty() && row.cells.front().starts_with("! "))) {
    return painted(line, 31, colours);
  }
  if (phase == "Succeeded") {
    return painted(line, 32, colours);
  }
  return phase == "Running" || phase == "running" ? painted(line, 34, colours) : line;
}

views::Listing filtered(const TopData& data, TopView view, const ViewFilter& filter) {
  views::Listing listing = listing_of(data, view);
  if (!filter.empty()) {
    const views::Listing titles{.titles = listing.titles, .rows = {}};
    std::erase_if(listing.rows,
                  [&](const views::ListRow& row) { return !filter.takes(titles, row, data.now); });
  }
  return listing;
}

std::string why_empty(const TopData& data, const TopState& state) {
  for (const auto& [view, why] : data.absent) {
    if (view == state.view) {
      return why;
    }
  }
  return state.filter.empty() ? fmt::format("no {}", view_name(state.view))
                              : "nothing that the filter takes";
}

}  // namespace

std::string_view view_name(TopView view) {
  return kViews[static_cast<std::size_t>(view)].first;
}

std::optional<TopView> find_view(std::string_view name) {
  for (std::size_t i = 0; i < kTopViews; ++i) {
    if (kViews[i].first == name) {
      return static_cast<TopView>(i);
    }
  }
  return std::nullopt;
}

std::optional<TopView> view_of_key(char key) {
  for (std::size_t i = 0; i < kTopViews; ++i) {
    if (key == kViews[i].second || key == static_cast<char>('1' + i)) {
      return static_cast<TopView>(i);
    }
  }
  return std::nullopt;
}

std::vector<TopCard> overview_cards(const TopData& data) {
  const auto waiting = std::ranges::count_if(
      data.queue.rows, [](const views::ListRow& row) { return row.traits.phase == "waiting"; });
  const auto running = static_cast<std::int64_t>(data.queue.rows.size()) - waiting;
  std::vector<TopCard> cards{
      {.title = "jobs", .text = counts_by_phase(data.jobs)},
      {.title = "queue",
       .text = fmt::format("{} hold{} quota, {} wait{}{}", running, running == 1 ? "s" : "",
                           waiting, waiting == 1 ? "s" : "", oldest_wait(data))},
      {.title = "clusters", .text = counts_by_phase(data.clusters, "unmanaged")}};
  if (!data.slices.rows.empty()) {
    cards.push_back({.title = "GPU slots and shares",
                     .text = fmt::format("{} of {} free on {} GPUs", sum_of(data.slices, "FREE"),
                                         sum_of(data.slices, "ALL"), data.slices.rows.size())});
  }
  if (!data.zones.rows.empty()) {
    cards.push_back(
        {.title = "NUMA zones", .text = fmt::format("{} zones", data.zones.rows.size())});
  }
  if (!data.appwrappers.rows.empty()) {
    cards.push_back({.title = "AppWrappers", .text = counts_by_phase(data.appwrappers)});
  }
  return cards;
}

std::vector<std::pair<std::string, std::string>> overview_problems(const TopData& data) {
  std::vector<std::pair<std::string, std::string>> problems;
  for (const views::ListRow& row : data.clusters.rows) {
    if (!row.traits.phase.empty() && row.traits.phase != "Valid" && row.traits.phase != "Locked") {
      problems.emplace_back(
          "cluster " + std::string(row.object.name()),
          fmt::format("is {}: athanor describe clusters/{}", row.traits.phase, row.object.name()));
    }
  }
  for (const views::ListRow& row : data.slices.rows) {
    if (cell_of(data.slices, row, "HEALTH") == "Unhealthy") {
      problems.emplace_back(fmt::format("GPU {} of {}", cell_of(data.slices, row, "GPU"),
                                        cell_of(data.slices, row, "NODE")),
                            "is unhealthy");
    }
  }
  for (const views::ListRow& row : data.jobs.rows) {
    if (row.traits.phase == "Failed") {
      problems.emplace_back("job " + std::string(row.object.name()),
                            fmt::format("{}: athanor logs {} --failed",
                                        cell_of(data.jobs, row, "MESSAGE"), row.object.name()));
    }
  }
  for (const views::ListRow& row : data.queue.rows) {
    const std::string why = cell_of(data.queue, row, "WHY");
    if (row.traits.phase == "waiting" && (why.find("fit in no ") != std::string::npos ||
                                          why.find("do not fit in ") != std::string::npos)) {
      problems.emplace_back("workload " + std::string(row.object.name()), why);
    }
  }
  return problems;
}

namespace {

// A quantity may be written as a number.
std::string zone_amount(const Value& written) {
  const auto quantity = Quantity::parse(written);
  return quantity ? quantity->text() : std::string("-");
}

}  // namespace

views::Listing zone_listing(const std::vector<Object>& topologies) {
  views::Listing listing{.titles = {"NODE", "ZONE", "FREE"}};
  for (const Object& topology : topologies) {
    for (const Value& zone : topology.body()["zones"].items()) {
      std::string amounts;
      for (const Value& resource : zone["resources"].items()) {
        amounts +=
            fmt::format("{}{} {}/{}", amounts.empty() ? "" : ", ", resource["name"].as_string(),
                        zone_amount(resource["available"]), zone_amount(resource["allocatable"]));
      }
      listing.rows.push_back({.object = topology,
                              .cells = {std::string(topology.name()), zone["name"].str(), amounts},
                              .traits = {}});
    }
  }
  return listing;
}

views::Listing appwrapper_states(const std::vector<Object>& apps, Instant now) {
  views::Listing listing{.titles = views::appwrapper_header(true)};
  for (const Object& app : apps) {
    listing.rows.push_back({.object = app,
                            .cells = views::appwrapper_row(
                                app, {.pods = {}, .settings = {}, .with_namespace = true}, now),
                            .traits = {.phase = app.status()["phase"].str(), .owner = {}}});
  }
  return listing;
}

views::Listing gpu_listing(const std::vector<Object>& nodes, const std::vector<Object>& claims) {
  views::Listing listing{.titles = das::gpu_header()};
  for (const das::GpuState& gpu : das::gpu_states(nodes, claims).gpus) {
    const auto node =
        std::ranges::find_if(nodes, [&](const Object& one) { return one.name() == gpu.node; });
    listing.rows.push_back(
        {.object = node == nodes.end() ? Object() : *node,
         .cells = das::gpu_row(gpu),
         .traits = {.phase = gpu.healthy ? "Healthy" : "Unhealthy", .owner = {}}});
  }
  return listing;
}

views::Listing listing_of(const TopData& data, TopView view) {
  switch (view) {
    case TopView::Overview:
      return as_listing(data);
    case TopView::Jobs:
      return data.jobs;
    case TopView::Queue:
      return data.queue;
    case TopView::Clusters:
      return data.clusters;
    case TopView::Slices:
      return data.slices;
    case TopView::Zones:
      return data.zones;
    case TopView::AppWrappers:
      return data.appwrappers;
  }
  return {};
}

Value top_value(const TopData& data, TopView view, const ViewFilter& filter) {
  if (view == TopView::Overview) {
    Value cards = Value::object();
    for (const TopCard& card : overview_cards(data)) {
      cards.set(card.title, card.text);
    }
    Value problems = Value::list();
    for (const auto& [subject, text] : overview_problems(data)) {
      problems.push_back(Value::object({{"subject", subject}, {"text", text}}));
    }
    return Value::object({{"view", view_name(view)},
                          {"cards", std::move(cards)},
                          {"problems", std::move(problems)}});
  }
  Value value = filtered(data, view, filter).to_value();
  value.set("view", view_name(view));
  return value;
}

std::size_t rows_of(const TopData& data, const TopState& state) {
  return filtered(data, state.view, state.filter).rows.size();
}

std::vector<std::string> top_screen(const TopData& data, const TopState& state,
                                    const TopSize& size) {
  constexpr std::size_t kFrame = 3;  // views, titles, keys
  const std::size_t lines = std::max<std::size_t>(size.lines, kFrame + 1);
  std::vector<std::string> screen{painted(title_line(data, state, size.columns), 1, size.colours)};
  const views::Listing listing = filtered(data, state.view, state.filter);
  std::size_t shown = 0;
  if (state.help) {
    for (const std::string& line : help_lines()) {
      screen.push_back(padded(line, size.columns));
    }
  } else if (listing.rows.empty()) {
    screen.push_back(padded(why_empty(data, state), size.columns));
  } else {
    views::Table table(listing.titles);
    for (const views::ListRow& row : listing.rows) {
      table.add(row.cells);
    }
    // All rows together have one layout: columns do not move when rows are scrolled.
    const std::string text = table.text(size.columns);
    std::size_t number = 0;
    for (std::size_t start = 0; start < text.size(); ++number) {
      const std::size_t end = text.find('\n', start);
      const std::string line = text.substr(start, end - start);
      start = end + 1;
      if (number == 0) {
        screen.push_back(painted(line, 90, size.colours));
      } else if (number > state.first && shown < lines - kFrame) {
        screen.push_back(row_colour(line, listing.rows[number - 1], size.colours));
        ++shown;
      }
    }
  }
  screen.resize(lines - 1);
  screen.push_back(
      painted(status_line(state, shown, listing.rows.size(), size.columns), 90, size.colours));
  return screen;
}

bool top_key(TopState& state, std::string_view key, std::size_t rows, std::size_t lines) {
  constexpr std::size_t kFrame = 3;
  const std::size_t page = lines > kFrame ? lines - kFrame : 1;
  const std::size_t last = rows > page ? rows - page : 0;
  const auto set_filter = [&] {
    auto parsed = ViewFilter::parse(state.filter_text);
    state.error = parsed.ok() ? "" : parsed.error().message;
    if (parsed.ok()) {
      state.filter = *std::move(parsed);
      state.first = 0;
    }
  };
  if (state.typing) {
    if (key == "enter") {
      state.typing = false;
      set_filter();
    } else if (key == "escape") {
      state.typing = false;
      state.filter_text.clear();
      set_filter();
    } else if (key == "backspace") {
      if (!state.filter_text.empty()) {
        state.filter_text.pop_back();
      }
    } else if (key.size() == 1) {
      state.filter_text += key;
    }
    return true;
  }
  if (key == "q" || key == "interrupt") {
    return false;
  }
  state.help = key == "?" && !state.help;
  if (key == "down" || key == "n") {
    state.first = std::min(state.first + 1, last);
  } else if (key == "up" || key == "k") {
    state.first -= std::min<std::size_t>(state.first, 1);
  } else if (key == "pagedown" || key == " ") {
    state.first = std::min(state.first + page, last);
  } else if (key == "pageup") {
    state.first -= std::min(state.first, page);
  } else if (key == "/") {
    state.typing = true;
  } else if (key == "escape") {
    state.filter_text.clear();
    set_filter();
  } else if (key.size() == 1) {
    if (const auto view = view_of_key(key.front())) {
      state.view = *view;
      state.first = 0;
    }
  }
  return true;
}

}  // namespace athanor::cli
