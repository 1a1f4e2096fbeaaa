// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/images/tar_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include "embedded/nodes/images/packed_file.hpp"

namespace athanor::nodes {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::int64_t kLongestExtra = std::int64_t{1} << 20;  // of a long name or a pax header

struct Span {
  std::size_t at = 0;
  std::size_t size = 0;
};
constexpr Span kName{0, 100};
constexpr Span kMode{100, 8};
constexpr Span kUser{108, 8};
constexpr Span kGroup{116, 8};
constexpr Span kSize{124, 12};
constexpr Span kSum{148, 8};
constexpr std::size_t kType = 156;
constexpr Span kLink{157, 100};
constexpr Span kMagic{257, 5};
constexpr Span kPrefix{345, 155};

std::string text_of(const char* header, Span span) {
  const std::string_view field(header + span.at, span.size);
  return std::string(field.substr(0, field.find('\0')));
}

// Reads an octal number, or one of GNU's in binary; -1: it is none.
std::int64_t number_of(const char* header, Span span) {
  std::string_view field(header + span.at, span.size);
  const auto first = static_cast<unsigned char>(field.front());
  if ((first & 0x80U) != 0) {
    std::uint64_t number = first & 0x3fU;
    for (const char byte : field.substr(1)) {
      if (number >> 55U != 0) {
        return -1;
      }
      number = number << 8U | static_cast<unsigned char>(byte);
    }
    return static_cast<std::int64_t>(number);
  }
  field.remove_prefix(std::min(field.find_first_not_of(' '), field.size()));
  std::int64_t number = 0;
  constexpr int kOctal = 8;
  const auto [end, code] =
      std::from_chars(field.data(), field.data() + field.size(), number, kOctal);
  const bool blank = field.empty() || field.front() == '\0';
  return blank ? 0 : code == std::errc() ? number : -1;
}

bool has_right_sum(const char* header) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const bool own = i >= kSum.at && i < kSum.at + kSum.size;
    sum += own ? ' ' : static_cast<unsigned char>(header[i]);
  }
  return sum == number_of(header, kSum);
}

TarEntry::Type type_of(char letter) {
  switch (letter) {
    case '\0':
    case '0':
    case '7':
      return TarEntry::Type::File;
    case '1':
      return TarEntry::Type::HardLink;
    case '2':
      return TarEntry::Type::SymbolicLink;
    case '5':
      return TarEntry::Type::Folder;
    default:
      return TarEntry::Type::Other;
  }
}

Error damaged(const char* what) {
  return Error::bad_request(fmt::format("the archive is damaged: {}", what));
}

}  // namespace

class TarFile::Impl {
 public:
  explicit Impl(PackedFile file) : file_(std::move(file)) {}

  Result<std::optional<TarEntry>> next() {
    Extra extra;
    constexpr int kMostExtras = 16;  // between two entries; an archive's size says nothing of them
    for (int extras = 0; extras <= kMostExtras; ++extras) {
      ATHANOR_TRY_VOID(skip());
      char header[kBlock];
      ATHANOR_TRY(const std::size_t count, file_.read(header, kBlock));
      if (count == 0 || std::all_of(header, header + kBlock, [](char c) { return c == '\0'; })) {
        return std::optional<TarEntry>();
      }
      if (count < kBlock || !has_right_sum(header)) {
        return damaged("a header is cut or wrong");
      }
      const std::int64_t size = number_of(header, kSize);
      if (size < 0) {
        return damaged("a size is no number");
      }
      const char type = header[kType];
      if (type == 'L' || type == 'K' || type == 'x' || type == 'g') {
        left_ = size;
        padding_ = padding_of(size);
        ATHANOR_TRY(const std::string text, read_extra(size));
        take_extra(type, text, extra);
        continue;
      }
      return entry_of(header, extra, size);
    }
    return damaged("too many headers of names in a row");
  }

  Result<std::size_t> read(char* buffer, std::size_t size) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::int64_t>(left_, static_cast<std::int64_t>(size)));
    if (wanted == 0) {
      return std::size_t{0};
    }
    ATHANOR_TRY(const std::size_t count, file_.read(buffer, wanted));
    if (count < wanted) {
      return damaged("it ends within a file");
    }
    left_ -= static_cast<std::int64_t>(count);
    return count;
  }

 private:
  // Values of the headers before an entry.
  struct Extra {
    std::optional<std::string> path{};
    std::optional<std::string> link{};
    std::optional<std::int64_t> size{};
  };

  static std::int64_t padding_of(std::int64_t size) {
    constexpr auto kSigned = static_cast<std::int64_t>(kBlock);
    return (kSigned - size % kSigned) % kSigned;
  }

  Result<void> skip() {
    char buffer[16 * kBlock];
    std::int64_t rest =
        left_ > std::numeric_limits<std::int64_t>::max() - padding_ ? left_ : left_ + padding_;
    while (rest > 0) {
      const auto wanted = static_cast<std::size_t>(
          std::min<std::int64_t>(rest, static_cast<std::int64_t>(sizeof buffer)));
      ATHANOR_TRY(const std::size_t count, file_.read(buffer, wanted));
      if (count < wanted) {
        return damaged("it ends within a file");
      }
      rest -= static_cast<std::int64_t>(count);
    }
    left_ = 0;
    padding_ = 0;
    return {};
  }

  Result<std::string> read_extra(std::int64_t size) {
    if (size > kLongestExtra) {
      return damaged("a name is too long");
    }
    std::string text(static_cast<std::size_t>(size), '\0');
    std::size_t at = 0;
    while (at < text.size()) {
      ATHANOR_TRY(const std::size_t count, read(text.data() + at, text.size() - at));
      at += count;
    }
    return text;
  }

  static void take_extra(char type, const std::string& text, Extra& extra) {
    const std::string plain = text.substr(0, text.find('\0'));
    if (type == 'L') {
      extra.path = plain;
    } else if (type == 'K') {
      extra.link = plain;
    } else if (type == 'x') {
      take_pax(text, extra);
    }
  }

  // Reads lines "LENGTH KEY=VALUE\n".
  static void take_pax(std::string_view text, Extra& extra) {
    while (!text.empty()) {
      std::size_t length = 0;
      const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), length);
      const auto head = static_cast<std::size_t>(end - text.data()) + 1;
      if (code != std::errc() || length <= head || length > text.size()) {
        return;
      }
      const std::string_view line = text.substr(head, length - head - 1);
      const std::size_t equals = line.find('=');
      const std::string value(equals == std::string_view::npos ? std::string_view()
                                                               : line.substr(equals + 1));
      const std::string_view key = line.substr(0, equals);
      if (key == "path") {
        extra.path = value;
      } else if (key == "linkpath") {
        extra.link = value;
      } else if (key == "size") {
        std::int64_t size = -1;
        std::from_chars(value.data(), value.data() + value.size(), size);
        extra.size = size;
      }
      text.remove_prefix(length);
    }
  }

  Result<std::optional<TarEntry>> entry_of(const char* header, const Extra& extra,
                                           std::int64_t size) {
    TarEntry entry{.type = type_of(header[kType]),
                   .path = text_of(header, kName),
                   .link = extra.link.value_or(text_of(header, kLink)),
                   .mode = static_cast<unsigned>(number_of(header, kMode) & 07777),
                   .user = static_cast<std::uint32_t>(number_of(header, kUser)),
                   .group = static_cast<std::uint32_t>(number_of(header, kGroup))};
    const std::string prefix = text_of(header, kMagic) == "ustar" ? text_of(header, kPrefix) : "";
    if (extra.path) {
      entry.path = *extra.path;
    } else if (!prefix.empty()) {
      entry.path = prefix + "/" + entry.path;
    }
    const std::int64_t whole = extra.size.value_or(size);
    if (whole < 0) {
      return damaged("a size is no number");
    }
    left_ = whole;
    padding_ = padding_of(whole);
    entry.size = whole;
    return std::optional(std::move(entry));
  }

  PackedFile file_;
  std::int64_t left_ = 0;
  std::int64_t padding_ = 0;
};

TarFile::TarFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TarFile::TarFile(TarFile&& other) noexcept = default;
TarFile& TarFile::operator=(TarFile&& other) noexcept = default;
TarFile::~TarFile() = default;

Result<TarFile> TarFile::open(const std::string& path) {
  ATHANOR_TRY(PackedFile file, PackedFile::open(path));
  return TarFile(std::make_unique<Impl>(std::move(file)));
}

Result<std::optional<TarEntry>> TarFile::next() {
  return impl_->next();
}

Result<std::size_t> TarFile::read(char* buffer, std::size_t size) {
  return impl_->read(buffer, size);
}

}  // namespace athanor::nodes
