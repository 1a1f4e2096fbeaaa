// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/request/respond.hpp"

#include "embedded/apiserver/request/shape.hpp"
#include "embedded/apiserver/request/subresource.hpp"

namespace athanor::apiserver {

Response value_response(const Call& call, Value value, int code) {
  Response response;
  response.status = code;
  response.content_type = content_type_of(call.accepted.encoding);
  response.value = std::move(value);
  return response;
}

Response object_response(Call& call, Value object, int code) {
  if (call.accepted.shape == Shape::Whole || call.accepted.shape == Shape::MetadataList) {
    return value_response(call, std::move(object), code);
  }
  const auto include = read_include_object(call.request);
  if (!include.ok()) {
    return error_response(include.error());
  }
  return value_response(
      call, shape_object(*call.resource, call.accepted, *include, object, call.now), code);
}

Response error_response(const StatusError& error) {
  if (error.plain_text) {
    return text_response(error.code, error.message);
  }
  Response response;
  response.status = error.code;
  response.value = error.to_value();
  if (error.details && error.details->retry_after_seconds) {
    response.headers.emplace_back("Retry-After",
                                  std::to_string(*error.details->retry_after_seconds));
  }
  if (error.code == 403) {
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  }
  return response;
}

Response text_response(int code, std::string text) {
  Response response;
  response.status = code;
  response.content_type = "text/plain; charset=utf-8";
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.body = std::move(text);
  return response;
}

}  // namespace athanor::apiserver
