// SPDX-License-Identifier: Apache-2.0
// Order, selection and printing of a listing by the flags of a list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/output/filter.hpp"
#include "cli/output/list_options.hpp"
#include "views/listing.hpp"

namespace athanor::cli {

// Removes the rows that the filter does not take, sorts and cuts them. Errors (wrong usage):
// --sort-by names no column.
Result<void> arrange(views::Listing& listing, const ListFilter& filter, const ListOptions& options);

// Prints an arranged listing in the format asked for. `columns`: of the terminal; 0: nothing is
// cut. Errors: see render_objects().
Result<std::string> print_listing(const views::Listing& listing, const ListOptions& options,
                                  std::size_t columns);

// Returns true if one object is named and no flag is given that a list alone can follow: it is
// shown with what belongs to it.
bool shows_one(const ListOptions& options);
// Returns true if flags keep objects out of the list.
bool is_filtered(const ListOptions& options);
// Prints an error for each name that does not exist; returns the exit code.
int report_missing(std::string_view what, const std::vector<std::string>& names);

// Checks --watch. Errors (wrong usage): it meets flags that need the whole list.
Result<void> check_watch(const ListOptions& options);

}  // namespace athanor::cli
