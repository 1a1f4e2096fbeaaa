// SPDX-License-Identifier: Apache-2.0
// https://www.sqlite.org/fileformat2.html, as far as it takes to read rows.
#include "embedded/store/damaged_pages.hpp"
#include "base/files/text_file.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace athanor::store {
namespace {

constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr std::size_t kHeader = 100;  // of the file, in page 1
constexpr std::size_t kLogHeader = 32;
constexpr std::size_t kFrameHeader = 24;
constexpr std::uint8_t kTableLeaf = 0x0d;
constexpr std::uint8_t kTableInner = 0x05;
constexpr std::uint8_t kIndexLeaf = 0x0a;
constexpr std::uint8_t kIndexInner = 0x02;
constexpr std::size_t kMostColumns = 8;  // of our tables

std::string content_of(const std::string& path) {
  auto content = read_whole_file(path);
  return content.ok() ? *std::move(content) : std::string();
}

std::uint8_t byte_at(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<std::uint8_t>(bytes[at]) : std::uint8_t{0};
}
std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < size; ++i) {
    number = (number << 8U) | byte_at(bytes, at + i);
  }
  return number;
}
std::size_t page_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::size_t>(number_at(bytes, at, 4));
}

// A variable-length integer; moves `at` behind it.
std::uint64_t take_varint(std::string_view bytes, std::size_t& at) {
  constexpr int kMost = 9;
  std::uint64_t number = 0;
  for (int i = 1; i < kMost; ++i) {
    const std::uint8_t byte = byte_at(bytes, at++);
    number = (number << 7U) | (byte & 0x7fU);
    if ((byte & 0x80U) == 0) {
      return number;
    }
  }
  return (number << 8U) | byte_at(bytes, at++);
}

struct Sum {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  friend bool operator==(const Sum&, const Sum&) = default;
};
Sum sum_at(std::string_view bytes, std::size_t at) {
  return {.first = static_cast<std::uint32_t>(number_at(bytes, at, 4)),
          .second = static_cast<std::uint32_t>(number_at(bytes, at + 4, 4))};
}
// The checksum of the log, continued over more bytes.
Sum continued(Sum sum, std::string_view bytes, bool big_endian) {
  const auto word = [&](std::size_t at) {
    const auto number = static_cast<std::uint32_t>(number_at(bytes, at, 4));
    return big_endian ? number : __builtin_bswap32(number);
  };
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    sum.first += word(at) + sum.second;
    sum.second += word(at + 4) + sum.first;
  }
  return sum;
}

bool is_page_size(std::size_t size) {
  constexpr std::size_t kLeast = 512;
  constexpr std::size_t kMost = 65536;
  return size >= kLeast && size <= kMost && std::has_single_bit(size);
}

std::optional<Record> parse_record(std::string_view payload) {
  std::size_t at = 0;
  const std::uint64_t head = take_varint(payload, at);
  if (head > payload.size() || head < at) {
    return std::nullopt;
  }
  Record record;
  std::size_t data = head;
  while (at < head && record.size() < kMostColumns) {
    const std::uint64_t type = take_varint(payload, at);
    constexpr std::size_t kSizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
    const std::size_t size = type < std::size(kSizes) ? kSizes[type]
                             : type < 12              ? 0
                                                      : static_cast<std::size_t>((type - 12) / 2);
    if (size > payload.size() - std::min(data, payload.size())) {
      return std::nullopt;
    }
    RecordColumn column;
    if (type >= 12) {
      column.bytes = std::string(payload.substr(data, size));
    } else if (type == 8 || type == 9) {
      column.integer = static_cast<std::int64_t>(type - 8);
    } else if (type >= 1 && type <= 6) {
      const auto shift = static_cast<unsigned>(64 - (8 * size));
      column.integer =
          std::bit_cast<std::int64_t>(number_at(payload, data, size) << shift) >> shift;
    }
    data += size;
    record.push_back(std::move(column));
  }
  return record;
}

}  // namespace

DamagedPages::DamagedPages(const std::string& database)
    : file_(content_of(database)), log_(content_of(database + "-wal")) {
  find_page_size();
  for (std::size_t at = 0; at < file_.size(); at += page_size_) {
    pages_.push_back({.bytes = std::string_view(file_).substr(at, page_size_)});
  }
  read_log();
  const auto blank = [](std::string_view bytes) {
    return bytes.find_first_not_of('\0') == std::string_view::npos;
  };
  read_free_list();
  read_inner_pages();
  unreadable_ = static_cast<std::size_t>(std::ranges::count_if(
      pages_, [&](const Page& page) { return !page.free && blank(page.bytes); }));
}

void DamagedPages::find_page_size() {
  const auto of_file = [&](std::string_view header) {
    const auto size = static_cast<std::size_t>(number_at(header, 16, 2));
    return size == 1 ? std::size_t{65536} : size;
  };
  has_header_ = file_.starts_with(kMagic) && is_page_size(of_file(file_));
  const auto of_log = static_cast<std::size_t>(number_at(log_, 8, 4));
  if (has_header_) {
    page_size_ = of_file(file_);
  } else if (is_page_size(of_log)) {
    page_size_ = of_log;
  }
  usable_ = page_size_;  // we reserve nothing
}

DamagedPages::Page* DamagedPages::at(std::size_t number) {
  return number == 0 || number > pages_.size() ? nullptr : &pages_[number - 1];
}
const DamagedPages::Page* DamagedPages::at(std::size_t number) const {
  return number == 0 || number > pages_.size() ? nullptr : &pages_[number - 1];
}

// Each frame is checked against the checksum that its predecessor says it has, so that one damaged
// frame does not cost those behind it.
void DamagedPages::read_log() {
  struct Frame {
    std::size_t page = 0;
    bool commits = false;
    bool sound = false;
    std::string_view bytes{};
  };
  const std::string_view log = log_;
  const std::size_t step = kFrameHeader + page_size_;
  if (log.size() < kLogHeader + step) {
    return;
  }
  const std::uint64_t magic = number_at(log, 0, 4);
  constexpr std::uint64_t kLittle = 0x377f0682;
  const bool big = (magic & ~std::uint64_t{1}) == kLittle && (magic & 1U) != 0;
  const bool has_head = continued({}, log.substr(0, 24), big) == sum_at(log, 24);
  const std::string_view salt = log.substr(has_head ? 16 : kLogHeader + 8, 8);
  Sum before = sum_at(log, 24);
  bool trusted = has_head;
  std::vector<Frame> frames;
  std::size_t committed = 0;
  for (std::size_t at = kLogHeader; at + step <= log.size(); at += step) {
    const std::string_view head = log.substr(at, kFrameHeader);
    Frame frame{.page = page_at(head, 0),
                .commits = page_at(head, 4) != 0,
                .bytes = log.substr(at + kFrameHeader, page_size_)};
    const Sum stored = sum_at(head, 16);
    const Sum found = continued(continued(before, head.substr(0, 8), big), frame.bytes, big);
    const bool ours = head.substr(8, 8) == salt;
    frame.sound = ours && (found == stored || !trusted);
    before = stored;
    trusted = true;
    frames.push_back(frame);
    if (ours && frame.commits) {
      committed = frames.size();
    }
  }
  frames.resize(committed);  // what is behind was never acknowledged, or is of an older log
  constexpr std::size_t kMostPages = std::size_t{1} << 24;
  for (const Frame& frame : frames) {
    if (frame.page == 0 || frame.page > kMostPages) {
      continue;
    }
    if (frame.sound && frame.page > pages_.size()) {
      pages_.resize(frame.page);
    }
    if (Page* page = at(frame.page); page != nullptr) {
      page->older = !frame.sound;
      page->bytes = frame.sound ? frame.bytes : page->bytes;
    }
  }
  if (const Page* first = at(1); first != nullptr && first->bytes.starts_with(kMagic)) {
    has_header_ = true;
  }
}

void DamagedPages::read_free_list() {
  free_list_broken_ = !has_header_ || pages_.empty() || pages_[0].older;
  if (!has_header_ || pages_.empty()) {
    return;
  }
  std::size_t trunk = page_at(pages_[0].bytes, 32);
  for (std::size_t seen = 0; trunk != 0; ++seen) {
    Page* page = at(trunk);
    if (page == nullptr || page->free || seen > pages_.size()) {
      free_list_broken_ = true;
      return;
    }
    const std::size_t count = page_at(page->bytes, 4);
    if (page->bytes.size() < usable_ || count > (usable_ / 4) - 2 || page->older) {
      free_list_broken_ = true;
      return;
    }
    page->free = true;
    for (std::size_t i = 0; i < count; ++i) {
      if (Page* leaf = at(page_at(page->bytes, 8 + (4 * i))); leaf != nullptr) {
        leaf->free = true;
      }
    }
    trunk = page_at(page->bytes, 0);
  }
}

void DamagedPages::read_inner_pages() {
  for (std::size_t number = 1; number <= pages_.size(); ++number) {
    const Page& page = pages_[number - 1];
    const std::size_t start = number == 1 ? kHeader : 0;
    const std::uint8_t type = byte_at(page.bytes, start);
    if (page.free || (type != kTableInner && type != kIndexInner)) {
      continue;
    }
    const auto use = [&](std::size_t child) {
      if (Page* found = at(child); found != nullptr) {
        found->used = true;
      }
    };
    use(page_at(page.bytes, start + 8));
    const auto cells = static_cast<std::size_t>(number_at(page.bytes, start + 3, 2));
    for (std::size_t i = 0; i < std::min(cells, usable_ / 2); ++i) {
      use(page_at(page.bytes, number_at(page.bytes, start + 12 + (2 * i), 2)));
    }
  }
}

// The payload of a cell, with its overflow pages; nullopt when they do not hold it.
std::optional<std::string> DamagedPages::payload(std::string_view page, std::size_t offset,
                                                 std::size_t size, bool index) const {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  const std::size_t most = index ? ((usable_ - 12) * 64 / 255) - 23 : usable_ - 35;
  if (size > kMostBytes || offset > page.size()) {
    return std::nullopt;
  }
  if (size <= most) {
    return offset + size <= page.size() ? std::optional(std::string(page.substr(offset, size)))
                                        : std::nullopt;
  }
  const std::size_t least = ((usable_ - 12) * 32 / 255) - 23;
  const std::size_t local = least + ((size - least) % (usable_ - 4));
  const std::size_t here = local <= most ? local : least;
  if (offset + here + 4 > page.size()) {
    return std::nullopt;
  }
  std::string whole(page.substr(offset, here));
  std::size_t next = page_at(page, offset + here);
  while (whole.size() < size) {
    const Page* more = at(next);
    if (more == nullptr || more->bytes.size() < usable_) {
      return std::nullopt;
    }
    whole += more->bytes.substr(4, std::min(usable_ - 4, size - whole.size()));
    next = page_at(more->bytes, 0);
  }
  return whole;
}

PageRecords DamagedPages::records(std::size_t number) const {
  PageRecords found;
  const Page* page = at(number);
  if (page == nullptr || page->free) {
    return found;
  }
  const std::size_t start = number == 1 ? kHeader : 0;
  const std::uint8_t type = byte_at(page->bytes, start);
  if (type != kTableLeaf && type != kIndexLeaf && type != kIndexInner) {
    return found;
  }
  const bool index = type != kTableLeaf;
  found.kind = index ? PageRecords::Kind::Index : PageRecords::Kind::Table;
  found.doubtful = page->older || (free_list_broken_ && !page->used);
  const std::size_t array = start + (type == kIndexInner ? 12 : 8);
  const auto cells = static_cast<std::size_t>(number_at(page->bytes, start + 3, 2));
  const std::size_t room = usable_ > array ? (usable_ - array) / 2 : 0;
  found.broken = cells > room;
  for (std::size_t i = 0; i < std::min(cells, room); ++i) {
    auto offset = static_cast<std::size_t>(number_at(page->bytes, array + (2 * i), 2));
    offset += type == kIndexInner ? 4 : 0;
    const auto size = static_cast<std::size_t>(take_varint(page->bytes, offset));
    if (!index) {
      take_varint(page->bytes, offset);  // the rowid
    }
    const auto bytes = payload(page->bytes, offset, size, index);
    auto record = bytes ? parse_record(*bytes) : std::nullopt;
    found.broken = found.broken || !record;
    if (record) {
      found.records.push_back(*std::move(record));
    }
  }
  return found;
}

}  // namespace athanor::store
