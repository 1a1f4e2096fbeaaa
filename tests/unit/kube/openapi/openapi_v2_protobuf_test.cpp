// SPDX-License-Identifier: Apache-2.0
#include "kube/openapi/openapi_v2_protobuf.hpp"

#include <gtest/gtest.h>

#include "kube/protobuf/protobuf_wire.hpp"
#include "kube/text/json.hpp"

namespace athanor::openapi_v2_protobuf_test {
namespace {

// The bytes of a field, by numbers from the message down; the first of each.
std::string_view field(std::string_view message, std::initializer_list<std::uint32_t> path) {
  for (const std::uint32_t number : path) {
    protobuf::WireReader reader(message);
    protobuf::WireField found;
    bool there = false;
    while (!there && reader.next(found)) {
      there = found.number == number;
    }
    if (!there) {
      return "(absent)";
    }
    message = found.bytes;
  }
  return message;
}

TEST(SwaggerProtobuf, HasTheNumbersOfItsFields) {
  const auto document = json::parse(R"({"swagger":"2.0","info":{"title":"T","version":"v1"},
    "paths":{"/a/{b}":{"parameters":[{"name":"b","in":"path","required":true,"type":"string"}],
      "post":{"operationId":"op","tags":["t"],"x-kubernetes-action":"post",
        "parameters":[{"name":"body","in":"body","schema":{"$ref":"#/definitions/A"}},
                      {"name":"q","in":"query","type":"boolean"}],
        "responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/A"}}}}}},
    "definitions":{"A":{"type":"object","required":["l"],"description":"d","properties":{
      "l":{"type":"array","items":{"type":"string"}}},
      "additionalProperties":{"type":"integer"}}},
    "security":[{"Token":[]}],
    "securityDefinitions":{"Token":{"type":"apiKey","name":"authorization","in":"header"}}})");
  ASSERT_TRUE(document.ok());
  const std::string text = openapi_v2_protobuf(*document);
  EXPECT_EQ(field(text, {1}), "2.0");
  EXPECT_EQ(field(text, {2, 1}), "T");
  EXPECT_EQ(field(text, {2, 2}), "v1");
  EXPECT_EQ(field(text, {8, 2, 1}), "/a/{b}");
  const std::string_view post = field(text, {8, 2, 2, 4});
  EXPECT_EQ(field(post, {5}), "op");
  EXPECT_EQ(field(post, {1}), "t");
  EXPECT_EQ(field(post, {8, 1, 1, 2}), "body");
  EXPECT_EQ(field(post, {8, 1, 1, 5, 1}), "#/definitions/A");
  EXPECT_EQ(field(post, {9, 1, 1}), "200");
  EXPECT_EQ(field(post, {9, 1, 2, 1, 2, 1, 1}), "#/definitions/A");
  EXPECT_EQ(field(post, {13, 1}), "x-kubernetes-action");
  EXPECT_EQ(field(post, {13, 2, 2}), "\"post\"");
  EXPECT_EQ(field(text, {8, 2, 2, 9, 1, 2, 4, 4}), "b");
  const std::string_view schema = field(text, {9, 1, 2});
  EXPECT_EQ(field(schema, {22, 1}), "object");
  EXPECT_EQ(field(schema, {19}), "l");
  EXPECT_EQ(field(schema, {4}), "d");
  EXPECT_EQ(field(schema, {25, 1, 1}), "l");
  EXPECT_EQ(field(schema, {25, 1, 2, 23, 1, 22, 1}), "string");
  EXPECT_EQ(field(schema, {21, 1, 22, 1}), "integer");
  EXPECT_EQ(field(text, {12, 1, 1}), "Token");
  EXPECT_EQ(field(text, {13, 1, 2, 2, 3}), "header");
}

}  // namespace
}  // namespace athanor::openapi_v2_protobuf_test
