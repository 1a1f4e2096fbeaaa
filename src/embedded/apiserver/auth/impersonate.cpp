// SPDX-License-Identifier: Apache-2.0
// Acting as another user: the Impersonate-* headers (docs/spec/apiserver.md 16.1).
#include <fmt/format.h>

#include "embedded/apiserver/request/front_proxy.hpp"
#include "embedded/apiserver/request/route.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kAccountPrefix = "system:serviceaccount:";
constexpr std::string_view kExtraHeader = "impersonate-extra-";
constexpr std::string_view kAuthentication = "authentication.k8s.io";

// One attribute that a caller impersonates: a user, a group, a uid or an extra.
struct Wish {
  std::string_view group{};
  std::string_view resource{};
  std::string_view subresource{};
  std::string_view ns{};
  std::string_view name{};
};

StatusResult<void> require(const Core& core, const UserInfo& user, const Wish& wish) {
  Attributes attributes;
  attributes.user = &user;
  attributes.verb = "impersonate";
  attributes.group = std::string(wish.group);
  attributes.version = "v1";
  attributes.resource = std::string(wish.resource);
  attributes.subresource = std::string(wish.subresource);
  attributes.ns = std::string(wish.ns);
  attributes.name = std::string(wish.name);
  const Decision decision = core.authorizer->authorize(attributes);
  if (!decision.allowed) {
    return access_denied(attributes, decision);
  }
  return {};
}

StatusResult<void> take_user(const Core& core, const UserInfo& caller, std::string_view name,
                             UserInfo& wanted) {
  wanted.name = std::string(name);
  if (name.starts_with(kAccountPrefix)) {
    const std::string_view rest = name.substr(kAccountPrefix.size());
    const std::size_t colon = rest.find(':');
    if (colon != std::string_view::npos) {
      return require(core, caller,
                     {.resource = "serviceaccounts",
                      .ns = rest.substr(0, colon),
                      .name = rest.substr(colon + 1)});
    }
  }
  return require(core, caller, {.resource = "users", .name = name});
}

}  // namespace

StatusResult<UserInfo> impersonate(const Core& core, const Request& request, UserInfo user) {
  const std::string_view name = request.header("impersonate-user");
  const std::vector<std::string_view> groups = request.header_values("impersonate-group");
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
  wanted.groups.assign(groups.begin(), groups.end());
  for (const std::string& group : wanted.groups) {
    ATHANOR_TRY_VOID(require(core, user, {.resource = "groups", .name = group}));
  }
  if (wanted.groups.empty()) {
    const UserInfo named = internal_user(name);
    wanted.groups = named.groups;
  }
  if (!uid.empty()) {
    ATHANOR_TRY_VOID(
        require(core, user, {.group = kAuthentication, .resource = "uids", .name = uid}));
    wanted.uid = std::string(uid);
  }
  for (auto it = extra; it != request.headers.end() && it->first.starts_with(kExtraHeader); ++it) {
    const std::string key = extra_key(std::string_view(it->first).substr(kExtraHeader.size()));
    ATHANOR_TRY_VOID(require(core, user,
                             {.group = kAuthentication,
                              .resource = "userextras",
                              .subresource = key,
                              .name = it->second}));
    wanted.extra[key].push_back(it->second);
  }
  if (wanted.name != "system:anonymous" && !wanted.in_group("system:authenticated")) {
    wanted.groups.emplace_back("system:authenticated");
  }
  return wanted;
}

}  // namespace athanor::apiserver
