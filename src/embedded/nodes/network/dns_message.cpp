// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/network/dns_message.hpp"

#include "base/ascii.hpp"

namespace athanor::nodes {
namespace {

constexpr std::size_t kHead = 12;
constexpr std::size_t kLongestName = 255;
constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kLeastPayload = 512;
constexpr std::size_t kMostPayload = 1232;
constexpr int kMostPointers = 32;  // of one name
constexpr unsigned char kPointer = 0xc0;
constexpr std::uint16_t kTypeOptions = 41;
constexpr std::uint16_t kIsReply = 0x8000;
constexpr std::uint16_t kOpcodes = 0x7800;
constexpr std::uint16_t kAuthoritative = 0x0400;
constexpr std::uint16_t kTruncated = 0x0200;
constexpr std::uint16_t kRecursionDesired = 0x0100;
constexpr std::uint16_t kRecursionAvailable = 0x0080;
constexpr std::uint16_t kCodeMask = 0x000f;
constexpr std::uint16_t kQuestionPointer = 0xc00c;

// Reads a packet from front to back; `ok` turns false beyond its end.
class PacketReader {
 public:
  explicit PacketReader(std::string_view packet) : packet_(packet) {}

  std::uint8_t byte() {
    if (at_ >= packet_.size()) {
      ok_ = false;
      return 0;
    }
    return static_cast<std::uint8_t>(packet_[at_++]);
  }
  std::uint16_t number() {
    const std::uint16_t high = byte();
    return static_cast<std::uint16_t>(high << 8U | byte());
  }
  std::uint32_t long_number() {
    const std::uint32_t high = number();
    return high << 16U | number();
  }
  std::string_view bytes(std::size_t count) {
    if (count > packet_.size() - std::min(at_, packet_.size())) {
      ok_ = false;
      return {};
    }
    const std::string_view found = packet_.substr(at_, count);
    at_ += count;
    return found;
  }
  // Reads a name: lower case, labels separated by dots.
  std::string name() {
    std::string result;
    std::size_t back = 0;
    int pointers = 0;
    while (ok_) {
      const std::uint8_t length = byte();
      if ((length & kPointer) == kPointer) {
        const std::size_t target = static_cast<std::size_t>(length & ~kPointer) << 8U | byte();
        back = back == 0 ? at_ : back;
        ok_ = ok_ && ++pointers <= kMostPointers && target < packet_.size();
        at_ = target;
        continue;
      }
      if (length == 0) {
        break;
      }
      const std::string_view label = bytes(length);
      ok_ = ok_ && length <= kLongestLabel && result.size() + label.size() < kLongestName;
      result += (result.empty() ? "" : ".") + lower(label);
    }
    at_ = back == 0 ? at_ : back;
    return result;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t at() const { return at_; }
  void go_to(std::size_t at) { at_ = at; }

 private:
  std::string_view packet_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

std::string head_of(std::uint16_t id, std::uint16_t flags, std::size_t answers,
                    std::size_t authority) {
  return dns_short(id) + dns_short(flags) + dns_short(1) +
         dns_short(static_cast<std::uint16_t>(answers)) +
         dns_short(static_cast<std::uint16_t>(authority)) + dns_short(0);
}

// Returns the bytes of a record; the question's own name is a pointer to it.
std::string record_bytes(const DnsRecord& record, const DnsQuestion& question) {
  const std::string name =
      record.name == question.name ? dns_short(kQuestionPointer) : dns_name(record.name);
  return name + dns_short(record.type) + dns_short(1) + dns_number(record.seconds) +
         dns_short(static_cast<std::uint16_t>(record.data.size())) + record.data;
}

}  // namespace

std::string dns_short(std::uint16_t number) {
  return {static_cast<char>(number >> 8U), static_cast<char>(number & 0xffU)};
}

std::string dns_number(std::uint32_t number) {
  return dns_short(static_cast<std::uint16_t>(number >> 16U)) +
         dns_short(static_cast<std::uint16_t>(number & 0xffffU));
}

std::string dns_name(std::string_view name) {
  std::string result;
  if (name.ends_with('.')) {
    name.remove_suffix(1);
  }
  while (!name.empty()) {
    const std::string_view label = name.substr(0, name.find('.'));
    if (label.empty() || label.size() > kLongestLabel) {
      return {};
    }
    result += static_cast<char>(label.size());
    result += label;
    name.remove_prefix(std::min(name.size(), label.size() + 1));
  }
  result += '\0';
  return result.size() > kLongestName ? std::string{} : result;
}

std::optional<DnsQuestion> parse_question(std::string_view packet) {
  PacketReader reader(packet);
  DnsQuestion question{.id = reader.number()};
  const std::uint16_t flags = reader.number();
  const std::uint16_t questions = reader.number();
  const std::uint16_t answers = reader.number();
  const std::uint16_t authority = reader.number();
  const std::uint16_t more = reader.number();
  if (!reader.ok() || (flags & (kIsReply | kOpcodes)) != 0 || questions != 1 || answers != 0 ||
      authority != 0) {
    return std::nullopt;
  }
  question.recursion = (flags & kRecursionDesired) != 0;
  question.name = reader.name();
  question.type = reader.number();
  question.group = reader.number();
  if (!reader.ok()) {
    return std::nullopt;
  }
  question.raw = packet.substr(kHead, reader.at() - kHead);
  for (std::uint16_t i = 0; i < more && reader.ok(); ++i) {
    reader.name();
    const std::uint16_t type = reader.number();
    const std::uint16_t payload = reader.number();
    reader.long_number();
    reader.bytes(reader.number());
    if (reader.ok() && type == kTypeOptions) {
      question.most_bytes = std::min(std::max<std::size_t>(payload, kLeastPayload), kMostPayload);
    }
  }
  return question;
}

std::string dns_query(std::uint16_t id, std::string_view name, std::uint16_t type) {
  return head_of(id, kRecursionDesired, 0, 0) + dns_name(name) + dns_short(type) + dns_short(1);
}

std::optional<DnsReply> parse_reply(std::string_view packet) {
  PacketReader reader(packet);
  DnsReply reply{.id = reader.number()};
  const std::uint16_t flags = reader.number();
  const std::uint16_t questions = reader.number();
  const std::uint16_t answers = reader.number();
  reader.bytes(4);
  if (!reader.ok() || (flags & kIsReply) == 0) {
    return std::nullopt;
  }
  reply.code = static_cast<DnsCode>(flags & kCodeMask);
  for (std::uint16_t i = 0; i < questions && reader.ok(); ++i) {
    reader.name();
    reader.bytes(4);
  }
  for (std::uint16_t i = 0; i < answers && reader.ok(); ++i) {
    DnsRecord record{.name = reader.name()};
    record.type = reader.number();
    reader.number();
    record.seconds = reader.long_number();
    const std::uint16_t size = reader.number();
    const std::size_t end = reader.at() + size;
    if (record.type == kTypeCname) {
      record.data = dns_name(reader.name());
      reader.go_to(end);
    } else {
      record.data = reader.bytes(size);
    }
    const bool plain =
        record.type == kTypeCname || record.type == kTypeA || record.type == kTypeAaaa;
    if (reader.ok() && plain) {
      reply.records.push_back(std::move(record));
    }
  }
  return reply;
}

std::string dns_answer(const DnsQuestion& question, const DnsContent& content,
                       std::size_t most_bytes) {
  std::uint16_t flags = kIsReply | kRecursionAvailable;
  flags |= question.recursion ? kRecursionDesired : std::uint16_t{0};
  flags |= content.authoritative ? kAuthoritative : std::uint16_t{0};
  flags |= static_cast<std::uint16_t>(content.code);
  std::string records;
  std::size_t answers = 0;
  std::size_t authority = 0;
  bool cut = false;
  const auto add = [&](const std::vector<DnsRecord>& from, std::size_t& count) {
    for (const DnsRecord& record : from) {
      const std::string bytes = record_bytes(record, question);
      if (cut || (most_bytes != 0 &&
                  kHead + question.raw.size() + records.size() + bytes.size() > most_bytes)) {
        cut = true;
        return;
      }
      records += bytes;
      ++count;
    }
  };
  add(content.answers, answers);
  add(content.authority, authority);
  flags |= cut ? kTruncated : std::uint16_t{0};
  return head_of(question.id, flags, answers, authority) + question.raw + records;
}

}  // namespace athanor::nodes
