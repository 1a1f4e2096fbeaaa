// SPDX-License-Identifier: Apache-2.0
// The history in tables of a database, with the statements that SQLite and PostgreSQL share.
// Tables `jobs` and `job_events` are those of fournos-ui (docs/spec/dashboard.md A9): one row for
// each name. What they have no place for is in tables with the prefix athanor_: one row for each
// uid.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "console/history/history.hpp"

namespace athanor::console {

// Values of parameters; nullopt: null.
using SqlValues = std::vector<std::optional<std::string>>;
// Rows of columns; null is an empty text.
using SqlRows = std::vector<std::vector<std::string>>;

// A database. One thread at a time.
class SqlDatabase {
 public:
  virtual ~SqlDatabase() = default;
  // Returns "sqlite" or "postgresql".
  [[nodiscard]] virtual std::string name() const = 0;
  // Runs a statement with parameters $1, $2 and so on, numbered in the order in which they first
  // appear. Errors: 422 where the database refuses these values for ever; others may pass.
  virtual Result<SqlRows> run(std::string_view sql, const SqlValues& values) = 0;
};

// Makes a store of a database that has the tables, or makes them. Rows of `jobs` are of `jobs_ns`.
std::unique_ptr<HistoryStore> make_sql_history(std::unique_ptr<SqlDatabase> database,
                                               std::string jobs_ns);

}  // namespace athanor::console
