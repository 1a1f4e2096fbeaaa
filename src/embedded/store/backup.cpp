// SPDX-License-Identifier: Apache-2.0
// Backups: a copy by SQL under one read transaction, completed under another name, then renamed.
#include "embedded/store/backup.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/files/folder.hpp"
#include "base/files/text_file.hpp"
#include "embedded/store/data_dir.hpp"
#include "embedded/store/rows.hpp"
#include "embedded/store/sqlite.hpp"

namespace athanor::store {
namespace {

namespace fs = std::filesystem;

Error backup_error(const std::string& path) {
  return Error::internal(path + ": " + std::generic_category().message(errno));
}

Error no_backup(const std::string& file, const std::string& why) {
  return {.code = 500, .reason = "DataCorrupted", .message = file + ": no complete backup: " + why};
}

// As a text of SQL.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    result += c;
    if (c == '\'') {
      result += c;
    }
  }
  return result + "'";
}

Result<void> sync_path(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return backup_error(path);
  }
  const bool synced = ::fsync(file) == 0;
  ::close(file);
  return synced ? Result<void>() : backup_error(path);
}

Result<void> move_into_place(const std::string& from, const std::string& to) {
  ATHANOR_TRY_VOID(sync_path(from));
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    return backup_error(to);
  }
  const fs::path folder = fs::path(to).parent_path();
  return sync_path(folder.empty() ? "." : folder.string());
}

// The small files of a data directory, relative to it.
std::vector<std::string> small_files(const std::string& data) {
  std::vector<std::string> names;
  std::error_code none;
  for (const std::string& name : names_in_folder(data + "/pki")) {
    if (fs::is_regular_file(fs::path(data) / "pki" / name, none)) {
      names.push_back("pki/" + name);
    }
  }
  if (fs::exists(data + "/tokens.csv", none)) {
    names.emplace_back("tokens.csv");
  }
  return names;
}

Result<void> write_private(const std::string& path, std::string_view content) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) {
    return backup_error(path);
  }
  bool written = true;
  while (written && !content.empty()) {
    const ssize_t size = ::write(file, content.data(), content.size());
    written = size > 0;
    content.remove_prefix(written ? static_cast<std::size_t>(size) : 0);
  }
  written = written && ::fsync(file) == 0;
  ::close(file);
  return written ? Result<void>() : backup_error(path);
}

Result<void> copy_objects(Database& source, const std::string& target) {
  ATHANOR_TRY_VOID(source.execute("ATTACH " + quoted(target) + " AS copy"));
  return source.execute(
      "BEGIN;"
      "CREATE TABLE copy.object(key TEXT PRIMARY KEY NOT NULL, rv INTEGER NOT NULL,"
      " sum INTEGER NOT NULL, body BLOB NOT NULL);"
      "INSERT INTO copy.object SELECT key, rv, sum, body FROM main.object ORDER BY key;"
      "CREATE TABLE copy.meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
      "INSERT INTO copy.meta SELECT name, value FROM main.meta WHERE name IN ('format', 'rv');"
      "CREATE TABLE copy.file(path TEXT PRIMARY KEY NOT NULL, content BLOB NOT NULL);"
      "COMMIT;"
      "DETACH copy");
}

Result<void> copy_files(const std::string& data, const std::string& target) {
  ATHANOR_TRY(Database copy, Database::open(target));
  ATHANOR_TRY_VOID(copy.execute("BEGIN"));
  ATHANOR_TRY(auto put, copy.prepare("INSERT INTO file(path, content) VALUES(?1, ?2)"));
  for (const std::string& name : small_files(data)) {
    ATHANOR_TRY(const std::string content, read_whole_file(fmt::format("{}/{}", data, name)));
    put.bind_text(1, name);
    put.bind_blob(2, content);
    ATHANOR_TRY([[maybe_unused]] const bool row, put.step());
  }
  // Last: a file without it is not complete.
  ATHANOR_TRY_VOID(copy.execute("INSERT INTO meta(name, value) VALUES('backup', 1)"));
  return copy.execute("COMMIT");
}

Result<void> check_backup(Database& copy, const std::string& file) {
  auto marks = copy.prepare("SELECT value FROM meta WHERE name = 'backup'");
  if (!marks.ok()) {
    return no_backup(file, marks.error().message);
  }
  ATHANOR_TRY(const bool complete, marks->step());
  if (!complete) {
    return no_backup(file, "its end is missing");
  }
  ATHANOR_TRY(auto rows, copy.prepare("SELECT key, rv, sum, body FROM object"));
  while (true) {
    ATHANOR_TRY(const bool more, rows.step());
    if (!more) {
      return {};
    }
    const auto object = read_row(rows.bytes(0), static_cast<Revision>(rows.integer(1)),
                                 rows.integer(2), rows.bytes(3));
    if (!object.ok()) {
      return no_backup(file, std::string(rows.bytes(0)) + ": " + object.error().message);
    }
  }
}

Result<void> unpack_files(Database& copy, const std::string& data) {
  ATHANOR_TRY(auto files, copy.prepare("SELECT path, content FROM file"));
  while (true) {
    ATHANOR_TRY(const bool more, files.step());
    if (!more) {
      return {};
    }
    const std::string name(files.bytes(0));
    const bool in_pki = name.starts_with("pki/") && name.find('/', 4) == std::string::npos;
    if ((!in_pki && name != "tokens.csv") || name.find("..") != std::string::npos) {
      return no_backup(data, name + " does not belong into a data directory");
    }
    ATHANOR_TRY_VOID(write_private(fmt::format("{}/{}", data, name), files.bytes(1)));
  }
}

}  // namespace

Result<void> backup(const std::string& data, const std::string& file) {
  const std::string database = data + "/store.db";
  if (::access(database.c_str(), R_OK) != 0) {
    return Error::not_found(data + " holds no store");
  }
  const std::string part = file + ".part";
  ::unlink(part.c_str());
  ATHANOR_TRY_VOID(write_private(part, {}));
  {
    ATHANOR_TRY(Database source, Database::open(database));
    ATHANOR_TRY_VOID(copy_objects(source, part));
  }
  ATHANOR_TRY_VOID(copy_files(data, part));
  return move_into_place(part, file);
}

Result<void> restore(const std::string& file, const std::string& data) {
  if (::access(file.c_str(), R_OK) != 0) {
    return Error::not_found(file + ": " + std::generic_category().message(errno));
  }
  ATHANOR_TRY(const DataDirectory directory, DataDirectory::open(data));
  if (::access(directory.database().c_str(), F_OK) == 0) {
    return Error{.code = 409,
                 .reason = "AlreadyExists",
                 .message = data + " already holds a store; choose another directory"};
  }
  const std::string part = directory.database() + ".part";
  ATHANOR_TRY(const std::string content, read_whole_file(file));
  ATHANOR_TRY_VOID(write_private(part, content));
  if (::mkdir(directory.pki().c_str(), 0700) != 0 && errno != EEXIST) {
    return backup_error(directory.pki());
  }
  {
    ATHANOR_TRY(Database copy, Database::open(part));
    ATHANOR_TRY_VOID(check_backup(copy, file));
    ATHANOR_TRY_VOID(unpack_files(copy, directory.path()));
    ATHANOR_TRY_VOID(copy.execute("DROP TABLE file; DELETE FROM meta WHERE name = 'backup'"));
  }
  // The mark of a store that was here before would refuse this one.
  if (::unlink(directory.mark().c_str()) != 0 && errno != ENOENT) {
    return backup_error(directory.mark());
  }
  return move_into_place(part, directory.database());
}

}  // namespace athanor::store
