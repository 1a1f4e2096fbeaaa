// SPDX-License-Identifier: Apache-2.0
// Tables: the rows of all lists at one moment, made from the caches once for all viewers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "console/data/job_rows.hpp"
#include "console/model/row_table.hpp"
#include "console/model/settings.hpp"
#include "console/world/world.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

using Rows = std::vector<Value>;

// Immutable once made; shared between threads.
struct Tables {
  std::shared_ptr<const Facts> facts{};
  JobSurroundings surroundings{};                    // refers to `facts`
  std::shared_ptr<const Rows> archived{};            // jobs of the history
  std::map<std::string, Rows, std::less<>> lists{};  // by topic
  Value queue{};
  Value slices{};  // slice_map()
  Value zones{};   // zone_map(): pages ask zones_at()
  std::uint64_t version = 0;

  // Returns the rows of a topic; none of an unknown one.
  [[nodiscard]] const Rows& list(std::string_view topic) const;
};

// Topics of the stream with rows of their own.
inline constexpr std::string_view kRowTopics[] = {"jobs",  "workloads", "clusters", "appwrappers",
                                                  "nodes", "schedules", "mig",      "numa"};
// Topics whose messages only say that something changed.
inline constexpr std::string_view kHintTopics[] = {"queue", "locks", "problems"};
bool is_topic(std::string_view name);

// Makes all tables. Jobs of the history whose uid is live are left out.
std::shared_ptr<const Tables> make_tables(std::shared_ptr<const Facts> facts,
                                          std::shared_ptr<const Rows> archived,
                                          const Settings& settings, Instant now);

// Returns what identifies a row: namespace and name, for maps the node, for archived jobs the uid.
std::string row_key(const Value& row);

}  // namespace athanor::console
