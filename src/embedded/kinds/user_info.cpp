// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/user_info.hpp"

#include <algorithm>

namespace athanor::apiserver {
namespace {

Value string_list(const std::vector<std::string>& texts) {
  std::vector<Value> items;
  items.reserve(texts.size());
  for (const std::string& text : texts) {
    items.emplace_back(text);
  }
  return Value::list(std::move(items));
}

}  // namespace

bool UserInfo::in_group(std::string_view group) const {
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

Value UserInfo::to_value() const {
  Value result = Value::object();
  if (!name.empty()) {
    result.set("username", name);
  }
  if (!uid.empty()) {
    result.set("uid", uid);
  }
  if (!groups.empty()) {
    result.set("groups", string_list(groups));
  }
  if (!extra.empty()) {
    Value members = Value::object();
    for (const auto& [key, values] : extra) {
      members.set(key, string_list(values));
    }
    result.set("extra", std::move(members));
  }
  return result;
}

}  // namespace athanor::apiserver
