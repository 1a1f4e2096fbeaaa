// SPDX-License-Identifier: Apache-2.0
// Answers in protobuf: objects, lists, watches and refusals (docs/spec/apiserver.md 5.1, 5.3, check
// A3).
#include "embedded/kinds/resource_info.hpp"
#include "kube/protobuf/protobuf.hpp"
#include "kube/schema/prune.hpp"
#include "kube/schema/resources.hpp"
#include "kube/schema/types.hpp"
#include "support/sample_object.hpp"
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::protobuf_forms_test {
namespace {

const std::string kMaps = "/api/v1/namespaces/tst/configmaps";
const std::string kProtobuf = "application/vnd.kubernetes.protobuf";
const std::string kWidgets = "/apis/ex.com/v1/namespaces/tst/widgets";

Answer get_as(TestServer& server, const std::string& path, const std::string& accept) {
  return server.call("GET " + path, "", {{"accept", accept}});
}

Value decoded(const std::string& body) {
  auto object = protobuf::decode(body, {});
  EXPECT_TRUE(object.ok()) << object.error().message;
  return object.ok() ? *object : Value();
}

// The frames of a watch: length, then a WatchEvent around an envelope.
std::vector<std::pair<std::string, Value>> frames_of(Answer& watch) {
  std::string bytes;
  watch.ended = watch.stream->pull(bytes) == Stream::State::Ended;
  std::vector<std::pair<std::string, Value>> frames;
  std::string_view rest = bytes;
  while (rest.size() >= 4) {
    std::size_t size = 0;
    for (int i = 0; i < 4; ++i) {
      size = size << 8 | static_cast<unsigned char>(rest[static_cast<std::size_t>(i)]);
    }
    std::string_view event = rest.substr(4, size);
    EXPECT_EQ(event.size(), size);
    rest.remove_prefix(4 + event.size());
    EXPECT_EQ(event[0], '\x0a');
    const auto type_size = static_cast<std::size_t>(event[1]);
    const std::string type(event.substr(2, type_size));
    frames.emplace_back(type, decoded(std::string(event.substr(event.find("k8s")))));
  }
  EXPECT_TRUE(rest.empty());
  return frames;
}

void define_widgets(TestServer& server) {
  const Answer made = server.post(
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      parse(R"({"metadata":{"name":"widgets.ex.com"},"spec":{"group":"ex.com","scope":"Namespaced",
        "names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,
        "storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})"));
  ASSERT_EQ(made.status, 201) << made.message();
  ASSERT_EQ(server
                .post(kWidgets, parse(R"({"apiVersion":"ex.com/v1","kind":"Widget",
                                            "metadata":{"name":"w"}})"))
                .status,
            201);
}

TEST(ProtobufForms, AreChosenInTheClientsOrder) {
  TestServer server;
  server.post(kMaps, config_map("a", R"({"k":"v"})"));
  const struct {
    const char *accept, *type;
  } cases[] = {
      {"application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf"},
      {"application/vnd.kubernetes.protobuf,application/json",
       "application/vnd.kubernetes.protobuf"},
      {"application/vnd.kubernetes.protobuf, */*", "application/vnd.kubernetes.protobuf"},
      {"application/json,application/vnd.kubernetes.protobuf", "application/json"},
      {"application/json;q=0.5,application/vnd.kubernetes.protobuf;q=0.9",
       "application/vnd.kubernetes.protobuf"},
      {"application/vnd.kubernetes.protobuf;q=0.1,application/yaml", "application/yaml"},
      {"application/vnd.kubernetes.protobuf;q=0,application/json", "application/json"},
      {"application/cbor,application/vnd.kubernetes.protobuf",
       "application/vnd.kubernetes.protobuf"},
      {"application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json",
       "application/json"},
      {"*/*", "application/json"},
      {"", "application/json"},
  };
  for (const auto& c : cases) {
    const Answer answer = get_as(server, kMaps + "/a", c.accept);
    EXPECT_EQ(answer.status, 200) << c.accept;
    EXPECT_EQ(answer.content_type, c.type) << c.accept;
  }
}

// Check A3: what a client decodes is what another one reads as JSON.
TEST(ProtobufForms, EveryKindDecodesToItsJson) {
  TestServer server;
  std::size_t checked = 0;
  for (const BuiltinResource& resource : builtin_resources()) {
    if (!resource.has_verb("get") || resource.group == "events.k8s.io") {
      continue;
    }
    SCOPED_TRACE(resource.plural + "." + resource.group);
    const SchemaPtr schema =
        BuiltinTypes::get().by_kind(resource.group, resource.version, resource.kind);
    ASSERT_NE(schema, nullptr);
    int counter = 0;
    Value object = test::sample_object(*schema, 4, counter);
    const std::string api_version =
        (resource.group.empty() ? "" : resource.group + "/") + resource.version;
    object.set("apiVersion", api_version);
    object.set("kind", resource.kind);
    object.member("metadata")
        .set("name", "full")
        .set("namespace", resource.namespaced ? "tst" : "");
    Result<Value> normal = normalize_builtin(object, *schema, {.kind = resource.kind});
    ASSERT_TRUE(normal.ok()) << normal.error().message;
    const ResourceInfo* info =
        server.server().registry().table()->find(resource.group, resource.version, resource.plural);
    ASSERT_NE(info, nullptr);
    if (!info->stored) {
      continue;  // componentstatuses, which are computed: ComponentStatuses.*
    }
    const store::Write write{.resource = info->storage,
                             .key = {resource.namespaced ? "tst" : "", "full"},
                             .body = *normal,
                             .expected = std::nullopt};
    ASSERT_TRUE(server.store().commit({&write, 1}, server.now()).ok());
    const std::string base = (resource.group.empty() ? "/api/" : "/apis/") + api_version +
                             (resource.namespaced ? "/namespaces/tst/" : "/") + resource.plural;
    const Answer json = server.get(base + "/full");
    ASSERT_EQ(json.status, 200) << json.text;
    const Answer binary = get_as(server, base + "/full", kProtobuf);
    ASSERT_EQ(binary.content_type, kProtobuf);
    Result<Value> read = normalize_builtin(decoded(binary.text), *schema, {.kind = resource.kind});
    Result<Value> expected = normalize_builtin(json.value, *schema, {.kind = resource.kind});
    ASSERT_TRUE(read.ok() && expected.ok());
    EXPECT_EQ(*read, *expected) << json::print(*read) << "\n" << json::print(*expected);
    const Answer list = get_as(server, base, kProtobuf);
    ASSERT_EQ(list.content_type, kProtobuf);
    const Value items = decoded(list.text);
    EXPECT_EQ(items["kind"].as_string(), resource.kind + "List");
    EXPECT_FALSE(items["metadata"]["resourceVersion"].as_string().empty());
    EXPECT_GE(items["items"].size(), 1U);
    ++checked;
  }
  EXPECT_GT(checked, 50U);
}

TEST(ProtobufForms, WritesAnswerInIt) {
  TestServer server;
  const std::vector<std::pair<std::string, std::string>> headers = {
      {"accept", kProtobuf + ",application/json"}, {"content-type", kProtobuf}};
  const Answer made =
      server.call("POST " + kMaps, *protobuf::encode(config_map("a", R"({"k":"v"})")), headers);
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.content_type, kProtobuf);
  EXPECT_EQ(decoded(made.text)["data"]["k"].as_string(), "v");
  const Answer removed = server.call("DELETE " + kMaps + "/a", "", headers);
  EXPECT_EQ(removed.status, 200);
  EXPECT_EQ(decoded(removed.text)["kind"].as_string(), "Status");
}

TEST(ProtobufForms, RefusalsAreStatusesInIt) {
  TestServer server;
  const Answer missing = get_as(server, kMaps + "/nope", kProtobuf + ",application/json");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.content_type, kProtobuf);
  const Value status = decoded(missing.text);
  EXPECT_EQ(status["kind"].as_string(), "Status");
  EXPECT_EQ(status["reason"].as_string(), "NotFound");
  EXPECT_EQ(status["message"].as_string(), "configmaps \"nope\" not found");
  EXPECT_EQ(status["details"]["name"].as_string(), "nope");
  EXPECT_EQ(status["code"].as_int(), 404);
  // A Status is not transformed: the plain element counts.
  const Answer partial =
      get_as(server, kMaps + "/nope",
             kProtobuf + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
  EXPECT_EQ(partial.value["reason"].as_string(), "NotFound");
}

TEST(ProtobufForms, MetadataAlone) {
  TestServer server;
  server.post(kMaps, config_map("a", R"({"k":"v"})"));
  define_widgets(server);
  for (const std::string& base : {kMaps, kWidgets}) {
    const Answer list =
        get_as(server, base, kProtobuf + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
    ASSERT_EQ(list.content_type, kProtobuf);
    const Value value = decoded(list.text);
    EXPECT_EQ(value["kind"].as_string(), "PartialObjectMetadataList");
    ASSERT_EQ(value["items"].size(), 1U);
    EXPECT_FALSE(value["items"][0]["metadata"]["uid"].as_string().empty());
    EXPECT_FALSE(value["items"][0].contains("data"));
  }
}

TEST(ProtobufForms, CustomResourcesHaveNone) {
  TestServer server;
  define_widgets(server);
  EXPECT_EQ(get_as(server, kWidgets + "/w", kProtobuf).status, 406);
  EXPECT_EQ(get_as(server, kWidgets + "?watch=1", kProtobuf + ";stream=watch").status, 406);
  for (const std::string fallback : {",application/json", ", */*"}) {
    const Answer object = get_as(server, kWidgets + "/w", kProtobuf + fallback);
    EXPECT_EQ(object.status, 200);
    EXPECT_EQ(object.content_type, "application/json");
    const Answer missing = get_as(server, kWidgets + "/none", kProtobuf + fallback);
    EXPECT_EQ(missing.value["reason"].as_string(), "NotFound");
  }
}

TEST(ProtobufForms, WatchesAreFramed) {
  TestServer server;
  server.post(kMaps, config_map("a"));
  Answer watch = get_as(server,
                        kMaps +
                            "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
                            "&resourceVersionMatch=NotOlderThan",
                        kProtobuf + ";stream=watch");
  EXPECT_EQ(watch.content_type, kProtobuf + ";stream=watch");
  ASSERT_NE(watch.stream, nullptr);
  auto frames = frames_of(watch);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].first, "ADDED");
  EXPECT_EQ(frames[0].second["metadata"]["name"].as_string(), "a");
  EXPECT_EQ(frames[1].first, "BOOKMARK");
  EXPECT_EQ(frames[1].second["kind"].as_string(), "ConfigMap");
  EXPECT_EQ(frames[1].second["metadata"]["annotations"]["k8s.io/initial-events-end"].as_string(),
            "true");
  server.remove(kMaps + "/a");
  frames = frames_of(watch);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].first, "DELETED");
}

TEST(ProtobufForms, WatchErrorsAreFramedToo) {
  TestServer server;
  Value map = config_map("a");
  for (int i = 0; i < 10'100; ++i) {  // more than the history keeps in any case
    const store::Write write{
        .resource = "configmaps", .key = {"tst", "a"}, .body = map, .expected = std::nullopt};
    ASSERT_TRUE(server.store().commit({&write, 1}, server.now()).ok());
  }
  server.advance(std::chrono::hours(2));
  Answer late = get_as(server, kMaps + "?watch=1&resourceVersion=1", kProtobuf);
  ASSERT_NE(late.stream, nullptr);
  const auto frames = frames_of(late);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].first, "ERROR");
  EXPECT_EQ(frames[0].second["kind"].as_string(), "Status");
  EXPECT_EQ(frames[0].second["code"].as_int(), 410);
}

}  // namespace
}  // namespace athanor::apiserver::protobuf_forms_test
