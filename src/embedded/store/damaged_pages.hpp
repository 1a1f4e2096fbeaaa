// SPDX-License-Identifier: Apache-2.0
// The pages of a SQLite database that SQLite itself may refuse: the file with the frames of its
// write-ahead log over it, read as bytes. What is in doubt is said, page by page; nothing is
// written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::store {

// A value of a record; other columns (NULL, numbers with a fraction) have neither.
struct RecordColumn {
  std::optional<std::int64_t> integer{};
  std::optional<std::string> bytes{};  // TEXT and BLOB
};
using Record = std::vector<RecordColumn>;

// What one page holds.
struct PageRecords {
  enum class Kind : std::uint8_t { Other, Table, Index };
  Kind kind = Kind::Other;
  // Its newest copy is damaged and this is an older one, or nothing says that the page is in use:
  // it may hold what was changed or deleted since.
  bool doubtful = false;
  bool broken = false;  // cells are missing that it should have
  std::vector<Record> records{};
};

// Keeps both files in memory. Not thread-safe.
class DamagedPages {
 public:
  // Reads the database and its log; either may be missing.
  explicit DamagedPages(const std::string& database);

  // Returns the number of pages; page numbers begin at 1.
  [[nodiscard]] std::size_t count() const { return pages_.size(); }
  [[nodiscard]] PageRecords records(std::size_t page) const;
  // Pages of which no copy is readable at all.
  [[nodiscard]] std::size_t unreadable() const { return unreadable_; }

 private:
  struct Page {
    std::string_view bytes{};
    bool older = false;  // the newest copy, in the log, is damaged
    bool free = false;
    bool used = false;  // an inner page leads to it
  };

  void find_page_size();
  void read_log();
  void read_free_list();
  void read_inner_pages();
  [[nodiscard]] Page* at(std::size_t number);
  [[nodiscard]] const Page* at(std::size_t number) const;
  [[nodiscard]] std::optional<std::string> payload(std::string_view page, std::size_t offset,
                                                   std::size_t size, bool index) const;

  std::string file_{}, log_{};
  std::size_t page_size_ = 4096;
  std::size_t usable_ = 4096;
  bool has_header_ = false;
  bool free_list_broken_ = false;
  std::size_t unreadable_ = 0;
  std::vector<Page> pages_{};
};

}  // namespace athanor::store
