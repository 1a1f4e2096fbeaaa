// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/admission/certificate_subject.hpp"

#include <algorithm>
#include <cstdint>

#include "base/digest.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::uint8_t kSequence = 0x30;
constexpr std::uint8_t kSet = 0x31;
constexpr std::uint8_t kInteger = 0x02;
constexpr std::uint8_t kObjectId = 0x06;
constexpr std::string_view kCommonName{"\x55\x04\x03", 3};
constexpr std::string_view kOrganization{"\x55\x04\x0A", 3};

struct Element {
  std::uint8_t tag = 0;
  std::string_view content{};
};

// Reads the elements of DER one after another.
class DerReader {
 public:
  explicit DerReader(std::string_view bytes) : rest_(bytes) {}

  std::optional<Element> next() {
    constexpr std::uint8_t kLongForm = 0x80;
    constexpr std::size_t kMostLengthBytes = 4;
    if (rest_.size() < 2) {
      return std::nullopt;
    }
    Element element{.tag = byte(0)};
    std::size_t length = byte(1);
    std::size_t head = 2;
    if (length >= kLongForm) {
      const std::size_t count = length - kLongForm;
      if (count == 0 || count > kMostLengthBytes || rest_.size() < head + count) {
        return std::nullopt;
      }
      length = 0;
      for (std::size_t i = 0; i < count; ++i) {
        length = length << 8U | byte(head + i);
      }
      head += count;
    }
    if (rest_.size() - head < length) {
      return std::nullopt;
    }
    element.content = rest_.substr(head, length);
    rest_.remove_prefix(head + length);
    return element;
  }
  // The content of the next element; nullopt: it is another one.
  std::optional<std::string_view> next(std::uint8_t tag) {
    const auto element = next();
    return element && element->tag == tag ? std::optional(element->content) : std::nullopt;
  }

 private:
  [[nodiscard]] std::uint8_t byte(std::size_t at) const {
    return static_cast<std::uint8_t>(rest_[at]);
  }

  std::string_view rest_;
};

// The bytes between the lines of a PEM block.
std::optional<std::string> der_of(std::string_view pem) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE REQUEST-----";
  constexpr std::string_view kEnd = "-----END CERTIFICATE REQUEST-----";
  const std::size_t begin = pem.find(kBegin);
  const std::size_t end = pem.find(kEnd);
  if (begin == std::string_view::npos || end == std::string_view::npos ||
      end < begin + kBegin.size()) {
    return std::nullopt;
  }
  std::string text(pem.substr(begin + kBegin.size(), end - begin - kBegin.size()));
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; });
  return base64_decode(text);
}

void read_name(std::string_view name, CertificateSubject& subject) {
  DerReader sets(name);
  while (const auto set = sets.next(kSet)) {
    DerReader entries(*set);
    while (const auto entry = entries.next(kSequence)) {
      DerReader parts(*entry);
      const auto id = parts.next(kObjectId);
      const auto text = parts.next();
      if (!id || !text) {
        continue;
      }
      if (*id == kCommonName) {
        subject.common_name = std::string(text->content);
      } else if (*id == kOrganization) {
        subject.organizations.emplace_back(text->content);
      }
    }
  }
}

}  // namespace

std::optional<CertificateSubject> certificate_subject(std::string_view pem) {
  const auto der = der_of(pem);
  if (!der) {
    return std::nullopt;
  }
  const auto request = DerReader(*der).next(kSequence);
  const auto info = request ? DerReader(*request).next(kSequence) : std::nullopt;
  if (!info) {
    return std::nullopt;
  }
  DerReader fields(*info);
  const auto version = fields.next(kInteger);
  const auto name = fields.next(kSequence);
  if (!version || !name) {
    return std::nullopt;
  }
  CertificateSubject subject;
  read_name(*name, subject);
  return subject;
}

}  // namespace athanor::apiserver
