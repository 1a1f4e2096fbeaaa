// SPDX-License-Identifier: Apache-2.0
#include "webhook/conversion.hpp"

#include <utility>

#include "kube/text/json.hpp"

namespace athanor::webhook {
namespace {

constexpr std::string_view kVersion = "apiextensions.k8s.io/v1";

}  // namespace

Result<std::string> answer_conversion(const Convert& convert, std::string_view method,
                                      std::string_view content_type, const std::string& body) {
  if (method != "POST") {
    return Error{
        .code = 405, .reason = "MethodNotAllowed", .message = "conversions are asked by POST"};
  }
  if (content_type.substr(0, content_type.find(';')) != "application/json") {
    return Error{.code = 415,
                 .reason = "UnsupportedMediaType",
                 .message = "a ConversionReview comes as application/json"};
  }
  const auto review = json::parse(body);
  if (!review.ok()) {
    return Error::bad_request(review.error().message);
  }
  const Value& asked = (*review)["request"];
  if ((*review)["apiVersion"].as_string() != kVersion ||
      (*review)["kind"].as_string() != "ConversionReview" || asked["uid"].as_string().empty()) {
    return Error::bad_request("not a ConversionReview of apiextensions.k8s.io/v1 with a request");
  }
  Value converted = Value::list();
  Value result = Value::object({{"status", "Success"}});
  for (const Value& object : asked["objects"].items()) {
    auto done = convert(object, asked["desiredAPIVersion"].as_string());
    if (!done.ok()) {
      result = Value::object({{"status", "Failure"}, {"message", done.error().message}});
      converted = Value::list();
      break;
    }
    converted.push_back(*std::move(done));
  }
  Value response = Value::object({{"uid", asked["uid"]}, {"result", std::move(result)}});
  response.set("convertedObjects", std::move(converted));
  return json::print(Value::object(
      {{"apiVersion", kVersion}, {"kind", "ConversionReview"}, {"response", std::move(response)}}));
}

}  // namespace athanor::webhook
