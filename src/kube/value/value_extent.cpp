// SPDX-License-Identifier: Apache-2.0
#include "kube/value/value_extent.hpp"

#include <algorithm>

namespace athanor {
namespace {

constexpr std::size_t kScalarBytes = 5;     // numbers, literals: close enough for a limit
constexpr std::size_t kPunctuation = 2;     // quotes, brackets
constexpr std::size_t kMemberOverhead = 4;  // quotes, colon and comma of a member

class Measure {
 public:
  Measure(const Extent& limits, Extent& found) : limits_(limits), found_(found) {}

  bool add(const Value& value, std::size_t level) {
    ++found_.values;
    if (value.is_list() || value.is_object()) {
      ++level;
      found_.levels = std::max(found_.levels, level);
      found_.bytes += kPunctuation;
    } else {
      found_.bytes += value.is_string() ? value.as_string().size() + kPunctuation : kScalarBytes;
    }
    if (!within_limits()) {
      return false;
    }
    for (const Value& item : value.items()) {
      ++found_.bytes;
      if (!add(item, level)) {
        return false;
      }
    }
    for (const Member& member : value.members()) {
      found_.bytes += member.key().size() + kMemberOverhead;
      if (!add(member.value, level)) {
        return false;
      }
    }
    return true;
  }

 private:
  [[nodiscard]] bool within_limits() const {
    return found_.levels <= limits_.levels && found_.values <= limits_.values &&
           found_.bytes <= limits_.bytes;
  }

  const Extent& limits_;
  Extent& found_;
};

}  // namespace

bool measure(const Value& value, const Extent& limits, Extent& found) {
  return Measure(limits, found).add(value, 0);
}

bool is_deeper_than(const Value& value, std::size_t levels) {
  if (!value.is_list() && !value.is_object()) {
    return false;
  }
  if (levels == 0) {
    return true;
  }
  const auto inner = [levels](const Value& child) { return is_deeper_than(child, levels - 1); };
  return std::ranges::any_of(value.items(), inner) ||
         std::ranges::any_of(value.members(), inner, &Member::value);
}

}  // namespace athanor
