// SPDX-License-Identifier: Apache-2.0
#include "cel/functions/ip_address.hpp"

#include <fmt/format.h>

#include <charconv>
#include <vector>

namespace athanor::cel {
namespace {

// A decimal number up to `most` without a leading zero.
std::optional<int> decimal_group(std::string_view text, int most) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  const bool good = error == std::errc() && at == end && !text.empty() && text.front() != '-' &&
                    (text.size() == 1 || text.front() != '0') && value <= most;
  return good ? std::optional<int>(value) : std::nullopt;
}

std::optional<IpAddress> parse_v4(std::string_view text) {
  IpAddress address;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t dot = i < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos) {
      return std::nullopt;
    }
    const auto part = decimal_group(text.substr(0, dot), 255);
    if (!part) {
      return std::nullopt;
    }
    address.bytes[i] = static_cast<std::uint8_t>(*part);
    text.remove_prefix(i < 3 ? dot + 1 : dot);
  }
  return address;
}

// Groups between colons; `text` holds no "::".
bool parse_groups(std::string_view text, std::vector<std::uint8_t>& bytes) {
  while (!text.empty()) {
    const std::size_t colon = text.find(':');
    const std::string_view group = text.substr(0, colon);
    if (group.find('.') != std::string_view::npos && colon == std::string_view::npos) {
      const auto v4 = parse_v4(group);
      if (!v4) {
        return false;
      }
      bytes.insert(bytes.end(), v4->bytes.begin(), v4->bytes.begin() + 4);
      return true;
    }
    unsigned value = 0;
    const char* end = group.data() + group.size();
    const auto [at, error] = std::from_chars(group.data(), end, value, 16);
    if (error != std::errc() || at != end || group.empty() || group.size() > 4) {
      return false;
    }
    bytes.push_back(static_cast<std::uint8_t>(value >> 8U));
    bytes.push_back(static_cast<std::uint8_t>(value & 0xffU));
    if (colon == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(colon + 1);
    if (text.empty()) {
      return false;
    }
  }
  return true;
}

std::optional<IpAddress> parse_v6(std::string_view text) {
  IpAddress address{.v6 = true, .bytes = {}};
  const std::size_t gap = text.find("::");
  std::vector<std::uint8_t> front;
  std::vector<std::uint8_t> back;
  const bool good = gap == std::string_view::npos ? parse_groups(text, front)
                                                  : parse_groups(text.substr(0, gap), front) &&
                                                        parse_groups(text.substr(gap + 2), back);
  const std::size_t size = front.size() + back.size();
  if (!good || (gap == std::string_view::npos ? size != 16 : size > 14)) {
    return std::nullopt;
  }
  std::copy(front.begin(), front.end(), address.bytes.begin());
  std::copy(back.rbegin(), back.rend(), address.bytes.rbegin());
  return address;
}

bool is_mapped_v4(const IpAddress& address) {
  for (std::size_t i = 0; i < 10; ++i) {
    if (address.bytes[i] != 0) {
      return false;
    }
  }
  return address.v6 && address.bytes[10] == 0xff && address.bytes[11] == 0xff;
}

std::string v6_text(const std::array<std::uint8_t, 16>& bytes) {
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < 8; ++i) {
    groups[i] = bytes[2 * i] * 256U + bytes[2 * i + 1];
  }
  // the longest run of at least two zero groups becomes "::"
  std::size_t start = 8;
  std::size_t length = 1;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t run = 0;
    while (i + run < 8 && groups[i + run] == 0) {
      ++run;
    }
    if (run > length) {
      start = i;
      length = run;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == start) {
      text += "::";
      i += length - 1;
      continue;
    }
    text += text.empty() || text.ends_with(':') ? "" : ":";
    text += fmt::format("{:x}", groups[i]);
  }
  return text;
}

}  // namespace

std::string IpAddress::text() const {
  return v6 ? v6_text(bytes) : fmt::format("{}.{}.{}.{}", bytes[0], bytes[1], bytes[2], bytes[3]);
}

IpAddress IpAddress::masked(int prefix) const {
  IpAddress result = *this;
  for (int bit = prefix; bit < 128; ++bit) {
    const auto index = static_cast<std::size_t>(bit / 8);
    result.bytes[index] =
        static_cast<std::uint8_t>(result.bytes[index] & ~(0x80U >> static_cast<unsigned>(bit % 8)));
  }
  return result;
}

std::string Cidr::text() const {
  return fmt::format("{}/{}", address.text(), prefix);
}

bool Cidr::contains(const IpAddress& other) const {
  return other.v6 == address.v6 && other.masked(prefix) == address.masked(prefix);
}

IpParsed parse_ip(std::string_view text) {
  if (text.find('%') != std::string_view::npos) {
    return {.error = fmt::format("IP address \"{}\" with zone value is not allowed", text)};
  }
  const bool v6 = text.find(':') != std::string_view::npos;
  const std::optional<IpAddress> address = v6 ? parse_v6(text) : parse_v4(text);
  if (!address) {
    return {.error = fmt::format("IP Address \"{0}\" parse error during conversion from string: "
                                 "ParseAddr(\"{0}\"): unable to parse IP",
                                 text)};
  }
  if (is_mapped_v4(*address)) {
    return {.error = fmt::format("IPv4-mapped IPv6 address \"{}\" is not allowed", text)};
  }
  return {.address = address};
}

std::optional<Cidr> parse_cidr(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const IpParsed parsed = parse_ip(text.substr(0, slash));
  const auto prefix = decimal_group(text.substr(slash + 1), 128);
  if (!parsed.address || !prefix || *prefix > parsed.address->bits()) {
    return std::nullopt;
  }
  return Cidr{.address = *parsed.address, .prefix = *prefix};
}

}  // namespace athanor::cel
