// SPDX-License-Identifier: Apache-2.0
// SQLite behind two small classes.
#include "embedded/store/sqlite.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace athanor::store {
namespace {

// How long the few moments may last in which another process (a backup) has the file to itself.
constexpr int kBusyMilliseconds = 5000;
// Of one statement's text; our longest has some hundred bytes.
constexpr std::size_t kMostSql = std::size_t{1} << 20U;

Error error_of(sqlite3* database) {
  const int code = sqlite3_extended_errcode(database);
  std::string message = sqlite3_errmsg(database);
  const int system_error = sqlite3_system_errno(database);
  if ((code & 0xff) == SQLITE_IOERR && system_error != 0) {
    message += std::string(": ") + std::generic_category().message(system_error);
  }
  if ((code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB) {
    return {.code = 500, .reason = "DataCorrupted", .message = std::move(message)};
  }
  return Error::internal(std::move(message));
}

int remember_log_pages(void* pages, sqlite3* /*database*/, const char* /*name*/, int count) {
  *static_cast<int*>(pages) = count;
  return SQLITE_OK;
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}
Statement::Statement() = default;
Statement::Statement(sqlite3_stmt* statement) : statement_(statement) {}
Statement::Statement(Statement&&) noexcept = default;
Statement& Statement::operator=(Statement&&) noexcept = default;
Statement::~Statement() = default;

// SQLite binds NULL for a text or blob whose address is null, also when it has no bytes.
void Statement::bind_text(int index, std::string_view text) {
  keep(sqlite3_bind_text64(statement_.get(), index, text.data() == nullptr ? "" : text.data(),
                           text.size(), SQLITE_STATIC, SQLITE_UTF8));
}
void Statement::bind_blob(int index, std::string_view bytes) {
  keep(sqlite3_bind_blob64(statement_.get(), index, bytes.data() == nullptr ? "" : bytes.data(),
                           bytes.size(), SQLITE_STATIC));
}
void Statement::bind_integer(int index, std::int64_t number) {
  keep(sqlite3_bind_int64(statement_.get(), index, number));
}

void Statement::keep(int code) {
  if (unbound_ == SQLITE_OK) {
    unbound_ = code;
  }
}

Result<bool> Statement::step() {
  if (const int unbound = std::exchange(unbound_, SQLITE_OK); unbound != SQLITE_OK) {
    return Error::internal(std::string("cannot bind a parameter: ") + sqlite3_errstr(unbound));
  }
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return false;
  }
  Error error = error_of(sqlite3_db_handle(statement_.get()));
  sqlite3_reset(statement_.get());
  return error;
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr
             ? std::string_view()
             : std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size));
}
std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
int Statement::columns() const {
  return sqlite3_column_count(statement_.get());
}

void Database::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}
Database::Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Result<Database> Database::open(const std::string& path) {
  // SQLite gives its other files the mode of this one.
  if (path != kInMemory) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) {
      return Error::internal(path + ": " + std::generic_category().message(errno));
    }
    ::close(file);
  }
  Database opened;
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  opened.database_.reset(raw);
  if (code != SQLITE_OK) {
    return Error::internal(path + ": " + sqlite3_errstr(code));
  }
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  return opened;
}

void Database::take_over_checkpoints() {
  sqlite3_wal_hook(database_.get(), remember_log_pages, log_pages_.get());
}

Result<void> Database::execute(const std::string& sql) {
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return error_of(database_.get());
  }
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sql.data() == nullptr || sql.size() > kMostSql) {
    return Error::internal("no statement of SQL");
  }
  if (sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    return error_of(database_.get());
  }
  return Statement(statement);
}

void Database::rollback() {
  if (sqlite3_get_autocommit(database_.get()) == 0) {
    sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

void Database::keep_log(bool keep) {
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0, nullptr);
}

void Database::checkpoint(Checkpoint mode) {
  const int how =
      mode == Checkpoint::Passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE;
  if (sqlite3_wal_checkpoint_v2(database_.get(), nullptr, how, nullptr, nullptr) == SQLITE_OK &&
      mode == Checkpoint::Truncate) {
    *log_pages_ = 0;
  }
}

void Database::reserve_log(std::size_t step) {
  constexpr sqlite3_int64 kFrame = 4096 + 24;  // a page and its header
  static constexpr std::array<char, std::size_t{64} * 1024> kZeros{};
  sqlite3_file* log = nullptr;
  sqlite3_int64 size = 0;
  if (sqlite3_file_control(database_.get(), nullptr, SQLITE_FCNTL_JOURNAL_POINTER,
                           static_cast<void*>(&log)) != SQLITE_OK ||
      log == nullptr || log->pMethods == nullptr ||
      log->pMethods->xFileSize(log, &size) != SQLITE_OK ||
      *log_pages_ * kFrame + static_cast<sqlite3_int64>(step / 4) < size) {
    return;
  }
  for (const auto end = size + static_cast<sqlite3_int64>(step); size < end;
       size += static_cast<sqlite3_int64>(kZeros.size())) {
    if (log->pMethods->xWrite(log, kZeros.data(), static_cast<int>(kZeros.size()), size) !=
        SQLITE_OK) {
      return;  // the commits will fail, too
    }
  }
}

}  // namespace athanor::store
