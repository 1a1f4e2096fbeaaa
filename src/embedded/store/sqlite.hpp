// SPDX-License-Identifier: Apache-2.0
// The few calls of SQLite that the journal needs, with errors as values. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace athanor::store {

// A prepared statement. Bound texts must live until the next step() returned.
class Statement {
 public:
  Statement();
  explicit Statement(sqlite3_stmt* statement);
  Statement(Statement&&) noexcept;
  Statement& operator=(Statement&&) noexcept;
  ~Statement();

  // Binds a value; one that cannot be bound is the error of the next step().
  void bind_text(int index, std::string_view text);
  void bind_blob(int index, std::string_view bytes);
  void bind_integer(int index, std::int64_t number);
  // Returns true: a row is there to be read; false: the statement is done and may be bound anew.
  Result<bool> step();
  void reset();
  // Columns of the current row; valid until the next step().
  [[nodiscard]] std::string_view bytes(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  // Returns how many columns rows have.
  [[nodiscard]] int columns() const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void keep(int code);

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int unbound_ = 0;  // the first failure of a bind since the last step()
};

// Path of a database that is in memory alone.
inline constexpr std::string_view kInMemory = ":memory:";

// An open database; closed by its destructor. Errors carry SQLite's message.
class Database {
 public:
  Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  // Makes the file when missing, readable by its owner alone. kInMemory: no file, the data last as
  // long as this.
  static Result<Database> open(const std::string& path);
  Result<void> execute(const std::string& sql);
  Result<Statement> prepare(std::string_view sql);
  // Ends the open transaction, if there is one, without its changes.
  void rollback();
  // Keeps `step` bytes of the log's file ready behind what is used, as zeros: a commit that does
  // not lengthen the file waits for one write of the disk instead of two. Best effort.
  void reserve_log(std::size_t step);
  // Keeps, at closing, the write-ahead log instead of moving it into the database, if `keep`.
  void keep_log(bool keep);
  // Leaves checkpoints to the caller and counts log_pages(). Without this call SQLite moves the log
  // into the database after each thousand pages.
  void take_over_checkpoints();
  enum class Checkpoint : std::uint8_t { Passive, Truncate };
  // Moves the write-ahead log into the database; a failure is left to the next one.
  void checkpoint(Checkpoint mode);
  // Returns the pages that the last commit left in the write-ahead log; 0 before
  // take_over_checkpoints().
  [[nodiscard]] int log_pages() const { return *log_pages_; }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<int> log_pages_ = std::make_unique<int>(0);  // its address is with SQLite
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace athanor::store
