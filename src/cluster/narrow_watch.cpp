// SPDX-License-Identifier: Apache-2.0
#include "cluster/narrow_watch.hpp"

#include <algorithm>
#include <string_view>

namespace athanor::cluster {

namespace {

// Returns the text at a path such as "spec.nodeName".
std::string_view text_at(const Value& body, std::string_view path) {
  const Value* value = &body;
  while (value != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    value = value->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return value == nullptr ? std::string_view() : value->as_string();
}

}  // namespace

NarrowWatch::NarrowWatch(const client::FeedScope& scope) {
  if (!scope.label_selector.empty()) {
    labels_ = LabelSelector::parse(scope.label_selector).value_or({});
  }
  if (!scope.field_selector.empty()) {
    fields_ = parse_field_selector(scope.field_selector).value_or({});
  }
}

bool NarrowWatch::shows(const Object& object) const {
  return labels_.matches(object.metadata()["labels"]) &&
         std::ranges::all_of(fields_, [&](const FieldRequirement& one) {
           return (text_at(object.body(), one.field) == one.value) == one.equal;
         });
}

}  // namespace athanor::cluster
