// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/auth/front_proxy.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/ascii.hpp"

namespace athanor::apiserver {
namespace {

// Repeated headers come joined.
std::vector<std::string> values_of(std::string_view text) {
  std::vector<std::string> values;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view one = text.substr(0, end);
    while (one.starts_with(' ')) {
      one.remove_prefix(1);
    }
    values.emplace_back(one);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return values;
}

std::string first_of(const std::vector<std::string>& names, const Request& request) {
  for (const std::string& name : names) {
    if (const std::string_view value = request.header(lower(name)); !value.empty()) {
      return std::string(value);
    }
  }
  return {};
}

// "example.com%2fscope" as "example.com/scope"; as it is when it is not encoded.
std::string unescaped(std::string_view key) {
  constexpr int kHex = 16;
  std::string result;
  for (std::size_t i = 0; i < key.size(); ++i) {
    unsigned code = 0;
    if (key[i] == '%' && i + 2 < key.size() &&
        std::from_chars(key.data() + i + 1, key.data() + i + 3, code, kHex).ptr ==
            key.data() + i + 3) {
      result += static_cast<char>(code);
      i += 2;
    } else {
      result += key[i];
    }
  }
  return result;
}

}  // namespace

std::optional<UserInfo> front_proxy_user(const FrontProxy& settings, const Request& request) {
  const auto& proxy = request.credentials.front_proxy;
  const auto& allowed = settings.allowed_names;
  if (!proxy || (!allowed.empty() && std::ranges::find(allowed, *proxy) == allowed.end())) {
    return std::nullopt;
  }
  UserInfo user;
  user.name = first_of(settings.username_headers, request);
  if (user.name.empty()) {
    return std::nullopt;
  }
  user.uid = first_of(settings.uid_headers, request);
  for (const std::string& name : settings.group_headers) {
    for (std::string& group : values_of(request.header(lower(name)))) {
      user.groups.push_back(std::move(group));
    }
  }
  for (const std::string& name : settings.extra_prefixes) {
    const std::string prefix = lower(name);
    for (auto it = request.headers.lower_bound(prefix);
         it != request.headers.end() && it->first.starts_with(prefix); ++it) {
      std::vector<std::string>& extra = user.extra[unescaped(it->first.substr(prefix.size()))];
      std::vector<std::string> values = values_of(it->second);
      extra.insert(extra.end(), values.begin(), values.end());
    }
  }
  if (user.name != "system:anonymous" && !user.in_group("system:authenticated")) {
    user.groups.emplace_back("system:authenticated");
  }
  return user;
}

}  // namespace athanor::apiserver
