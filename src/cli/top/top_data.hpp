// SPDX-License-Identifier: Apache-2.0
// Reads what the live screen shows.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/session/session.hpp"
#include "cli/top/top_view.hpp"

namespace athanor::cli {

// Namespaces of what is read.
struct TopPlaces {
  std::string jobs{};      // empty: all
  std::string clusters{};  // of the FournosClusters
};

// Reads the kinds of one view; the overview takes all. A kind that is missing or may not be read is
// named in `absent`. Errors: the API server does not answer.
Result<TopData> read_top(Session& session, const TopPlaces& places, TopView view, Instant now);

}  // namespace athanor::cli
