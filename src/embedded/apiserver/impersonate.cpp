// SPDX-License-Identifier: Apache-2.0
// Acting as somebody else: the Impersonate-* headers (spec/apiserver.md 16.1).
#include <fmt/format.h>

#include <algorithm>

#include "embedded/apiserver/route.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kServiceAccountPrefix = "system:serviceaccount:";
constexpr std::string_view kExtraHeader = "impersonate-extra-";

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) {
      part.remove_prefix(1);
    }
    parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

StatusResult<void> require(const Core& core, const UserInfo& user, std::string_view group,
                           std::string_view resource, std::string_view subresource,
                           std::string_view ns, std::string_view name) {
  Attributes attributes;
  attributes.user = &user;
  attributes.verb = "impersonate";
  attributes.group = std::string(group);
  attributes.version = "v1";
  attributes.resource = std::string(resource);
  attributes.subresource = std::string(subresource);
  attributes.ns = std::string(ns);
  attributes.name = std::string(name);
  const Decision decision = core.authorizer->authorize(attributes);
  if (!decision.allowed) {
    return access_denied(attributes, decision);
  }
  return {};
}

StatusResult<void> take_user(const Core& core, const UserInfo& caller, std::string_view name,
                             UserInfo& wanted) {
  wanted.name = std::string(name);
  if (name.starts_with(kServiceAccountPrefix)) {
    const std::string_view rest = name.substr(kServiceAccountPrefix.size());
    const std::size_t colon = rest.find(':');
    if (colon != std::string_view::npos) {
      return require(core, caller, "", "serviceaccounts", "", rest.substr(0, colon),
                     rest.substr(colon + 1));
    }
  }
  return require(core, caller, "", "users", "", "", name);
}

}  // namespace

StatusResult<UserInfo> impersonate(const Core& core, const Request& request, UserInfo user) {
  const std::string_view name = request.header("impersonate-user");
  const std::string_view groups = request.header("impersonate-group");
  const std::string_view uid = request.header("impersonate-uid");
  const auto extra = request.headers.lower_bound(kExtraHeader);
  const bool has_extra = extra != request.headers.end() && extra->first.starts_with(kExtraHeader);
  if (name.empty()) {
    if (!groups.empty() || !uid.empty() || has_extra) {
      return status::bad_request("requested groups, uid or extra without impersonating a user");
    }
    return user;
  }
  UserInfo wanted;
  ATHANOR_TRY_VOID(take_user(core, user, name, wanted));
  wanted.groups = split_list(groups);
  for (const std::string& group : wanted.groups) {
    ATHANOR_TRY_VOID(require(core, user, "", "groups", "", "", group));
  }
  if (wanted.groups.empty()) {
    const UserInfo named = internal_user(name);
    wanted.groups = named.groups;
  }
  if (!uid.empty()) {
    ATHANOR_TRY_VOID(require(core, user, "authentication.k8s.io", "uids", "", "", uid));
    wanted.uid = std::string(uid);
  }
  for (auto it = extra; it != request.headers.end() && it->first.starts_with(kExtraHeader); ++it) {
    const std::string key = it->first.substr(kExtraHeader.size());
    wanted.extra[key] = split_list(it->second);
    for (const std::string& value : wanted.extra[key]) {
      ATHANOR_TRY_VOID(require(core, user, "authentication.k8s.io", "userextras", key, "", value));
    }
  }
  if (wanted.name != "system:anonymous" && !wanted.in_group("system:authenticated")) {
    wanted.groups.emplace_back("system:authenticated");
  }
  return wanted;
}

}  // namespace athanor::apiserver
