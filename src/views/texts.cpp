// SPDX-License-Identifier: Apache-2.0
#include "views/texts.hpp"

namespace athanor::views {

std::string or_dash(std::string text) {
  return text.empty() ? "-" : std::move(text);
}

std::string age_text(const Object& object, Instant now) {
  const auto created = object.creation_time();
  return created ? format_age(now - *created) : "<unknown>";
}

}  // namespace athanor::views
