// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/http.hpp"

namespace athanor::apiserver {

std::string_view Request::header(std::string_view lower_case_name) const {
  const auto found = headers.find(lower_case_name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
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

}  // namespace athanor::apiserver
