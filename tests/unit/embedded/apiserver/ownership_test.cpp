// SPDX-License-Identifier: Apache-2.0
// managedFields and server-side apply through requests (docs/spec/apiserver.md 11).
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::ownership_test {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kMap = "/api/v1/namespaces/tst/configmaps/s";
constexpr std::string_view kMaps = "/api/v1/namespaces/tst/configmaps";

std::string path(std::string_view query) {
  return std::string(kMap) + std::string(query);
}

std::string config(std::string_view data) {
  return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s"},"data":)" +
         std::string(data) + "}";
}

TEST(Ownership, OfAnUpdateCoversChangedFields) {
  TestServer server;
  server.post(std::string(kMaps) + "?fieldManager=one", config_map("s", R"({"a":"1","b":"1"})"));
  server.patch(path("?fieldManager=two"), "merge", R"({"data":{"b":"2"}})");
  const Value entries = server.get(kMap).value["metadata"]["managedFields"];
  ASSERT_EQ(entries.size(), 2U) << json::print(entries);
  EXPECT_EQ(entries[0]["manager"].as_string(), "one");
  EXPECT_EQ(entries[0]["operation"].as_string(), "Update");
  EXPECT_EQ(entries[0]["fieldsV1"], parse(R"({"f:data":{".":{},"f:a":{}}})"));
  EXPECT_EQ(entries[1]["fieldsV1"], parse(R"({"f:data":{"f:b":{}}})"));
  EXPECT_EQ(entries[1]["fieldsType"].as_string(), "FieldsV1");
}

TEST(Ownership, TakesTheNameFromTheUserAgent) {
  TestServer server;
  server.call("POST " + std::string(kMaps), json::print(config_map("s", R"({"a":"1"})")),
              {{"user-agent", "kubectl/v1.35 (linux)"}});
  EXPECT_EQ(server.get(kMap).value["metadata"]["managedFields"][0]["manager"].as_string(),
            "kubectl");
}

TEST(Ownership, OfAppliedFieldsGoesWithThem) {
  TestServer server;
  server.patch(path("?fieldManager=m1"), "apply", config(R"({"a":"1","b":"1"})"));
  server.patch(path("?fieldManager=m2"), "apply", config(R"({"b":"1","c":"1"})"));
  const Answer fewer = server.patch(path("?fieldManager=m1"), "apply", config(R"({"a":"1"})"));
  EXPECT_EQ(fewer.value["data"], parse(R"({"a":"1","b":"1","c":"1"})"));
  const Answer gone = server.patch(path("?fieldManager=m2"), "apply", config(R"({"c":"1"})"));
  EXPECT_EQ(gone.value["data"], parse(R"({"a":"1","c":"1"})"));
  const Answer same = server.patch(path("?fieldManager=m2"), "apply", config(R"({"c":"1"})"));
  EXPECT_EQ(same.value["metadata"]["resourceVersion"], gone.value["metadata"]["resourceVersion"]);
}

TEST(Ownership, IsClearedByAnEmptyEntry) {
  TestServer server;
  server.post(std::string(kMaps) + "?fieldManager=one", config_map("s", R"({"a":"1"})"));
  const Answer cleared = server.patch(kMap, "merge", R"({"metadata":{"managedFields":[{}]}})");
  EXPECT_EQ(cleared.status, 200) << cleared.text;
  EXPECT_TRUE(cleared.value["metadata"]["managedFields"].empty());
  const Answer conflict = server.patch(path("?fieldManager=m"), "apply", config(R"({"a":"2"})"));
  EXPECT_THAT(conflict.message(), HasSubstr("before-first-apply"));
}

TEST(Ownership, MigratesFromClientSideApply) {
  TestServer server;
  server.post(std::string(kMaps) + "?fieldManager=kubectl-client-side-apply",
              config_map("s", R"({"a":"1"})"));
  const Answer first = server.patch(path("?fieldManager=kubectl-last-applied&force=true"), "apply",
                                    config(R"({"a":"1"})"));
  ASSERT_EQ(first.status, 200) << first.text;
  Value entries = first.value["metadata"]["managedFields"];
  Value kept = Value::list();
  for (const Value& entry : entries.items()) {
    if (entry["manager"].as_string() != "kubectl-client-side-apply") {
      kept.push_back(entry);
    }
  }
  const Value patch = Value::list(
      {Value::object({{"op", "replace"}, {"path", "/metadata/managedFields"}, {"value", kept}}),
       Value::object({{"op", "replace"},
                      {"path", "/metadata/resourceVersion"},
                      {"value", first.value["metadata"]["resourceVersion"]}})});
  const Answer rewritten = server.patch(kMap, "json", json::print(patch));
  ASSERT_EQ(rewritten.status, 200) << rewritten.text;
  EXPECT_EQ(rewritten.value["metadata"]["managedFields"].size(), 1U);
  EXPECT_EQ(server.patch(path("?fieldManager=kubectl"), "apply", config(R"({"a":"1"})")).status,
            200);
  EXPECT_EQ(server.patch(kMap, "json", json::print(patch)).status, 409);
}

TEST(Ownership, RefusesFieldsForbiddenToApply) {
  TestServer server;
  EXPECT_EQ(server
                .patch(path("?fieldManager=m"), "apply",
                       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s",
                           "managedFields":[{"manager":"x"}]}})")
                .message(),
            "metadata.managedFields must be nil");
  EXPECT_EQ(server
                .patch(path("?fieldManager=m"), "apply",
                       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s",
                           "uid":"abc"}})")
                .message(),
            "Operation cannot be fulfilled on configmaps \"s\": uid mismatch: the provided object "
            "specified uid abc, and no existing object was found");
  EXPECT_EQ(server
                .patch(path("?fieldManager=m"), "apply",
                       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{}})")
                .message(),
            "the name of the object (s based on URL) was undeterminable: name must be provided");
  EXPECT_THAT(server.patch(path("?fieldManager=m"), "apply", "a: [").message(),
              HasSubstr("error decoding YAML: "));
}

}  // namespace
}  // namespace athanor::apiserver::ownership_test
