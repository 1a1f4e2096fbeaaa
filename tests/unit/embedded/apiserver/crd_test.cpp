// SPDX-License-Identifier: Apache-2.0
// Custom resources: definitions, their conditions, the objects they serve (docs/spec/apiserver.md
// 13).
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::crd_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr std::string_view kWidgets = "/apis/ex.com/v1/namespaces/tst/widgets";

std::string widget(std::string_view rest) {
  return std::string(kWidgets) + std::string(rest);
}

Value definition() {
  return parse(R"({
    "apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
    "metadata":{"name":"widgets.ex.com"},
    "spec":{"group":"ex.com","scope":"Namespaced",
      "names":{"plural":"widgets","kind":"Widget","shortNames":["wd"]},
      "versions":[
        {"name":"v1","served":true,"storage":true,
         "subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas",
            "statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}},
         "selectableFields":[{"jsonPath":".spec.color"}],
         "additionalPrinterColumns":[{"name":"Size","type":"integer","jsonPath":".spec.size"}],
         "schema":{"openAPIV3Schema":{"type":"object","properties":{
            "spec":{"type":"object","required":["size"],"properties":{
               "size":{"type":"integer","minimum":1,"maximum":10},
               "color":{"type":"string","default":"red"},
               "replicas":{"type":"integer"}}},
            "status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}},
        {"name":"v2","served":true,"storage":false,"deprecated":true,
         "schema":{"openAPIV3Schema":{"type":"object",
            "x-kubernetes-preserve-unknown-fields":true}}}]}})");
}

Value make_widget(std::string_view name, std::int64_t size) {
  Value object = parse(R"({"apiVersion":"ex.com/v1","kind":"Widget","metadata":{},"spec":{}})");
  object.set_path({"metadata", "name"}, Value(name));
  object.set_path({"spec", "size"}, size);
  return object;
}

class Crd : public ::testing::Test {
 protected:
  Crd() { made_ = server_.post(kCrds, definition()); }
  TestServer server_{};
  Answer made_{};
};

TEST(CrdFormats, WarnWhereNothingChecksThem) {
  TestServer server;
  Value crd = definition();
  const auto formatted = [&](const char* format) {
    Value versions = crd["spec"]["versions"];
    versions.item(0).set_path(
        {"schema", "openAPIV3Schema", "properties", "spec", "properties", "color"},
        Value::object({{"type", "string"}, {"format", format}}));
    versions.item(0).set_path(
        {"schema", "openAPIV3Schema", "properties", "spec", "properties", "size", "format"},
        "int32");
    Value changed = crd;
    changed.set_path({"spec", "versions"}, std::move(versions));
    return changed;
  };
  const Answer made = server.post(kCrds, formatted("colour"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_THAT(made.warnings(), ElementsAre("299 - \"unrecognized format \\\"colour\\\"\""));
  const std::string path = std::string(kCrds) + "/widgets.ex.com";
  const auto written = [&](Value object) {
    object.set_path({"metadata", "resourceVersion"},
                    server.get(path).value["metadata"]["resourceVersion"]);
    return server.put(path, object).warnings();
  };
  EXPECT_TRUE(written(formatted("colour")).empty());
  EXPECT_TRUE(written(formatted("k8s-short-name")).empty());
  EXPECT_THAT(written(formatted("shade")), ElementsAre(HasSubstr("shade")));
}

TEST_F(Crd, IsAnsweredBareAndEstablishedAtOnce) {
  ASSERT_EQ(made_.status, 201) << made_.text;
  EXPECT_EQ(
      json::print(made_.value["status"]),
      R"({"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":["v1"]})");
  const Answer now = server_.get(std::string(kCrds) + "/widgets.ex.com");
  const Value& conditions = now.value["status"]["conditions"];
  ASSERT_EQ(conditions.size(), 2U) << now.text;
  EXPECT_EQ(conditions[0]["type"].as_string(), "NamesAccepted");
  EXPECT_EQ(conditions[0]["reason"].as_string(), "NoConflicts");
  EXPECT_EQ(conditions[1]["type"].as_string(), "Established");
  EXPECT_EQ(conditions[1]["reason"].as_string(), "InitialNamesAccepted");
  EXPECT_EQ(now.value["status"]["acceptedNames"]["singular"].as_string(), "widget");
  EXPECT_EQ(now.value["spec"]["conversion"], parse(R"({"strategy":"None"})"));
}

TEST_F(Crd, IsDiscovered) {
  const Answer group = server_.get("/apis/ex.com");
  EXPECT_EQ(group.value["versions"][0]["version"].as_string(), "v2");
  const Answer resources = server_.get("/apis/ex.com/v1");
  ASSERT_EQ(resources.value["resources"].size(), 3U) << resources.text;
  EXPECT_EQ(resources.value["resources"][0]["shortNames"], parse(R"(["wd"])"));
  EXPECT_EQ(resources.value["resources"][1]["name"].as_string(), "widgets/scale");
  const Answer index = server_.get("/openapi/v3");
  const std::string url = index.value["paths"]["apis/ex.com/v1"]["serverRelativeURL"].str();
  ASSERT_THAT(url, HasSubstr("?hash="));
  const Answer document = server_.get(url);
  EXPECT_EQ(document.status, 200);
  EXPECT_TRUE(document.value["components"]["schemas"].contains("com.ex.v1.Widget"));
  EXPECT_EQ(document.header("Cache-Control"), "public, immutable");
  EXPECT_EQ(server_.get("/openapi/v3/apis/ex.com/v1?hash=x").status, 301);
}

TEST_F(Crd, CreatesAndDeletesApiServicesOfVersions) {
  const std::string services = "/apis/apiregistration.k8s.io/v1/apiservices/";
  const Answer made = server_.get(services + "v1.ex.com");
  ASSERT_EQ(made.status, 200) << made.text;
  EXPECT_EQ(made.value["spec"], parse(R"({"group":"ex.com","version":"v1",
      "groupPriorityMinimum":1000,"versionPriority":100})"));
  EXPECT_EQ(made.value["metadata"]["labels"]["kube-aggregator.kubernetes.io/automanaged"].str(),
            "true");
  EXPECT_EQ(made.value["status"]["conditions"][0]["reason"].str(), "Local");
  EXPECT_EQ(server_.get(services + "v2.ex.com").status, 200);
  server_.remove(std::string(kCrds) + "/widgets.ex.com");
  server_.advance(std::chrono::seconds(1));
  EXPECT_EQ(server_.get(services + "v1.ex.com").status, 404);
}

TEST_F(Crd, ObjectsAreDefaultedPrunedAndValidated) {
  Value object = make_widget("w", 3);
  object.set_path({"spec", "nope"}, 1);
  const Answer made = server_.post(kWidgets, object);
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.value["spec"], parse(R"({"size":3,"color":"red"})"));
  EXPECT_EQ(made.value["metadata"]["generation"].as_int(), 1);
  EXPECT_THAT(made.warnings(), ElementsAre("299 - \"unknown field \\\"spec.nope\\\"\""));
  const Answer bad = server_.post(kWidgets, make_widget("x", 30));
  EXPECT_EQ(bad.status, 422);
  EXPECT_EQ(bad.message(),
            "Widget.ex.com \"x\" is invalid: spec.size: Invalid value: 30: spec.size in body "
            "should be less than or equal to 10");
  EXPECT_EQ(bad.value["details"]["kind"].as_string(), "Widget");
  EXPECT_EQ(bad.value["details"]["group"].as_string(), "ex.com");
}

TEST_F(Crd, ObjectsOfOtherTypesAreRefused) {
  Value kind = make_widget("w", 3);
  kind.set("kind", "Gadget");
  EXPECT_THAT(server_.post(kWidgets, kind).message(),
              HasSubstr("kind: Invalid value: \"Gadget\": must be Widget"));
  server_.post(kWidgets, make_widget("w", 3));
  struct {
    std::string_view revision;
    std::string_view message;
  } const updates[] = {
      {"", "metadata.resourceVersion: Invalid value: 0: must be specified for an update"},
      {"x", "invalid resource version: x"},
      {"1", "the object has been modified"},
  };
  for (const auto& [revision, message] : updates) {
    kind.set_path({"metadata", "resourceVersion"}, revision);
    EXPECT_THAT(server_.put(widget("/w"), kind).message(), HasSubstr(message));
  }
  kind.set_path({"metadata", "resourceVersion"},
                server_.get(widget("/w")).value["metadata"]["resourceVersion"]);
  EXPECT_EQ(server_.put(widget("/w"), kind).message(),
            "Gadget.ex.com \"w\" is invalid: kind: Invalid value: \"Gadget\": must be Widget");
  Value version = make_widget("w", 3);
  version.set("apiVersion", "ex.com/v9");
  EXPECT_EQ(server_.post(kWidgets, version).message(),
            "the API version in the data (ex.com/v9) does not match the expected API version "
            "(ex.com/v1)");
  version.set_path({"metadata", "labels"}, parse(R"({"a":[]})"));  // decoded before that is told
  EXPECT_THAT(server_.post(kWidgets, version).message(),
              HasSubstr("Widget in version \"v9\" cannot be handled as a Widget: "));
  version.set("apiVersion", Value());
  EXPECT_EQ(
      server_.post(kWidgets, version).message(),
      "Widget in version \"\" cannot be handled as a Widget: .apiVersion accessor error: <nil> "
      "is of the type <nil>, expected string");
  Value none = make_widget("w", 3);
  none.erase("kind");
  EXPECT_THAT(server_.post(kWidgets, none).message(),
              HasSubstr("the object provided is unrecognized (must be of type Widget): Object "
                        "'Kind' is missing in '"));
  EXPECT_THAT(server_.post(std::string(kWidgets) + "?fieldValidation=Ignore", none).message(),
              HasSubstr("Widget in version \"v1\" cannot be handled as a Widget: Object 'Kind' is "
                        "missing in '{"));
  EXPECT_EQ(server_.patch(widget("/w"), "strategic-merge", "{}").message(),
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, "
            "application/apply-patch+yaml");
  const Answer protobuf = server_.call("POST " + std::string(kWidgets), "k8s",
                                       {{"content-type", "application/vnd.kubernetes.protobuf"}});
  EXPECT_EQ(protobuf.status, 415);
  EXPECT_EQ(protobuf.message(),
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml");
}

TEST_F(Crd, StatusAndSpecAreWrittenApart) {
  server_.post(kWidgets, make_widget("w", 3));
  const Answer status =
      server_.patch(widget("/w/status"), "merge", R"({"spec":{"size":4},"status":{"ok":true}})");
  ASSERT_EQ(status.status, 200) << status.text;
  EXPECT_EQ(status.value["spec"]["size"].as_int(), 3);
  EXPECT_TRUE(status.value["status"]["ok"].as_bool());
  EXPECT_EQ(status.value["metadata"]["generation"].as_int(), 1);
  const Answer spec =
      server_.patch(widget("/w"), "merge", R"({"spec":{"size":4},"status":{"ok":false}})");
  EXPECT_EQ(spec.value["spec"]["size"].as_int(), 4);
  EXPECT_TRUE(spec.value["status"]["ok"].as_bool());
  EXPECT_EQ(spec.value["metadata"]["generation"].as_int(), 2);
  bool own_entry = false;
  for (const Value& entry : spec.value["metadata"]["managedFields"].items()) {
    own_entry = own_entry || entry["subresource"].as_string() == "status";
  }
  EXPECT_TRUE(own_entry);
}

TEST_F(Crd, UpdatesNeedARevision) {
  server_.post(kWidgets, make_widget("w", 3));
  const Answer answer = server_.put(widget("/w"), make_widget("w", 4));
  EXPECT_EQ(answer.status, 422);
  EXPECT_THAT(answer.message(), HasSubstr("metadata.resourceVersion: Invalid value: 0: must be "
                                          "specified for an update"));
}

TEST_F(Crd, Scales) {
  Value object = make_widget("w", 3);
  object.set_path({"spec", "replicas"}, 2);
  server_.post(kWidgets, object);
  server_.patch(widget("/w/status"), "merge", R"({"status":{"replicas":1,"selector":"a=b"}})");
  const Answer scale = server_.get(widget("/w/scale"));
  EXPECT_EQ(scale.value["kind"].as_string(), "Scale");
  EXPECT_EQ(scale.value["spec"], parse(R"({"replicas":2})"));
  EXPECT_EQ(scale.value["status"], parse(R"({"replicas":1,"selector":"a=b"})"));
  const Answer more = server_.patch(widget("/w/scale"), "merge", R"({"spec":{"replicas":5}})");
  ASSERT_EQ(more.status, 200) << more.text;
  EXPECT_EQ(more.value["spec"]["replicas"].as_int(), 5);
  const Answer parent = server_.get(widget("/w"));
  EXPECT_EQ(parent.value["spec"]["replicas"].as_int(), 5);
  EXPECT_EQ(parent.value["metadata"]["generation"].as_int(), 2);
  const Answer negative = server_.patch(widget("/w/scale"), "merge", R"({"spec":{"replicas":-1}})");
  EXPECT_EQ(negative.message(),
            "Widget.ex.com \"w\" is invalid: .spec.replicas: Invalid value: -1: should be a "
            "non-negative integer");
}

TEST_F(Crd, VersionsServeTheSameObject) {
  const Answer made = server_.post(kWidgets, make_widget("w", 3));
  const Answer other = server_.get("/apis/ex.com/v2/namespaces/tst/widgets/w");
  ASSERT_EQ(other.status, 200);
  EXPECT_EQ(other.value["apiVersion"].as_string(), "ex.com/v2");
  EXPECT_EQ(other.value["metadata"]["uid"], made.value["metadata"]["uid"]);
  EXPECT_THAT(other.warnings(), ElementsAre("299 - \"ex.com/v2 Widget is deprecated\""));
}

TEST_F(Crd, TablesAndSelectableFields) {
  server_.post(kWidgets, make_widget("w", 3));
  Value blue = make_widget("b", 4);
  blue.set_path({"spec", "color"}, "blue");
  server_.post(kWidgets, blue);
  const Answer table = server_.call("GET " + widget("?fieldSelector=spec.color=blue"), "",
                                    {{"accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  ASSERT_EQ(table.value["rows"].size(), 1U) << table.text;
  EXPECT_EQ(table.value["rows"][0]["cells"], parse(R"(["b",4])"));
  EXPECT_EQ(table.value["columnDefinitions"][1]["description"].as_string(),
            "Custom resource definition column (in JSONPath format): .spec.size");
  EXPECT_EQ(server_.get(widget("?fieldSelector=spec.zz=1")).message(),
            "field label not supported: spec.zz");
}

TEST_F(Crd, NewDefaultsShowOnOldObjects) {
  server_.post(kWidgets, make_widget("w", 3));
  Value changed = server_.get(std::string(kCrds) + "/widgets.ex.com").value;
  changed.member("spec")
      .member("versions")
      .item(0)
      .set_path({"schema", "openAPIV3Schema", "properties", "spec", "properties", "shape"},
                parse(R"({"type":"string","default":"round"})"));
  const Answer put = server_.put(std::string(kCrds) + "/widgets.ex.com", changed);
  ASSERT_EQ(put.status, 200) << put.text;
  EXPECT_EQ(server_.get(widget("/w")).value["spec"]["shape"].as_string(), "round");
}

TEST_F(Crd, GoesWithItsObjects) {
  Value held = make_widget("h", 3);
  held.member("metadata").set("finalizers", Value::list({"ex.com/hold"}));
  server_.post(kWidgets, held);
  server_.post(kWidgets, make_widget("w", 3));
  Answer watch = server_.get(widget("?watch=1"));
  TestServer::events(watch);
  const Answer deleted = server_.remove(std::string(kCrds) + "/widgets.ex.com");
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(server_.get(widget("/w")).status, 404);
  const Answer refused = server_.post(kWidgets, make_widget("zz", 3));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.message(),
            "widgets.ex.com \"zz\" is forbidden: create not allowed while custom resource "
            "definition is terminating");
  EXPECT_EQ(server_.get(std::string(kCrds) + "/widgets.ex.com").status, 200);
  server_.patch(widget("/h"), "merge", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(server_.get(std::string(kCrds) + "/widgets.ex.com").status, 404);
  const Answer gone = server_.get(std::string(kWidgets));
  EXPECT_EQ(gone.status, 404);
  EXPECT_EQ(gone.text, "404 page not found\n");
  const auto events = TestServer::events(watch);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events.back()["type"].as_string(), "DELETED");
  EXPECT_TRUE(watch.ended);
}

TEST(CrdNames, ConflictsKeepADefinitionFromBeingServed) {
  TestServer server;
  server.post(kCrds, definition());
  Value rival = definition();
  rival.set_path({"metadata", "name"}, "gadgets.ex.com");
  rival.set_path({"spec", "names"}, parse(R"({"plural":"gadgets","kind":"Widget",
                                             "singular":"gadget","listKind":"GadgetList"})"));
  ASSERT_EQ(server.post(kCrds, rival).status, 201);
  const Answer now = server.get(std::string(kCrds) + "/gadgets.ex.com");
  const Value& conditions = now.value["status"]["conditions"];
  EXPECT_EQ(conditions[0]["reason"].as_string(), "KindConflict");
  EXPECT_EQ(conditions[0]["message"].as_string(), "\"Widget\" is already in use");
  EXPECT_EQ(conditions[1]["status"].as_string(), "False");
  EXPECT_EQ(server.get("/apis/ex.com/v1/gadgets").status, 404);
  server.remove(std::string(kCrds) + "/widgets.ex.com");
  server.advance(std::chrono::milliseconds(250));
  EXPECT_EQ(server.get("/apis/ex.com/v1/gadgets").status, 200);
}

struct BadCrd {
  const char* what;
  std::vector<std::string_view> path;
  const char* value;
  const char* expected;
};
class BadCrds : public ::testing::TestWithParam<BadCrd> {};

Value with(const Value& object, std::span<const std::string_view> path, const Value& leaf) {
  if (path.empty()) {
    return leaf;
  }
  Value changed = object;
  if (object.is_list()) {
    changed.item(0) = with(object[0], path.subspan(1), leaf);
  } else {
    changed.set(path[0], with(object[path[0]], path.subspan(1), leaf));
  }
  return changed;
}

TEST_P(BadCrds, AreRefused) {
  TestServer server;
  const Answer answer =
      server.post(kCrds, with(definition(), GetParam().path, parse(GetParam().value)));
  EXPECT_EQ(answer.status, 422) << answer.text;
  EXPECT_THAT(answer.message(), HasSubstr(GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(
    Section13, BadCrds,
    ::testing::Values(
        BadCrd{"name",
               {"metadata", "name"},
               "\"foo.bar.com\"",
               "metadata.name: Invalid value: \"foo.bar.com\": must be "
               "spec.names.plural+\".\"+spec.group"},
        BadCrd{"scope",
               {"spec", "scope"},
               "\"Nope\"",
               "spec.scope: Unsupported value: \"Nope\": supported values: \"Cluster\", "
               "\"Namespaced\""},
        BadCrd{"storage",
               {"spec", "versions", "0", "storage"},
               "false",
               "must have exactly one version marked as storage version"},
        BadCrd{"schema",
               {"spec", "versions", "0", "schema"},
               "{}",
               "spec.versions[0].schema.openAPIV3Schema: Required value"},
        BadCrd{"preserve",
               {"spec", "preserveUnknownFields"},
               "true",
               "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
               "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"}));

TEST(CrdRules, ProtectedGroupsNeedApproval) {
  TestServer server;
  Value crd = definition();
  crd.set_path({"spec", "group"}, "x.k8s.io");
  crd.set_path({"metadata", "name"}, "widgets.x.k8s.io");
  EXPECT_THAT(server.post(kCrds, crd).message(),
              HasSubstr("metadata.annotations[api-approved.kubernetes.io]: Required value: "
                        "protected groups must have approval annotation "
                        "\"api-approved.kubernetes.io\", see "
                        "https://github.com/kubernetes/enhancements/pull/1111"));
  crd.set_path({"metadata", "annotations"},
               parse(R"({"api-approved.kubernetes.io":"unapproved, for a test"})"));
  EXPECT_EQ(server.post(kCrds, crd).status, 201);
}

TEST(CrdRules, VersionsAreRequired) {
  TestServer server;
  for (const char* versions : {"[]", "null", "[null]", "absent"}) {
    Value crd = definition();
    crd.erase_path({"spec", "versions"});
    if (std::string_view(versions) != "absent") {
      crd.set_path({"spec", "versions"}, parse(versions));
    }
    const Answer made = server.post(kCrds, crd);
    EXPECT_TRUE(made.status == 422 || made.status == 400) << versions << " " << made.text;
    ASSERT_EQ(server.post(kCrds, definition()).status, 201);
    crd.set_path(
        {"metadata", "resourceVersion"},
        server.get(std::string(kCrds) + "/widgets.ex.com").value["metadata"]["resourceVersion"]);
    const Answer changed = server.put(std::string(kCrds) + "/widgets.ex.com", crd);
    EXPECT_TRUE(changed.status == 422 || changed.status == 400) << versions << " " << changed.text;
    EXPECT_EQ(server.remove(std::string(kCrds) + "/widgets.ex.com").status, 200);
  }
}

// An object of the second version, which keeps what it does not know.
Value deep_widget(std::size_t levels) {
  Value object = make_widget("deep", 1);
  object.set("apiVersion", "ex.com/v2");
  Value inner = "x";
  for (std::size_t i = 1; i < levels; ++i) {
    inner = Value::object({{"a", inner}});
  }
  object.set("more", std::move(inner));
  return object;
}

TEST_F(Crd, RefusesObjectsTooDeepToReadBack) {
  const std::string path = "/apis/ex.com/v2/namespaces/tst/widgets";
  // The second level counts who owns what, which is deeper than the object.
  for (const std::size_t levels : {199U, 188U}) {
    for (const char* query : {"", "?dryRun=All"}) {
      const Answer refused = server_.post(path + query, deep_widget(levels));
      EXPECT_EQ(refused.status, 400) << levels << query;
      EXPECT_THAT(refused.message(), HasSubstr("nested deeper than 190 levels"));
    }
  }
  EXPECT_EQ(server_.post(path, deep_widget(150)).status, 201);
  std::string deeper;
  for (int i = 0; i < 149; ++i) {
    deeper += "/a";
  }
  const Answer patched = server_.patch(
      path + "/deep", "json", R"([{"op":"copy","from":"/more","path":"/more)" + deeper + R"("}])");
  EXPECT_EQ(patched.status, 422) << patched.text;
  EXPECT_EQ(server_.get(path + "/deep").status, 200);
}

TEST(CrdRules, StoredVersionsStay) {
  TestServer server;
  server.post(kCrds, definition());
  const std::string path = std::string(kCrds) + "/widgets.ex.com";
  Value moved = server.get(path).value;
  moved.member("spec").member("versions").item(0).set("storage", false);
  moved.member("spec").member("versions").item(1).set("storage", true);
  const Answer put = server.put(path, moved);
  ASSERT_EQ(put.status, 200) << put.text;
  EXPECT_EQ(put.value["status"]["storedVersions"], parse(R"(["v1","v2"])"));
  Value removed = server.get(path).value;
  removed.member("spec").member("versions").erase_item(0);
  EXPECT_THAT(server.put(path, removed).message(),
              HasSubstr("status.storedVersions[0]: Invalid value: \"v1\": missing from "
                        "spec.versions; v1 was previously a storage version"));
}

}  // namespace
}  // namespace athanor::apiserver::crd_test
