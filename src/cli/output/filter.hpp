// SPDX-License-Identifier: Apache-2.0
// ListFilter: which objects a list shows. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "cli/output/list_options.hpp"
#include "kube/names/selector.hpp"
#include "kube/value/object.hpp"
#include "views/listing.hpp"

namespace athanor::cli {

// Immutable after parse().
class ListFilter {
 public:
  // Parses the filter flags. Errors (wrong usage) name the flag and the part of its value that is
  // wrong. `phases`: the phases of the list; empty: any text.
  static Result<ListFilter> parse(const ListOptions& options,
                                  const std::vector<std::string>& phases, Instant now);

  [[nodiscard]] bool takes(const Object& object, const views::Traits& traits) const;
  // Returns the names that were asked for and that no object of `objects` has.
  [[nodiscard]] std::vector<std::string> missing(const std::vector<Object>& objects) const;

 private:
  std::vector<std::string> names_{};
  LabelSelector labels_{};
  std::vector<FieldRequirement> fields_{};
  std::vector<std::string> phases_{};
  std::vector<std::string> owners_{};
  std::optional<Instant> since_{};
};

// Reads a length of time: "90s", "1h30m", "2d3h"; nullopt: it is none, or longer than 36500 days.
std::optional<Duration> parse_length(std::string_view text);
// Reads a length of time ("90s", "1h30m", "2d") before `now`, or an RFC 3339 time.
std::optional<Instant> parse_since(std::string_view text, Instant now);

// Sorts by a column title or a JSONPath (".metadata.name"). `cells` of each row are in the order of
// `titles`. Returns the new order of the rows. Errors (wrong usage): neither a title nor a path.
struct SortRow {
  const Value* object = nullptr;  // nullptr: no object, the row has cells alone
  const std::vector<std::string>* cells = nullptr;
};
Result<std::vector<std::size_t>> sorted_rows(const std::string& sort_by,
                                             const std::vector<std::string>& titles,
                                             const std::vector<SortRow>& rows);

}  // namespace athanor::cli
