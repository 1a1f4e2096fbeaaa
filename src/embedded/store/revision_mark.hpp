// SPDX-License-Identifier: Apache-2.0
// The newest revision that was acknowledged, kept outside the database.
//
// A damaged or lost write-ahead log leaves a consistent, older database: nothing in it shows that
// acknowledged writes are gone. The mark does. It is written behind each commit and before its
// acknowledgement, so it is never newer than what the disk holds, and a crash at any instant gives
// no false alarm. It is in the page cache by then: `kill -9` loses none of it. sync() brings it to
// the disk; what was acknowledged between the last sync() and a loss of power is not covered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "embedded/store/store.hpp"

namespace athanor::store {

// One owner at a time; not thread-safe.
class RevisionMark {
 public:
  struct Noted {
    Revision revision = 0;
    bool synced = true;  // false: the database did not wait for the disk
    friend auto operator<=>(const Noted&, const Noted&) = default;
  };

  // Keeps no mark.
  RevisionMark() = default;
  // Makes the file, readable by its owner alone, when it is missing.
  static Result<RevisionMark> open(const std::string& path);
  RevisionMark(RevisionMark&& other) noexcept;
  RevisionMark& operator=(RevisionMark&& other) noexcept;
  ~RevisionMark();

  // Returns what was noted before open(); nullopt: nothing, or nothing readable.
  [[nodiscard]] const std::optional<Noted>& last() const { return last_; }
  // Returns true when the file holds something and none of it can be read.
  [[nodiscard]] bool damaged() const { return damaged_; }
  // Writes it over the older of the two records, so that a torn write leaves the other.
  Result<void> note(const Noted& noted);
  // Brings what was noted since the last call to the disk.
  Result<void> sync();
  [[nodiscard]] bool unsynced() const { return unsynced_; }

 private:
  void read();

  std::string path_{};
  int file_ = -1;
  std::optional<Noted> last_{};
  bool damaged_ = false;
  bool unsynced_ = false;
  unsigned next_slot_ = 0;
};

}  // namespace athanor::store
