// SPDX-License-Identifier: Apache-2.0
#include "webhook/conversion.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"

namespace athanor::webhook::conversion_test {
namespace {

Result<Value> rename(const Value& object, std::string_view version) {
  if (object["broken"].as_bool()) {
    return Error::bad_request("cannot be read");
  }
  Value converted = object;
  converted.set("apiVersion", version);
  return converted;
}

std::string ask(const std::string& objects) {
  const auto answer = answer_conversion(
      rename, "POST", "application/json; charset=utf-8",
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u",)"
      R"("desiredAPIVersion":"g/v2","objects":)" +
          objects + "}}");
  return answer.ok() ? *answer : answer.error().message;
}

TEST(ConversionReview, AllObjectsComeBackInTheirOrder) {
  EXPECT_EQ(ask(R"([{"apiVersion":"g/v1","n":1},{"apiVersion":"g/v1","n":2}])"),
            R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{)"
            R"("uid":"u","result":{"status":"Success"},"convertedObjects":[)"
            R"({"apiVersion":"g/v2","n":1},{"apiVersion":"g/v2","n":2}]}})");
}

TEST(ConversionReview, OneThatCannotBeConvertedFailsThemAll) {
  EXPECT_NE(ask(R"([{"n":1},{"broken":true}])")
                .find(R"("result":{"status":"Failure","message":"cannot be read"},)"
                      R"("convertedObjects":[])"),
            std::string::npos);
}

TEST(ConversionReview, OtherRequestsAreRefused) {
  const auto code = [](std::string_view method, std::string_view type, const std::string& body) {
    return answer_conversion(rename, method, type, body).error().code;
  };
  EXPECT_EQ(code("GET", "application/json", "{}"), 405);
  EXPECT_EQ(code("POST", "text/plain", "{}"), 415);
  EXPECT_EQ(code("POST", "application/json", "{"), 400);
  EXPECT_EQ(code("POST", "application/json", "{}"), 400);
}

}  // namespace
}  // namespace athanor::webhook::conversion_test
