// SPDX-License-Identifier: Apache-2.0
// Rows by their checksums, names by the index; PATH.part, then PATH.salvaged, then the exchange.
#include "embedded/store/salvage.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "base/log.hpp"
#include "embedded/store/damaged_pages.hpp"
#include "embedded/store/rows.hpp"
#include "embedded/store/sqlite.hpp"

namespace athanor::store {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSalvagedFormat = 2;
constexpr std::size_t kMostNames = 1000;  // in the log; more are counted

struct Row {
  std::int64_t revision = 0;
  std::int64_t sum = 0;
  std::string body{};
  bool doubtful = false;
};

struct Found {
  std::map<std::string, Row> rows{};
  std::set<std::string> unsound{};  // keys of rows whose checksum does not fit
  std::set<std::string> indexed{};  // keys of the index
  std::set<std::string> maybe_indexed{};
  bool index_broken = false;
  std::int64_t revision = 0;  // that the database had noted
};

bool is_key(const std::string& text) {
  return std::ranges::count(text, '/') >= 2;
}

void take_row(const Record& record, bool doubtful, Found& found) {
  if (record.size() != 4 || !record[0].bytes || !is_key(*record[0].bytes) || !record[1].integer) {
    return;
  }
  const std::string& key = *record[0].bytes;
  Row row{.revision = *record[1].integer,
          .sum = record[2].integer.value_or(0),
          .body = record[3].bytes.value_or(""),
          .doubtful = doubtful};
  if (!read_row(key, static_cast<Revision>(row.revision), row.sum, row.body).ok()) {
    found.unsound.insert(key);
    return;
  }
  const auto known = found.rows.find(key);
  if (known == found.rows.end()) {
    found.rows.emplace(key, std::move(row));
  } else if (std::pair(!row.doubtful, row.revision) >
             std::pair(!known->second.doubtful, known->second.revision)) {
    known->second = std::move(row);
  }
}

void take_index_entry(const Record& record, bool doubtful, Found& found) {
  if (record.size() < 2 || !record[0].bytes) {
    return;
  }
  const std::string& text = *record[0].bytes;
  if (is_key(text)) {
    (doubtful ? found.maybe_indexed : found.indexed).insert(text);
  } else if (text == "rv" && record[1].integer) {
    found.revision = std::max(found.revision, *record[1].integer);
  }
}

Found read_all_pages(const DamagedPages& pages) {
  Found found;
  for (std::size_t number = 1; number <= pages.count(); ++number) {
    const PageRecords page = pages.records(number);
    const bool index = page.kind == PageRecords::Kind::Index;
    found.index_broken = found.index_broken || (index && (page.broken || page.doubtful));
    for (const Record& record : page.records) {
      if (index) {
        take_index_entry(record, page.doubtful, found);
      } else if (page.kind == PageRecords::Kind::Table) {
        take_row(record, page.doubtful, found);
      }
    }
  }
  return found;
}

// A row in doubt may be one that was deleted: then the index does not have its key.
void drop_deleted(Found& found) {
  const bool no_index = found.indexed.empty() && found.maybe_indexed.empty();
  std::erase_if(found.rows, [&](const auto& entry) {
    const auto& [key, row] = entry;
    return row.doubtful && !no_index && !found.indexed.contains(key) &&
           !found.maybe_indexed.contains(key);
  });
}

Salvaged summary_of(const Found& found, const DamagedPages& pages) {
  Salvaged salvaged{.rows = found.rows.size(), .unreadable_pages = pages.unreadable()};
  std::set<std::string> known = found.indexed;
  known.insert(found.unsound.begin(), found.unsound.end());
  for (const std::string& key : known) {
    if (!found.rows.contains(key)) {
      salvaged.lost.push_back(key);
    }
  }
  for (const auto& [key, row] : found.rows) {
    if (row.doubtful || found.unsound.contains(key)) {
      salvaged.doubtful.push_back(key);
    }
  }
  return salvaged;
}

Error salvage_error(const std::string& path) {
  return Error::internal(path + ": " + std::generic_category().message(errno));
}

Result<void> sync_salvaged(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return salvage_error(path);
  }
  const bool synced = ::fsync(file) == 0;
  ::close(file);
  return synced ? Result<void>() : salvage_error(path);
}

Result<void> sync_folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return sync_salvaged(folder.empty() ? "." : folder.string());
}

Result<void> write_rows(const std::string& path, const Found& found) {
  ATHANOR_TRY(Database database, Database::open(path));
  ATHANOR_TRY_VOID(
      database.execute("CREATE TABLE object(key TEXT PRIMARY KEY NOT NULL, rv INTEGER NOT NULL,"
                       " sum INTEGER NOT NULL, body BLOB NOT NULL);"
                       "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID; BEGIN"));
  {
    ATHANOR_TRY(auto put, database.prepare("INSERT INTO object(key, rv, sum, body)"
                                           " VALUES(?1, ?2, ?3, ?4)"));
    for (const auto& [key, row] : found.rows) {
      put.bind_text(1, key);
      put.bind_integer(2, row.revision);
      put.bind_integer(3, row.sum);
      put.bind_blob(4, row.body);
      ATHANOR_TRY([[maybe_unused]] const bool more, put.step());
    }
  }
  // Not closed cleanly: revisions go on above a gap.
  return database.execute(
      fmt::format("INSERT INTO meta VALUES('format', {}), ('rv', {}),"
                  " ('clean', 0); COMMIT",
                  kSalvagedFormat, found.revision));
}

Result<void> move(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT) {
    return salvage_error(to);
  }
  return {};
}

// A name beside the database that nothing has yet.
std::string free_name(const std::string& database) {
  std::error_code none;
  std::string name = database + ".damaged";
  for (int i = 2; fs::exists(name, none) || fs::exists(name + "-wal", none); ++i) {
    name = fmt::format("{}.damaged-{}", database, i);
  }
  return name;
}

// The log goes before the database comes: over another database it would be applied.
Result<std::string> exchange(const std::string& database) {
  const std::string kept = free_name(database);
  std::error_code none;
  if (fs::exists(database, none) && ::link(database.c_str(), kept.c_str()) != 0) {
    return salvage_error(kept);
  }
  ATHANOR_TRY_VOID(move(database + "-wal", kept + "-wal"));
  static_cast<void>(::unlink((database + "-shm").c_str()));
  ATHANOR_TRY_VOID(move(database + ".salvaged", database));
  ATHANOR_TRY_VOID(sync_folder_of(database));
  return kept;
}

}  // namespace

Result<Salvaged> salvage(const std::string& database) {
  Salvaged salvaged;
  const std::string complete = database + ".salvaged";
  std::error_code none;
  if (!fs::exists(complete, none)) {  // else a salvage was cut off before its end
    const std::string part = database + ".part";
    for (const char* end : {"", "-journal", "-wal", "-shm"}) {
      static_cast<void>(::unlink((part + end).c_str()));
    }
    const DamagedPages pages(database);
    Found found = read_all_pages(pages);
    drop_deleted(found);
    salvaged = summary_of(found, pages);
    ATHANOR_TRY_VOID(write_rows(part, found));
    ATHANOR_TRY_VOID(sync_salvaged(part));
    ATHANOR_TRY_VOID(move(part, complete));
    ATHANOR_TRY_VOID(sync_folder_of(database));
  }
  ATHANOR_TRY(salvaged.kept, exchange(database));
  return salvaged;
}

void tell(const Salvaged& salvaged, const std::string& database) {
  const auto name_all = [](std::string_view what, const std::vector<std::string>& keys) {
    for (std::size_t i = 0; i < std::min(keys.size(), kMostNames); ++i) {
      log::warn(what, {{"key", keys[i]}});
    }
    if (keys.size() > kMostNames) {
      log::warn(what, {{"more", static_cast<std::uint64_t>(keys.size() - kMostNames)}});
    }
  };
  name_all("a damaged object is lost", salvaged.lost);
  name_all("an object may be older than it was", salvaged.doubtful);
  log::warn("the damaged store was salvaged into a new one",
            {{"file", database},
             {"objects", static_cast<std::uint64_t>(salvaged.rows)},
             {"lost", static_cast<std::uint64_t>(salvaged.lost.size())},
             {"doubtful", static_cast<std::uint64_t>(salvaged.doubtful.size())},
             {"unreadable_pages", static_cast<std::uint64_t>(salvaged.unreadable_pages)},
             {"damaged_files", salvaged.kept}});
}

}  // namespace athanor::store
