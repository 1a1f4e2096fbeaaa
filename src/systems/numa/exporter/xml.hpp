// SPDX-License-Identifier: Apache-2.0
// As much of XML as topology files need: elements, attributes, texts. Documents are small and
// trusted no more than a message from outside: a malformed one is an error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace athanor::numa {

// One element with its attributes and children, in document order.
struct XmlElement {
  std::string name{};
  std::vector<std::pair<std::string, std::string>> attributes{};
  std::string text{};  // of all its text nodes together
  std::vector<XmlElement> children{};

  // Returns the value, empty where there is no such attribute.
  [[nodiscard]] std::string_view attribute(std::string_view wanted) const;
};

// Elements may be nested this deep.
inline constexpr std::size_t kMostXmlDepth = 64;

// Returns the root element. Comments, processing instructions and the document type are skipped;
// entities other than the five of XML are errors.
Result<XmlElement> parse_xml(std::string_view text);

}  // namespace athanor::numa
