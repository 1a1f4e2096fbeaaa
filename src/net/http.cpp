// SPDX-License-Identifier: Apache-2.0
#include "net/http.hpp"

namespace athanor::net {

std::string_view Request::header(std::string_view lower_case_name) const {
  const auto first = headers.lower_bound(lower_case_name);
  return first == headers.end() || first->first != lower_case_name
             ? std::string_view()
             : std::string_view(first->second);
}

std::vector<std::string_view> Request::header_values(std::string_view lower_case_name) const {
  std::vector<std::string_view> values;
  const auto [begin, end] = headers.equal_range(lower_case_name);
  for (auto it = begin; it != end; ++it) {
    values.emplace_back(it->second);
  }
  return values;
}

std::string Request::header_list(std::string_view lower_case_name) const {
  std::string list;
  for (const std::string_view value : header_values(lower_case_name)) {
    list += list.empty() ? "" : ", ";
    list += value;
  }
  return list;
}

std::optional<std::string_view> Request::parameter(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) {
      return value;
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> Request::parameters(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : query) {
    if (key == name) {
      values.emplace_back(value);
    }
  }
  return values;
}

}  // namespace athanor::net
