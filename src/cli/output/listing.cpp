// SPDX-License-Identifier: Apache-2.0
#include "cli/output/listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/output/formats.hpp"
#include "cli/output/terminal.hpp"
#include "runtime/view/usage.hpp"
#include "views/listing.hpp"
#include "views/table.hpp"

namespace athanor::cli {

Result<void> arrange(views::Listing& listing, const ListFilter& filter,
                     const ListOptions& options) {
  std::erase_if(listing.rows,
                [&](const views::ListRow& row) { return !filter.takes(row.object, row.traits); });
  std::vector<SortRow> keys;
  keys.reserve(listing.rows.size());
  for (const views::ListRow& row : listing.rows) {
    keys.push_back({.object = &row.object.body(), .cells = &row.cells});
  }
  ATHANOR_TRY(const std::vector<std::size_t> order,
              sorted_rows(options.sort_by, listing.titles, keys));
  std::vector<views::ListRow> sorted;
  sorted.reserve(order.size());
  for (const std::size_t index : order) {
    if (options.limit > 0 && sorted.size() >= static_cast<std::size_t>(options.limit)) {
      break;
    }
    sorted.push_back(std::move(listing.rows[index]));
  }
  listing.rows = std::move(sorted);
  return {};
}

Result<std::string> print_listing(const views::Listing& listing, const ListOptions& options,
                                  std::size_t columns) {
  if (options.format.is_table()) {
    if (listing.rows.empty() && !options.names.empty()) {
      return std::string();  // none of the names is there: report_missing() says so
    }
    views::Table table(listing.titles);
    for (const views::ListRow& row : listing.rows) {
      table.add(row.cells);
    }
    return table.text({.columns = options.format.output == Output::Wide ? 0 : columns,
                       .no_headers = options.no_headers});
  }
  std::vector<Object> objects;
  objects.reserve(listing.rows.size());
  for (const views::ListRow& row : listing.rows) {
    objects.push_back(row.object);
  }
  const Shape shape = options.names.size() == 1 ? Shape::Single : Shape::List;
  return render_objects(objects, options.format, shape, options.no_headers);
}

bool shows_one(const ListOptions& options) {
  ListOptions others = options;
  others.names.clear();
  return options.names.size() == 1 && options.format.is_table() && !is_filtered(others) &&
         !options.watch && !options.no_headers && options.limit == 0 && options.sort_by.empty();
}

bool is_filtered(const ListOptions& options) {
  return !options.labels.empty() || !options.fields.empty() || !options.phases.empty() ||
         !options.owners.empty() || !options.since.empty() || !options.names.empty();
}

int report_missing(std::string_view what, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    fail(Error::not_found(fmt::format("{} \"{}\" not found", what, name)));
  }
  return names.empty() ? 0 : 1;
}

Result<void> check_watch(const ListOptions& options) {
  if (options.watch && (!options.sort_by.empty() || options.limit > 0)) {
    return wrong_usage(fmt::format("--watch prints changes as they come: it takes no {}",
                                   options.sort_by.empty() ? "--limit" : "--sort-by"));
  }
  return {};
}

}  // namespace athanor::cli
