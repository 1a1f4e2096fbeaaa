// SPDX-License-Identifier: Apache-2.0
// Requests from writes, results from responses.
#include "embedded/bridge/calls.hpp"

#include <utility>

#include "kube/text/json.hpp"

namespace athanor::bridge {

net::Request to_request(const runtime::WriteRequest& write) {
  runtime::HttpForm form = runtime::http_form(write);
  net::Request request{.method = std::move(form.method),
                       .path = std::move(form.path),
                       .query = std::move(form.query),
                       .body = write.body};
  request.headers.emplace("content-type", std::move(form.content_type));
  request.credentials.internal_user = write.user;
  return request;
}

runtime::WriteResult to_result(std::uint64_t id, const net::Response& response) {
  Value body;
  if (response.value) {
    body = *response.value;
  } else if (!response.body.empty()) {
    body = json::parse(response.body).value_or({});
  }
  runtime::WriteResult result{.id = id};
  if (response.status >= 200 && response.status < 300) {
    result.object = Object(std::move(body));
    return result;
  }
  result.error = Error{
      .code = response.status, .reason = body["reason"].str(), .message = body["message"].str()};
  if (const Value& seconds = body.at({"details", "retryAfterSeconds"}); seconds.is_integer()) {
    result.retry_after = std::chrono::seconds(seconds.as_int());
  }
  return result;
}

}  // namespace athanor::bridge
