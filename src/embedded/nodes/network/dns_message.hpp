// SPDX-License-Identifier: Apache-2.0
// Messages of the domain name system (RFC 1035) as far as a small server needs them: one question,
// records in an answer. Bytes in, bytes out; no socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::nodes {

inline constexpr std::uint16_t kTypeA = 1;
inline constexpr std::uint16_t kTypeCname = 5;
inline constexpr std::uint16_t kTypeSoa = 6;
inline constexpr std::uint16_t kTypePtr = 12;
inline constexpr std::uint16_t kTypeAaaa = 28;
inline constexpr std::uint16_t kTypeSrv = 33;
inline constexpr std::uint16_t kTypeAny = 255;

enum class DnsCode : std::uint8_t {
  Ok = 0,
  FormatError = 1,
  ServerFailure = 2,
  NoName = 3,
  NotImplemented = 4,
  Refused = 5
};

// One question. `name` is in lower case, without the dot at its end.
struct DnsQuestion {
  std::uint16_t id = 0;
  bool recursion = false;
  std::string name{};
  std::uint16_t type = 0;
  std::uint16_t group = 1;       // class: 1 is the internet's
  std::string raw{};             // the question as it was sent
  std::size_t most_bytes = 512;  // of an answer by UDP
};

// One record; `data` as it is sent.
struct DnsRecord {
  std::string name{};
  std::uint16_t type = 0;
  std::uint32_t seconds = 0;
  std::string data{};
};

// Reads a query with one question; nullopt: it is none.
std::optional<DnsQuestion> parse_question(std::string_view packet);
// Returns the bytes of a query with this id for `name`, with recursion desired.
std::string dns_query(std::uint16_t id, std::string_view name, std::uint16_t type);
// Returns the addresses and aliases of an answer, names and data written out; nullopt: it is no
// answer.
struct DnsReply {
  std::uint16_t id = 0;
  DnsCode code = DnsCode::Ok;
  std::vector<DnsRecord> records{};
};
std::optional<DnsReply> parse_reply(std::string_view packet);

// Returns the bytes of an answer. With `most_bytes` it is cut, and says so.
struct DnsContent {
  DnsCode code = DnsCode::Ok;
  bool authoritative = false;
  std::vector<DnsRecord> answers{};
  std::vector<DnsRecord> authority{};
};
std::string dns_answer(const DnsQuestion& question, const DnsContent& content,
                       std::size_t most_bytes);

// Returns a name as it is sent: labels with their lengths. Empty: it cannot be one.
std::string dns_name(std::string_view name);
std::string dns_number(std::uint32_t number);  // four bytes
std::string dns_short(std::uint16_t number);   // two bytes

}  // namespace athanor::nodes
