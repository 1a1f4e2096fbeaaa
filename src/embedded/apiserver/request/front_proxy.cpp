// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/request/front_proxy.hpp"

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"

namespace athanor::apiserver {
namespace {

std::string first_of(const std::vector<std::string>& names, const Request& request) {
  for (const std::string& name : names) {
    if (const std::string_view value = request.header(lower(name)); !value.empty()) {
      return std::string(value);
    }
  }
  return {};
}

}  // namespace

std::string extra_key(std::string_view encoded) {
  constexpr int kHex = 16;
  std::string key;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      key += encoded[i];
      continue;
    }
    unsigned code = 0;
    const char* digits = encoded.data() + i + 1;
    if (i + 2 >= encoded.size() ||
        std::from_chars(digits, digits + 2, code, kHex).ptr != digits + 2) {
      return std::string(encoded);
    }
    key += static_cast<char>(code);
    i += 2;
  }
  return key;
}

bool names_user(const FrontProxy& settings, std::string_view lower_case_name) {
  const auto listed = [&](const std::vector<std::string>& names) {
    return std::ranges::any_of(
        names, [&](const std::string& name) { return lower(name) == lower_case_name; });
  };
  return listed(settings.username_headers) || listed(settings.uid_headers) ||
         listed(settings.group_headers) ||
         std::ranges::any_of(settings.extra_prefixes, [&](const std::string& prefix) {
           return lower_case_name.starts_with(lower(prefix));
         });
}

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
    for (const std::string_view group : request.header_values(lower(name))) {
      if (!group.empty()) {
        user.groups.emplace_back(group);
      }
    }
  }
  for (const std::string& name : settings.extra_prefixes) {
    const std::string prefix = lower(name);
    for (auto it = request.headers.lower_bound(prefix);
         it != request.headers.end() && it->first.starts_with(prefix); ++it) {
      user.extra[extra_key(std::string_view(it->first).substr(prefix.size()))].push_back(
          it->second);
    }
  }
  if (user.name != "system:anonymous" && !user.in_group("system:authenticated")) {
    user.groups.emplace_back("system:authenticated");
  }
  return user;
}

}  // namespace athanor::apiserver
