// SPDX-License-Identifier: Apache-2.0
// Views of the live screen as data, and one screen of text made from them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "cli/top/view_filter.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "views/listing.hpp"

namespace athanor::cli {

// The views, in the order of their keys.
enum class TopView : std::uint8_t { Overview, Jobs, Queue, Clusters, Slices, Zones, AppWrappers };
inline constexpr std::size_t kTopViews = 7;
// Returns "overview", "jobs" and so on.
std::string_view view_name(TopView view);
// Returns the view of this name; nullopt: there is none.
std::optional<TopView> find_view(std::string_view name);
// Returns the view of a key: "1" to "7", or its letter; nullopt: another key.
std::optional<TopView> view_of_key(char key);

// Result of one refresh. Kinds that the cluster lacks, or that may not be read, are named.
struct TopData {
  Instant now{};
  std::string ns{};  // empty: all namespaces
  views::Listing jobs{};
  views::Listing queue{};
  views::Listing clusters{};
  views::Listing slices{};
  views::Listing zones{};
  views::Listing appwrappers{};
  std::vector<std::pair<TopView, std::string>> absent{};  // why a view is empty
};

// The facts of the overview: a card each, "jobs": "3 Running, 1 Failed".
struct TopCard {
  std::string title{};
  std::string text{};
};
std::vector<TopCard> overview_cards(const TopData& data);
// Returns what is wrong, the worst first: a subject and what to do.
std::vector<std::pair<std::string, std::string>> overview_problems(const TopData& data);

// Returns a table of NUMA zones: node, zone, and of each resource what is free.
views::Listing zone_listing(const std::vector<Object>& topologies);
// Returns a table of AppWrappers.
views::Listing appwrapper_states(const std::vector<Object>& apps, Instant now);
// Returns a table of GPUs with their slots and shares.
views::Listing gpu_listing(const std::vector<Object>& nodes, const std::vector<Object>& claims);

// Returns the rows of one view; the overview is its cards and problems.
views::Listing listing_of(const TopData& data, TopView view);
// Returns JSON: {view, columns, rows}; of the overview {view, cards, problems}.
Value top_value(const TopData& data, TopView view, const ViewFilter& filter);

// Choices of the user.
struct TopState {
  TopView view = TopView::Overview;
  ViewFilter filter{};
  std::string filter_text{};
  bool typing = false;    // the filter is being typed
  std::string error{};    // of the filter, or of the last refresh
  std::size_t first = 0;  // the row at the top
  bool help = false;
};

// The size of the screen and whether it may have colours.
struct TopSize {
  std::size_t columns = 80;
  std::size_t lines = 24;
  bool colours = false;
};

// Returns exactly `lines` lines of at most `columns` places: a line of views, the rows, a line of
// keys.
std::vector<std::string> top_screen(const TopData& data, const TopState& state,
                                    const TopSize& size);
// Changes the state by one key: a letter, or "up", "down", "pageup", "pagedown", "enter", "escape",
// "backspace". Returns false where it ends the program.
bool top_key(TopState& state, std::string_view key, std::size_t rows, std::size_t lines);
// Returns the number of rows that the state's view has.
std::size_t rows_of(const TopData& data, const TopState& state);

}  // namespace athanor::cli
