// SPDX-License-Identifier: Apache-2.0
// Passing a request on to the server of its group version, as the user that it comes from.
#include <fmt/format.h>

#include "embedded/apiserver/aggregation/aggregation.hpp"
#include "embedded/apiserver/aggregation/forwarding.hpp"
#include "embedded/apiserver/request/call.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::chrono::seconds kTimeout{60};  // to the head of the answer

void add_user(const UserInfo& user, OutsideRequest& request) {
  auto& headers = request.headers;
  headers.emplace_back("X-Remote-User", user.name);
  if (!user.uid.empty()) {
    headers.emplace_back("X-Remote-Uid", user.uid);
  }
  for (const std::string& group : user.groups) {
    headers.emplace_back("X-Remote-Group", group);
  }
  for (const auto& [key, values] : user.extra) {
    for (const std::string& value : values) {
      headers.emplace_back("X-Remote-Extra-" + percent_encoded(key, ""), value);
    }
  }
}

StatusError unavailable(std::string text) {
  StatusError error;
  error.code = 503;
  error.message = std::move(text) + "\n";
  error.plain_text = true;
  return error;
}

// "/apis/GROUP/VERSION/..." as "VERSION.GROUP"; empty when the path is another one.
std::string service_name(std::string_view path) {
  constexpr std::string_view kPrefix = "/apis/";
  if (!path.starts_with(kPrefix)) {
    return {};
  }
  path.remove_prefix(kPrefix.size());
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) {
    return {};
  }
  const std::string_view group = path.substr(0, slash);
  const std::string_view rest = path.substr(slash + 1);
  const std::string_view version = rest.substr(0, rest.find('/'));
  return version.empty() ? std::string() : fmt::format("{}.{}", version, group);
}

}  // namespace

std::optional<StatusResult<Response>> Aggregation::serve(Call& call) {
  if (empty()) {
    return std::nullopt;
  }
  const auto api = find(service_name(call.request.path));
  if (!api || call.table->has_version(api->group, api->version)) {
    return std::nullopt;
  }
  if (!api->available) {
    return unavailable("service unavailable");
  }
  const auto* reply = call.conversation.ask("proxy", [&](const std::string&) {
    OutsideRequest request = request_to(*api);
    request.method = call.request.method;
    request.url += request_target(call.request);
    pass_headers(call.request, call.core.options.front_proxy, request);
    add_user(call.user, request);
    request.body = body_text(call.request);
    request.timeout = kTimeout;
    request.stream = true;
    if (asks_to_switch(call.request)) {
      pass_upgrade(call.request, request);
    }
    return request;
  });
  if (reply == nullptr) {
    return status::pending();
  }
  const OutsideAnswer& answer = *reply->answer;
  if (!answer.failure.empty()) {
    return unavailable("error trying to reach service: " + answer.failure);
  }
  return passed_on(call.request, answer);
}

}  // namespace athanor::apiserver
