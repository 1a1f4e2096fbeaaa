// SPDX-License-Identifier: Apache-2.0
// Lists, pages, selectors and watches (docs/spec/apiserver.md 8).
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::reading_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kMaps = "/api/v1/namespaces/tst/configmaps";
constexpr const char* kJson = "application/json";

std::string maps(std::string_view rest) {
  return std::string(kMaps) + std::string(rest);
}

Value labelled(std::string_view name, std::string_view label) {
  Value object = config_map(name);
  object.member("metadata").set("labels", Value::object({{"x", Value(label)}}));
  return object;
}

std::vector<std::string> names(const Value& list) {
  std::vector<std::string> result;
  for (const Value& item : list["items"].items()) {
    result.push_back(item["metadata"]["name"].str());
  }
  return result;
}

std::vector<std::string> briefs(const std::vector<Value>& events) {
  std::vector<std::string> result;
  result.reserve(events.size());
  for (const Value& event : events) {
    result.push_back(event["type"].str() + " " + event["object"]["metadata"]["name"].str());
  }
  return result;
}

TEST(List, IsOrderedAndBare) {
  TestServer server;
  server.post(kMaps, config_map("b"));
  server.post(kMaps, config_map("a"));
  const Answer list = server.get(kMaps);
  EXPECT_EQ(list.value["kind"].as_string(), "ConfigMapList");
  EXPECT_EQ(list.value["apiVersion"].as_string(), "v1");
  EXPECT_THAT(names(list.value), ElementsAre("a", "b"));
  EXPECT_FALSE(list.value["items"][0].contains("kind"));
  EXPECT_EQ(list.value["metadata"]["resourceVersion"].as_string(),
            std::to_string(server.store().revision()));
  EXPECT_FALSE(list.value["metadata"].contains("continue"));
  const Answer pretty = server.get(maps("?pretty=1"));
  EXPECT_EQ(pretty.value, list.value);
  EXPECT_THAT(pretty.text, HasSubstr("\n  \"kind\""));
  EXPECT_EQ(json::print(server.get("/api/v1/namespaces/nowhere/configmaps").value["items"]), "[]");
}

TEST(List, PagesComeFromOneState) {
  TestServer server;
  for (const char* name : {"a", "b", "c", "d"}) {
    server.post(kMaps, config_map(name));
  }
  const Answer first = server.get(maps("?limit=2"));
  EXPECT_THAT(names(first.value), ElementsAre("a", "b"));
  EXPECT_EQ(first.value["metadata"]["remainingItemCount"].as_int(), 2);
  server.post(kMaps, config_map("bb"));
  server.remove(maps("/d"));
  const std::string token = first.value["metadata"]["continue"].str();
  const Answer rest = server.get(maps("?limit=2&continue=" + token));
  EXPECT_THAT(names(rest.value), ElementsAre("c", "d"));
  EXPECT_EQ(rest.value["metadata"]["resourceVersion"], first.value["metadata"]["resourceVersion"]);
  EXPECT_FALSE(rest.value["metadata"].contains("continue"));
}

TEST(List, PagesOfASelectionHideTheRemainder) {
  TestServer server;
  for (const char* name : {"a", "b", "c"}) {
    server.post(kMaps, labelled(name, "1"));
  }
  const Answer first = server.get(maps("?limit=1&labelSelector=x=1"));
  EXPECT_THAT(names(first.value), ElementsAre("a"));
  EXPECT_FALSE(first.value["metadata"].contains("remainingItemCount"));
  const Answer rest =
      server.get(maps("?labelSelector=x=1&continue=" + first.value["metadata"]["continue"].str()));
  EXPECT_THAT(names(rest.value), ElementsAre("b", "c"));
}

TEST(List, LongOnesAreMadePieceByPiece) {
  TestServer server;
  constexpr std::size_t kCount = 70;
  const std::string payload(2000, 'x');
  for (std::size_t i = 0; i < kCount; ++i) {
    Value map = config_map("m" + std::to_string(100 + i));
    map.member("data").set("k", payload);
    ASSERT_EQ(server.post(kMaps, map).status, 201);
  }
  Answer list = server.get(maps(""));
  ASSERT_NE(list.stream, nullptr);
  EXPECT_EQ(list.text, "");
  std::string text;
  EXPECT_EQ(list.stream->pull(text), Stream::State::Open);
  EXPECT_LT(text.size(), kCount * payload.size());
  while (list.stream->pull(text) == Stream::State::Open) {
  }
  const auto read = json::parse(text);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ((*read)["items"].size(), kCount);
  // Who asks for few gets the same, whole.
  const Answer page = server.get(maps("?limit=64"));
  EXPECT_EQ(page.stream, nullptr);
  EXPECT_EQ(page.value["items"][63], (*read)["items"][63]);
  EXPECT_EQ((*read)["metadata"]["resourceVersion"], page.value["metadata"]["resourceVersion"]);
}

TEST(List, SelectsMatchingObjectsAmongMany) {
  TestServer server;
  for (std::size_t i = 0; i < 100; ++i) {  // more than three blocks
    server.post(kMaps, labelled("m" + std::to_string(100 + i), std::to_string(i % 33)));
  }
  const Answer chosen = server.get(maps("?labelSelector=x=32"));
  EXPECT_THAT(names(chosen.value), ElementsAre("m132", "m165", "m198"));
  EXPECT_THAT(
      names(server.get(maps("?labelSelector=x=31&fieldSelector=metadata.name!=m164")).value),
      ElementsAre("m131", "m197"));
}

TEST(List, ShowsExactlyAnOlderState) {
  TestServer server;
  server.post(kMaps, config_map("a"));
  const auto then = std::to_string(server.store().revision());
  server.post(kMaps, config_map("b"));
  const Answer old = server.get(maps("?resourceVersionMatch=Exact&resourceVersion=" + then));
  EXPECT_THAT(names(old.value), ElementsAre("a"));
  EXPECT_EQ(old.value["metadata"]["resourceVersion"].as_string(), then);
  const Answer newer =
      server.get(maps("?resourceVersionMatch=NotOlderThan&resourceVersion=" + then));
  EXPECT_THAT(names(newer.value), ElementsAre("a", "b"));
}

struct BadQuery {
  const char* query;
  int code;
  const char* message;
};
class BadQueries : public ::testing::TestWithParam<BadQuery> {};

TEST_P(BadQueries, AreRefused) {
  TestServer server;
  const Answer answer = server.get(maps(GetParam().query));
  EXPECT_EQ(answer.status, GetParam().code) << answer.text;
  EXPECT_EQ(answer.message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Section8, BadQueries,
    ::testing::Values(
        BadQuery{"?resourceVersionMatch=Exact", 422,
                 "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
                 "resourceVersionMatch is forbidden unless resourceVersion is provided"},
        BadQuery{"?resourceVersionMatch=Exact&resourceVersion=0", 422,
                 "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
                 "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""},
        BadQuery{"?resourceVersionMatch=Foo&resourceVersion=1", 422,
                 "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Unsupported "
                 "value: \"Foo\": supported values: \"Exact\", \"NotOlderThan\", \"\""},
        BadQuery{"?sendInitialEvents=true", 422,
                 "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: "
                 "sendInitialEvents is forbidden for list"},
        BadQuery{"?resourceVersion=abc", 400,
                 "invalid resource version: resourceVersion: Invalid value: \"abc\": "
                 "strconv.ParseUint: parsing \"abc\": invalid syntax"},
        BadQuery{"?limit=x", 400, "strconv.ParseInt: parsing \"x\": invalid syntax"},
        BadQuery{"?fieldSelector=data.k=1", 400,
                 "\"data.k\" is not a known field selector: only \"metadata.name\", "
                 "\"metadata.namespace\""},
        BadQuery{"?fieldSelector=bad", 400, "invalid selector: 'bad'; can't understand 'bad'"},
        BadQuery{"?watch=1&sendInitialEvents=true", 422,
                 "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
                 "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"},
        BadQuery{"?watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=1", 422,
                 "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
                 "resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
                 "provided"},
        BadQuery{"?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIvYVx1MDAwMCJ9&"
                 "resourceVersion=7",
                 400, "specifying resource version is not allowed when using continue"},
        BadQuery{"?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIvYVx1MDAwMCJ9&"
                 "resourceVersion=abc",
                 400, "specifying resource version is not allowed when using continue"},
        BadQuery{"?continue=x&resourceVersion=7&fieldSelector=data.k=1", 400,
                 "\"data.k\" is not a known field selector: only \"metadata.name\", "
                 "\"metadata.namespace\""}));

TEST(List, RefusesTheFuture) {
  TestServer server;
  const Answer answer = server.get(maps("?resourceVersion=999999"));
  EXPECT_EQ(answer.status, 504);
  EXPECT_EQ(answer.message(), "Timeout: Too large resource version: 999999, current: " +
                                  std::to_string(server.store().revision()));
  EXPECT_EQ(answer.value["details"], parse(R"({"causes":[{"reason":"ResourceVersionTooLarge",
                      "message":"Too large resource version"}],"retryAfterSeconds":1})"));
}

TEST(List, SelectsByField) {
  TestServer server;
  for (const char* node : {"n1", "n2"}) {
    Value pod = parse(R"({"metadata":{},"spec":{"containers":[{"name":"c","image":"i"}]}})");
    pod.set_path({"metadata", "name"}, std::string("on-") + node);
    pod.set_path({"spec", "nodeName"}, node);
    ASSERT_EQ(server.post("/api/v1/namespaces/tst/pods", pod).status, 201);
  }
  EXPECT_THAT(names(server.get("/api/v1/pods?fieldSelector=spec.nodeName=n1").value),
              ElementsAre("on-n1"));
  EXPECT_THAT(names(server.get("/api/v1/pods?fieldSelector=spec.nodeName!=n1").value),
              ElementsAre("on-n2"));
  EXPECT_THAT(names(server.get("/api/v1/pods?fieldSelector=metadata.name=on-n2").value),
              ElementsAre("on-n2"));
  EXPECT_EQ(server.get("/api/v1/pods?fieldSelector=zz=1").message(),
            "field label not supported: zz");
}

TEST(Watch, BeginsWithPresentObjects) {
  TestServer server;
  server.post(kMaps, config_map("a"));
  Answer watch = server.get(maps("?watch=1"));
  ASSERT_EQ(watch.status, 200);
  EXPECT_EQ(watch.content_type, kJson);
  EXPECT_THAT(briefs(TestServer::events(watch)), ElementsAre("ADDED a"));
  server.post(kMaps, config_map("b"));
  server.patch(maps("/a"), "merge", R"({"data":{"k":"v"}})");
  server.remove(maps("/b"));
  server.post("/api/v1/namespaces/default/configmaps", config_map("elsewhere"));
  const auto events = TestServer::events(watch);
  EXPECT_THAT(briefs(events), ElementsAre("ADDED b", "MODIFIED a", "DELETED b"));
  EXPECT_EQ(events[0]["object"]["kind"].as_string(), "ConfigMap");
  EXPECT_EQ(events[2]["object"]["metadata"]["resourceVersion"].as_string(),
            std::to_string(server.store().revision() - 1));
}

TEST(Watch, ResumesBehindARevision) {
  TestServer server;
  server.post(kMaps, config_map("a"));
  const auto then = std::to_string(server.store().revision());
  server.post(kMaps, config_map("b"));
  Answer watch = server.get(maps("?watch=1&resourceVersion=" + then));
  EXPECT_THAT(briefs(TestServer::events(watch)), ElementsAre("ADDED b"));
}

TEST(Watch, SelectorsFilterTransitions) {
  TestServer server;
  server.post(kMaps, labelled("in", "1"));
  Answer watch = server.get(maps("?watch=1&labelSelector=x=1"));
  EXPECT_THAT(briefs(TestServer::events(watch)), ElementsAre("ADDED in"));
  server.post(kMaps, labelled("late", "0"));
  server.patch(maps("/late"), "merge", R"({"metadata":{"labels":{"x":"1"}}})");
  server.patch(maps("/late"), "merge", R"({"data":{"k":"v"}})");
  const Answer left = server.patch(maps("/in"), "merge", R"({"metadata":{"labels":{"x":"2"}}})");
  const auto events = TestServer::events(watch);
  EXPECT_THAT(briefs(events), ElementsAre("ADDED late", "MODIFIED late", "DELETED in"));
  EXPECT_EQ(events[2]["object"]["metadata"]["labels"]["x"].as_string(), "1");
  EXPECT_EQ(events[2]["object"]["metadata"]["resourceVersion"],
            left.value["metadata"]["resourceVersion"]);
}

TEST(Watch, ListMarksTheEndOfTheInitialEvents) {
  TestServer server;
  server.post(kMaps, config_map("a"));
  Answer watch =
      server.get(maps("?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                      "&allowWatchBookmarks=true"));
  const auto events = TestServer::events(watch);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0]["type"].as_string(), "ADDED");
  Value expected = parse(
      R"({"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{
          "annotations":{"k8s.io/initial-events-end":"true"}}}})");
  expected.member("object")
      .member("metadata")
      .set("resourceVersion", std::to_string(server.store().revision()));
  EXPECT_EQ(events[1], expected);
}

TEST(Watch, SendsBookmarksAndEndsInTime) {
  TestServer server;
  Answer watch = server.get(maps("?watch=1&allowWatchBookmarks=true&timeoutSeconds=100"));
  EXPECT_TRUE(TestServer::events(watch).empty());
  server.advance(std::chrono::seconds(61));
  const auto minute = TestServer::events(watch);
  ASSERT_EQ(minute.size(), 1U);
  EXPECT_EQ(minute[0]["type"].as_string(), "BOOKMARK");
  server.advance(std::chrono::seconds(38));
  EXPECT_EQ(TestServer::events(watch).size(), 1U);
  EXPECT_FALSE(watch.ended);
  server.advance(std::chrono::seconds(2));
  EXPECT_TRUE(TestServer::events(watch).empty());
  EXPECT_TRUE(watch.ended);
}

TEST(Watch, TablesCarryTheirColumnsOnce) {
  TestServer server;
  Request request;
  Answer watch = server.call("GET " + maps("?watch=1"), "",
                             {{"accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  server.post(kMaps, config_map("a"));
  server.post(kMaps, config_map("b"));
  const auto events = TestServer::events(watch);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0]["object"]["kind"].as_string(), "Table");
  EXPECT_FALSE(events[0]["object"]["columnDefinitions"].empty());
  EXPECT_TRUE(events[1]["object"]["columnDefinitions"].is_null());
  EXPECT_EQ(events[1]["object"]["rows"].size(), 1U);
}

TEST(Watch, EndsAtShutdown) {
  TestServer server;
  Answer watch = server.get(maps("?watch=1"));
  server.server().begin_shutdown();
  EXPECT_TRUE(TestServer::events(watch).empty());
  EXPECT_TRUE(watch.ended);
  EXPECT_EQ(server.get("/readyz").status, 500);
}

TEST(Forms, TablesAndMetadata) {
  TestServer server;
  server.post(kMaps, config_map("a", R"({"k":"v"})"));
  const Answer table = server.call("GET " + maps("?limit=500"), "",
                                   {{"accept",
                                     "application/json;as=Table;v=v1;g=meta.k8s.io,"
                                     "application/json"}});
  EXPECT_EQ(table.value["kind"].as_string(), "Table");
  EXPECT_EQ(table.value["apiVersion"].as_string(), "meta.k8s.io/v1");
  EXPECT_EQ(table.value["columnDefinitions"][0]["name"].as_string(), "Name");
  EXPECT_EQ(table.value["columnDefinitions"][0]["format"].as_string(), "name");
  EXPECT_EQ(table.value["rows"][0]["object"]["kind"].as_string(), "PartialObjectMetadata");
  const Answer none =
      server.call("GET " + maps("?includeObject=None"), "",
                  {{"accept", "application/json;as=Table;v=v1beta1;g=meta.k8s.io"}});
  EXPECT_EQ(none.value["apiVersion"].as_string(), "meta.k8s.io/v1beta1");
  EXPECT_TRUE(none.value["rows"][0]["object"].is_null());
  const Answer bad = server.call("GET " + maps("?includeObject=Bad"), "",
                                 {{"accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(bad.message(),
            "Unable to convert to Table as requested: includeObject: Invalid value: \"Bad\": must "
            "be 'Metadata', 'Object', 'None', or empty");
  const Answer partial = server.call(
      "GET " + std::string(kMaps), "",
      {{"accept",
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"}});
  EXPECT_EQ(partial.value["kind"].as_string(), "PartialObjectMetadataList");
  EXPECT_EQ(partial.value["items"][0]["kind"].as_string(), "PartialObjectMetadata");
  EXPECT_FALSE(partial.value["items"][0].contains("data"));
  const Answer yaml = server.call("GET " + maps("/a"), "", {{"accept", "application/yaml"}});
  EXPECT_EQ(yaml.content_type, "application/yaml");
  EXPECT_THAT(yaml.text, StartsWith("apiVersion: v1\ndata:\n  k: v\n"));
  const Answer unknown = server.call("GET " + maps("/a"), "", {{"accept", "text/html"}});
  EXPECT_EQ(unknown.status, 406);
  EXPECT_EQ(unknown.message(),
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
            "application/vnd.kubernetes.protobuf");
}

TEST(Events, AreOneStoreInTwoGroups) {
  TestServer server;
  const Value event = parse(
      R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"p","namespace":"tst"},
          "reason":"Started","message":"hello","type":"Normal","count":2})");
  ASSERT_EQ(server.post("/api/v1/namespaces/tst/events", event).status, 201);
  const Answer modern = server.get("/apis/events.k8s.io/v1/namespaces/tst/events/e");
  ASSERT_EQ(modern.status, 200);
  EXPECT_EQ(modern.value["apiVersion"].as_string(), "events.k8s.io/v1");
  EXPECT_EQ(modern.value["regarding"]["name"].as_string(), "p");
  EXPECT_EQ(modern.value["note"].as_string(), "hello");
  EXPECT_EQ(modern.value["deprecatedCount"].as_int(), 2);
  EXPECT_EQ(server.get("/api/v1/events?fieldSelector=involvedObject.name=p").value["items"].size(),
            1U);
  server.advance(std::chrono::minutes(61));
  EXPECT_EQ(server.get("/api/v1/namespaces/tst/events/e").status, 404);
}

}  // namespace
}  // namespace athanor::apiserver::reading_test
