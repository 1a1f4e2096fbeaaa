// SPDX-License-Identifier: Apache-2.0
// Two records of text, each in a sector of its own.
#include "embedded/store/revision_mark.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "embedded/store/rows.hpp"

namespace athanor::store {
namespace {

constexpr std::size_t kSector = 512;
constexpr unsigned kSlots = 2;
constexpr std::string_view kName = "athanor revision ";

Error mark_error(const std::string& path) {
  return Error::internal(path + ": " + std::generic_category().message(errno));
}

// "athanor revision 12 synced 1" and its checksum, filled up to a sector.
std::string record_of(const RevisionMark::Noted& noted) {
  const std::string text =
      fmt::format("{}{} synced {}", kName, noted.revision, noted.synced ? 1 : 0);
  std::string record = fmt::format("{} sum {}\n", text, row_checksum("", noted.revision, text));
  record.resize(kSector, '\n');
  return record;
}

std::optional<RevisionMark::Noted> noted_of(std::string_view record) {
  if (!record.starts_with(kName)) {
    return std::nullopt;
  }
  RevisionMark::Noted noted;
  const std::string_view number = record.substr(kName.size());
  if (std::from_chars(number.data(), number.data() + number.size(), noted.revision).ec !=
      std::errc()) {
    return std::nullopt;
  }
  for (const bool synced : {true, false}) {
    noted.synced = synced;
    if (record == record_of(noted)) {
      return noted;
    }
  }
  return std::nullopt;
}

Result<void> sync_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int file = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return mark_error(folder);
  }
  const bool synced = ::fsync(file) == 0;
  ::close(file);
  return synced ? Result<void>() : mark_error(folder);
}

}  // namespace

Result<RevisionMark> RevisionMark::open(const std::string& path) {
  RevisionMark mark;
  mark.path_ = path;
  mark.file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (mark.file_ < 0) {
    return mark_error(path);
  }
  mark.read();
  ATHANOR_TRY_VOID(sync_folder(path));
  return mark;
}

void RevisionMark::read() {
  bool empty = true;
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    std::array<char, kSector> sector{};
    const auto size =
        ::pread(file_, sector.data(), sector.size(), static_cast<off_t>(slot * kSector));
    empty = empty && size <= 0;
    const auto noted =
        noted_of({sector.data(), size > 0 ? static_cast<std::size_t>(size) : std::size_t{0}});
    if (noted && (!last_ || *last_ < *noted)) {
      last_ = noted;
      next_slot_ = (slot + 1) % kSlots;
    }
  }
  damaged_ = !empty && !last_;
}

Result<void> RevisionMark::note(const Noted& noted) {
  if (file_ < 0) {
    return {};
  }
  const std::string record = record_of(noted);
  errno = 0;
  if (::pwrite(file_, record.data(), record.size(), static_cast<off_t>(next_slot_ * kSector)) !=
      static_cast<ssize_t>(record.size())) {
    return mark_error(path_);
  }
  next_slot_ = (next_slot_ + 1) % kSlots;
  unsynced_ = true;
  return {};
}

Result<void> RevisionMark::sync() {
  if (!unsynced_) {
    return {};
  }
  if (::fdatasync(file_) != 0) {
    return mark_error(path_);
  }
  unsynced_ = false;
  return {};
}

RevisionMark::RevisionMark(RevisionMark&& other) noexcept {
  *this = std::move(other);
}

RevisionMark& RevisionMark::operator=(RevisionMark&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(last_, other.last_);
  std::swap(damaged_, other.damaged_);
  std::swap(unsynced_, other.unsynced_);
  std::swap(next_slot_, other.next_slot_);
  return *this;
}

RevisionMark::~RevisionMark() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

}  // namespace athanor::store
