// SPDX-License-Identifier: Apache-2.0
#include "embedded/store/store_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "embedded/store/rows.hpp"

namespace athanor::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNames[] = {"object", "history", "meta", "sqlite_autoindex_object_1"};

Error corrupted(const std::string& path, std::string_view what) {
  return {
      .code = 500,
      .reason = "DataCorrupted",
      .message = fmt::format("{}: {}; athanor up --repair salvages what is readable", path, what)};
}

Result<std::int64_t> one_number(Database& database, std::string_view sql) {
  ATHANOR_TRY(auto statement, database.prepare(sql));
  ATHANOR_TRY(const bool found, statement.step());
  return found ? statement.integer(0) : std::int64_t{0};
}

std::size_t size_of(const std::string& path) {
  std::error_code none;
  const auto size = fs::file_size(path, none);
  return none ? 0 : static_cast<std::size_t>(size);
}

// The newest revision of the rows; an error when one is damaged.
Result<Revision> check_rows(Database& database, const std::string& path) {
  Revision newest = 0;
  std::size_t count = 0;
  ATHANOR_TRY(auto rows, database.prepare("SELECT key, rv, sum, body FROM object"));
  while (true) {
    ATHANOR_TRY(const bool more, rows.step());
    if (!more) {
      break;
    }
    const auto revision = static_cast<Revision>(rows.integer(1));
    const auto object = read_row(rows.bytes(0), revision, rows.integer(2), rows.bytes(3));
    if (!object.ok()) {
      return corrupted(path, fmt::format("{}: {}", rows.bytes(0), object.error().message));
    }
    newest = std::max(newest, revision);
    ++count;
  }
  ATHANOR_TRY_VOID(check_count(database, path, count));
  return newest;
}

}  // namespace

Result<void> check_tables(Database& database, const std::string& path) {
  ATHANOR_TRY(const std::int64_t pages, one_number(database, "PRAGMA page_count"));
  ATHANOR_TRY(auto names, database.prepare("SELECT name FROM sqlite_master"));
  bool objects = false;
  while (true) {
    ATHANOR_TRY(const bool more, names.step());
    if (!more) {
      break;
    }
    const std::string_view name = names.bytes(0);
    if (std::ranges::find(kNames, name) == std::end(kNames)) {
      return corrupted(path, "its list of tables is damaged");
    }
    objects = objects || name == "object";
  }
  // The first start may have been cut off behind its first page.
  return objects || pages <= 1 ? Result<void>()
                               : Result<void>(corrupted(path, "its list of tables is damaged"));
}

Result<void> check_count(Database& database, const std::string& path, std::size_t rows) {
  ATHANOR_TRY(
      const std::int64_t entries,
      one_number(database, "SELECT count(*) FROM object INDEXED BY sqlite_autoindex_object_1"));
  if (entries == static_cast<std::int64_t>(rows)) {
    return {};
  }
  return corrupted(path,
                   fmt::format("its index knows {} objects, its table has {}", entries, rows));
}

Result<void> check_whole(const std::string& path, std::optional<Revision> acknowledged) {
  std::error_code none;
  if (fs::exists(path + ".salvaged", none)) {
    return corrupted(path, "a salvage was cut off before its end");
  }
  const bool empty = size_of(path) == 0;
  if (empty) {
    return size_of(path + "-wal") == 0 ? Result<void>()
                                       : Result<void>(corrupted(path, "it was emptied"));
  }
  ATHANOR_TRY(Database database, Database::open(path));
  database.keep_log(true);
  ATHANOR_TRY_VOID(check_tables(database, path));
  ATHANOR_TRY(auto tables, database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'object'"));
  ATHANOR_TRY(const bool has_objects, tables.step());
  tables = {};
  if (!has_objects) {
    return {};
  }
  ATHANOR_TRY(Revision newest, check_rows(database, path));
  ATHANOR_TRY(const std::int64_t noted,
              one_number(database, "SELECT value FROM meta WHERE name = 'rv'"));
  newest = std::max(newest, static_cast<Revision>(noted));
  ATHANOR_TRY(auto check, database.prepare("PRAGMA integrity_check(1)"));
  ATHANOR_TRY([[maybe_unused]] const bool answered, check.step());
  if (check.bytes(0) != "ok") {
    return corrupted(path, check.bytes(0));
  }
  if (acknowledged && newest < *acknowledged && size_of(path + "-wal") > 0) {
    return corrupted(path, "its write-ahead log is damaged");
  }
  return {};
}

}  // namespace athanor::store
