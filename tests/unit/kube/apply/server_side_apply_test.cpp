// SPDX-License-Identifier: Apache-2.0
// Server-side apply: docs/spec/apiserver.md 11.2. The conflict matrix: apply_matrix_test.cpp.
#include <gmock/gmock.h>

#include "unit/kube/apply_fixture.hpp"

namespace athanor::server_side_apply_test {
namespace {

using test::builtin;
using test::json;
using test::same_json;
using test::Widget;
using test::Written;

constexpr std::string_view kData =
    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},)";
std::string config_map(std::string_view rest) {
  return std::string(kData) + std::string(rest) + "}";
}
std::string widget_spec(std::string_view spec) {
  return R"({"apiVersion":"ex.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":)" +
         std::string(spec) + "}";
}
ApplyError error_of(const Result<Value, ApplyError>& result) {
  EXPECT_FALSE(result.ok());
  return result.ok() ? ApplyError() : result.error();
}

TEST(ServerSideApply, CreatesWithOneEntry) {
  Written map(builtin("core.v1.ConfigMap"));
  map.apply("a",
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","labels":{"l":"1"}},
      "data":{"k":"v"}})");
  EXPECT_TRUE(
      same_json(map.object(), R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c",
      "labels":{"l":"1"},"managedFields":[{"manager":"a","operation":"Apply","apiVersion":"v1",
      "time":"2026-11-20T12:00:00Z","fieldsType":"FieldsV1",
      "fieldsV1":{"f:data":{"f:k":{}},"f:metadata":{"f:labels":{"f:l":{}}}}}]},"data":{"k":"v"}})"));
}

TEST(ServerSideApply, OwnsLeavesElementsAndEmptyContainers) {
  Written widget(Widget::schema(), "ex.com/v1");
  widget.apply("a", widget_spec(R"({"scalar":"1","map":{},"objects":{"k":{"a":"1"}},
      "items":[{"name":"n","sub":{"x":"1"}}],"set":["s"],"atomic":["p","q"],"frozen":{"a":"1"},
      "open":{"o":{"p":1}}})"));
  EXPECT_TRUE(same_json(widget.fields("a", "Apply"), R"({"f:spec":{"f:atomic":{},"f:frozen":{},
      "f:items":{"k:{\"name\":\"n\",\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:sub":{"f:x":{}}}},
      "f:map":{},"f:objects":{"f:k":{".":{},"f:a":{}}},"f:open":{"f:o":{".":{},"f:p":{}}},
      "f:scalar":{},"f:set":{"v:\"s\"":{}}}})"));
}

TEST(ServerSideApply, AgainChangesNothing) {
  Written widget(Widget::schema(), "ex.com/v1");
  const std::string spec = widget_spec(R"({"scalar":"1","items":[{"name":"n"}],"set":["s","t"]})");
  widget.apply("a", spec);
  const Value before = widget.object();
  widget.at_time("2026-11-21T12:00:00Z").apply("a", spec);
  EXPECT_TRUE(widget.object().identical(before));
}

TEST(ServerSideApply, RemovesFieldsThatTheManagerOmits) {
  Written map(builtin("core.v1.ConfigMap"));
  map.apply("a", config_map(R"("data":{"k":"v","l":"v"})"))
      .at_time("2026-11-20T12:00:09Z")
      .apply("a", config_map(R"("data":{"k":"v"})"));
  EXPECT_TRUE(same_json(map.object()["data"], R"({"k":"v"})"));
  EXPECT_TRUE(same_json(map.fields("a", "Apply"), R"({"f:data":{"f:k":{}}})"));
  EXPECT_EQ(map.entry("a", "Apply")["time"].as_string(), "2026-11-20T12:00:09Z");
  map.apply("a", R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}})");
  EXPECT_FALSE(map.object().contains("data"));
  EXPECT_FALSE(map.object()["metadata"].contains("managedFields"));
}

TEST(ServerSideApply, KeepsForeignAndUnownedFields) {
  Written widget(Widget::schema(), "ex.com/v1");
  widget.apply("a", widget_spec(R"({"nested":{"a":"1"},"scalar":"1","set":["x"]})"))
      .apply("b", widget_spec(R"({"scalar":"1","set":["x","y"]})"))
      .apply("a", widget_spec(R"({"nested":{"b":"1"}})"));
  EXPECT_TRUE(
      same_json(widget.object()["spec"], R"({"nested":{"b":"1"},"scalar":"1","set":["x","y"]})"));
  // A default that nobody owns stays beside a field that is still owned, and goes with the last
  // one.
  Value defaulted = widget.object();
  defaulted.set_path({"spec", "nested", "a"}, "default");
  Written tracked(Widget::schema(), "ex.com/v1");
  tracked.apply("a", widget_spec(R"({"nested":{"b":"1"},"scalar":"1"})"));
  defaulted = tracked.object();
  defaulted.set_path({"spec", "nested", "a"}, "default");
  const Result<Value, ApplyError> result =
      apply_configuration(defaulted, json(widget_spec(R"({"scalar":"1"})")), tracked.by("a"));
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(same_json((*result)["spec"], R"({"scalar":"1"})"));
}

TEST(ServerSideApply, RemovesAListElementWithEverythingInIt) {
  Written widget(Widget::schema(), "ex.com/v1");
  widget.apply("a", widget_spec(R"({"items":[{"name":"n","value":"1"},{"name":"m"}]})"))
      .edit("u",
            [](Value& object) { object.member("spec").member("items").item(0).set("value", "2"); })
      .apply("a", widget_spec(R"({"items":[{"name":"m"}]})"));
  EXPECT_TRUE(same_json(widget.object()["spec"], R"({"items":[{"name":"m"}]})"));
  EXPECT_TRUE(widget.entry("u", "Update").is_null());
}

TEST(ServerSideApply, MergesListsInTheOrderOfTheConfiguration) {
  struct Row {
    const char* live = nullptr;
    const char* config = nullptr;
    const char* expected = nullptr;
  };
  const Row table[] = {
      {R"(["a","b","c"])", R"(["c","a"])", R"(["b","c","a"])"},
      {R"(["a","b"])", R"(["x","b"])", R"(["a","x","b"])"},
      {R"(["a","b"])", R"(["b","x"])", R"(["a","b","x"])"},
      {R"(["a","b"])", R"(["x"])", R"(["a","b","x"])"},
      {R"(["a"])", R"([])", R"(["a"])"},
      {R"(["a","b","c"])", R"(["a","b","c"])", R"(["a","b","c"])"},
  };
  for (const Row& row : table) {
    Written widget(Widget::schema(), "ex.com/v1");
    widget.update("u", R"({"metadata":{"name":"w"},"spec":{"set":)" + std::string(row.live) + "}}")
        .apply("a", widget_spec(R"({"set":)" + std::string(row.config) + "}"));
    EXPECT_EQ(athanor::json::print(widget.object()["spec"]["set"]), row.expected);
  }
}

TEST(ServerSideApply, DefaultedKeysTakePart) {
  Written service(builtin("core.v1.Service"));
  service.apply("a", R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},
      "spec":{"ports":[{"port":80}]}})");
  EXPECT_TRUE(same_json(service.fields("a", "Apply"), R"({"f:spec":{"f:ports":{
      "k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}})"));
  service.apply("b", R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},
      "spec":{"ports":[{"port":80,"protocol":"TCP","name":"n"}]}})");
  EXPECT_TRUE(
      same_json(service.object()["spec"]["ports"], R"([{"port":80,"protocol":"TCP","name":"n"}])"));
}

TEST(ServerSideApply, ReportsConflictForRespelledAmount) {
  Written widget(Widget::schema(), "ex.com/v1");
  widget.update("u", R"({"metadata":{"name":"w"},"spec":{"amount":"1"}})");
  EXPECT_EQ(error_of(widget.try_apply("a", widget_spec(R"({"amount":"1000m"})"))).error.message,
            "Apply failed with 1 conflict: conflict with \"u\" using ex.com/v1: .spec.amount");
  widget.apply("a", widget_spec(R"({"amount":"1"})"));
  EXPECT_EQ(widget.object()["spec"]["amount"].as_string(), "1");
  Written taken = widget;
  taken.at_time("2026-01-02T00:00:00Z").apply("b", widget_spec(R"({"amount":"1000m"})"), true);
  EXPECT_THAT(json::print(taken.object()), testing::HasSubstr("2026-01-02T00:00:00Z"));
  EXPECT_FALSE(widget.try_apply("a", widget_spec(R"({"amount":"2"})")).ok());
}

TEST(ServerSideApply, OneConflict) {
  Written map(builtin("core.v1.ConfigMap"));
  map.update("up", config_map(R"("data":{"c":"1"})"));
  const ApplyError error = error_of(map.try_apply("a", config_map(R"("data":{"c":"2"})")));
  EXPECT_EQ(error.error.code, 409);
  EXPECT_EQ(error.error.reason, "Conflict");
  EXPECT_EQ(error.error.message,
            "Apply failed with 1 conflict: conflict with \"up\" using v1: .data.c");
  ASSERT_EQ(error.conflicts.size(), 1U);
  EXPECT_EQ(error.conflicts[0].message, "conflict with \"up\" using v1");
  EXPECT_EQ(error.conflicts[0].field, ".data.c");
}

TEST(ServerSideApply, SeveralConflictsAreGrouped) {
  Written map(builtin("core.v1.ConfigMap"));
  map.update("up", config_map(R"("data":{"c":"1","d":"1"})"))
      .apply("m2", config_map(R"("data":{"a":"1"})"))
      .apply(
          "m1",
          R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","labels":{"l":"1"}}})");
  const ApplyError error = error_of(map.try_apply(
      "z", R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","labels":{"l":"2"}},
               "data":{"a":"2","c":"2","d":"2"}})"));
  EXPECT_EQ(
      error.error.message,
      "Apply failed with 4 conflicts: conflicts with \"m1\":\n- .metadata.labels.l\n"
      "conflicts with \"m2\":\n- .data.a\nconflicts with \"up\" using v1:\n- .data.c\n- .data.d");
  EXPECT_EQ(error.conflicts.size(), 4U);
}

TEST(ServerSideApply, ConflictsNameTheSubresource) {
  Written widget(Widget::schema(), "v1");
  widget.update("m", R"({"metadata":{"name":"w"},"spec":{"scalar":"1"}})")
      .on("status")
      .update("t", R"({"metadata":{"name":"w"},"spec":{"scalar":"1"},"status":{"phase":"A"}})");
  const ApplyError error = error_of(widget.try_apply(
      "z",
      R"({"apiVersion":"v1","kind":"Widget","metadata":{"name":"w"},"status":{"phase":"B"}})"));
  EXPECT_EQ(
      error.error.message,
      "Apply failed with 1 conflict: conflict with \"t\" with subresource \"status\" using v1: "
      ".status.phase");
}

TEST(ServerSideApply, ConflictsWithOldestEntryOrSubresourceFirst) {
  for (const bool same_time : {true, false}) {
    Written widget(Widget::schema(), "v1");
    widget.at_time("2026-01-01T00:00:00Z")
        .update("m", R"({"metadata":{"name":"w"},"spec":{"scalar":"1"}})")
        .on("status")
        .at_time(same_time ? "2026-01-01T00:00:00Z" : "2026-01-02T00:00:00Z")
        .update("m", R"({"metadata":{"name":"w"},"spec":{"scalar":"1"},"status":{"phase":"A"}})")
        .on("");
    const ApplyError error = error_of(widget.try_apply(
        "z", R"({"apiVersion":"v1","kind":"Widget","metadata":{"name":"w"},"spec":{"scalar":"2"},
                 "status":{"phase":"B"}})"));
    const std::string whole = "\nconflicts with \"m\" using v1:\n- .spec.scalar";
    const bool first = error.error.message.find(whole) == std::string::npos;
    EXPECT_EQ(first, !same_time) << error.error.message;
  }
}

TEST(ServerSideApply, ForceTakesOver) {
  Written map(builtin("core.v1.ConfigMap"));
  map.update("up", config_map(R"("data":{"c":"1","d":"1"})"))
      .apply("a", config_map(R"("data":{"c":"2"})"), true);
  EXPECT_TRUE(same_json(map.object()["data"], R"({"c":"2","d":"1"})"));
  EXPECT_TRUE(same_json(map.fields("up", "Update"), R"({"f:data":{".":{},"f:d":{}}})"));
  EXPECT_TRUE(same_json(map.fields("a", "Apply"), R"({"f:data":{"f:c":{}}})"));
}

TEST(ServerSideApply, BeforeTheFirstApply) {
  const Value live =
      json(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","uid":"u"},
      "data":{"a":"1","b":"1"}})");
  const Written map(builtin("core.v1.ConfigMap"));
  const Value config = json(config_map(R"("data":{"a":"2"})"));
  const ApplyError error = error_of(apply_configuration(live, config, map.by("a")));
  EXPECT_EQ(error.error.message,
            "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.a");
  const Result<Value, ApplyError> forced =
      apply_configuration(live, config, map.by("a"), {.force = true});
  ASSERT_TRUE(forced.ok());
  const Value& entries = (*forced)["metadata"]["managedFields"];
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[1]["manager"].as_string(), "before-first-apply");
  EXPECT_EQ(entries[1]["operation"].as_string(), "Update");
  EXPECT_TRUE(same_json(entries[1]["fieldsV1"], R"({"f:data":{".":{},"f:b":{}}})"));
}

TEST(ServerSideApply, RefusesFieldsUnknownToSchema) {
  struct Row {
    SchemaPtr schema = nullptr;
    std::string config{};
    const char* message = nullptr;
  };
  const Row table[] = {
      {builtin("core.v1.ConfigMap"),
       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s"},"zz":1})",
       "failed to create typed patch object (/s; /v1, Kind=ConfigMap): .zz: field not declared in "
       "schema"},
      {builtin("core.v1.Service"),
       R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"ssvc"},
           "spec":{"ports":[{"port":80},{"port":80,"protocol":"TCP"}]}})",
       "failed to create typed patch object (/ssvc; /v1, Kind=Service): .spec.ports: duplicate "
       "entries for key [port=80,protocol=\"TCP\"]"},
      {builtin("apps.v1.Deployment"),
       R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":"n"},
           "spec":{"template":{"spec":{"containers":[{"name":"c","imag":"x"}]}},"replicas":"1"}})",
       "failed to create typed patch object (n/d; apps/v1, Kind=Deployment): errors:\n"
       "  .spec.template.spec.containers[name=\"c\"].imag: field not declared in schema\n"
       "  .spec.replicas: expected numeric (int or float), got string"},
      {Widget::schema(), widget_spec(R"({"set":["a","a"]})"),
       "failed to create typed patch object (/w; ex.com/v1, Kind=Widget): .spec.set: duplicate "
       "entries for key [=\"a\"]"},
      {Widget::schema(),
       R"({"apiVersion":"ex.com/v1","kind":"Widget","metadata":{"name":"w","lables":{}}})",
       "failed to create typed patch object (/w; ex.com/v1, Kind=Widget): .metadata.lables: field "
       "not declared in schema"},
      {Widget::schema(),
       R"({"apiVersion":"ex.com/v1","kind":"Widget","metadata":{"name":"w","managedFields":[{}]}})",
       "metadata.managedFields must be nil"},
  };
  for (const Row& row : table) {
    const ApplyError error = error_of(Written(row.schema).try_apply("a", row.config));
    // The reference blames itself for configurations that do not fit the type.
    const bool ill_typed = std::string_view(row.message).starts_with("failed to create typed");
    EXPECT_EQ(error.error.code, ill_typed ? 500 : 400);
    EXPECT_EQ(error.error.reason, ill_typed ? "" : "BadRequest");
    EXPECT_EQ(error.error.message, row.message);
  }
}

TEST(ServerSideApply, KeysOfBuiltInListsDefaultToNothing) {
  for (const char* container : {R"({"image":"x"})", R"({"name":null,"image":"x"})"}) {
    const std::string config =
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[)" +
        std::string(container) + "]}}";
    EXPECT_TRUE(Written(builtin("core.v1.Pod")).try_apply("a", config.c_str()).ok()) << container;
  }
}

TEST(ServerSideApply, AnythingGoesWhereUnknownFieldsAreKept) {
  Written widget(Widget::schema(), "ex.com/v1");
  widget.apply("a", widget_spec(R"({"open":{"x":{"y":[{"z":1}]}}})"));
  EXPECT_TRUE(same_json(widget.object()["spec"], R"({"open":{"x":{"y":[{"z":1}]}}})"));
}

TEST(ServerSideApply, StatusOwnsNothingOfSpec) {
  Written widget(Widget::schema(), "ex.com/v1");
  widget.update("m", R"({"metadata":{"name":"w"},"spec":{"scalar":"1"}})");
  FieldSet reset;
  reset.insert(path_element::field("spec"));
  FieldManagement by = widget.on("status").by("s");
  by.reset_fields = &reset;
  const Result<Value, ApplyError> result = apply_configuration(
      widget.object(), json(R"({"apiVersion":"ex.com/v1","kind":"Widget","metadata":{"name":"w"},
          "spec":{"scalar":"9"},"status":{"phase":"A"}})"),
      by);
  ASSERT_TRUE(result.ok()) << result.error().error.message;
  EXPECT_EQ((*result)["spec"]["scalar"].as_string(), "1");
  EXPECT_EQ((*result)["status"]["phase"].as_string(), "A");
  const Value& entry = (*result)["metadata"]["managedFields"][0];
  EXPECT_EQ(entry["subresource"].as_string(), "status");
  EXPECT_TRUE(same_json(entry["fieldsV1"], R"({"f:status":{"f:phase":{}}})"));
}

TEST(ServerSideApply, AnApplierMovesWithItsVersion) {
  Written widget(Widget::schema(), "ex.com/v1");
  widget.apply("a", widget_spec(R"({"scalar":"1","map":{"k":"1"}})"));
  FieldManagement by = widget.by("a");
  by.api_version = "ex.com/v2";
  const Result<Value, ApplyError> result =
      apply_configuration(widget.object(), json(widget_spec(R"({"scalar":"1"})")), by);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(same_json((*result)["spec"], R"({"scalar":"1"})"));
  ASSERT_EQ((*result)["metadata"]["managedFields"].size(), 1U);
  EXPECT_EQ((*result)["metadata"]["managedFields"][0]["apiVersion"].as_string(), "ex.com/v2");
}

TEST(ServerSideApply, KeepsTimeOfEntryOfRemovedVersion) {
  Written widget(Widget::schema(), "ex.com/old");
  widget.apply("m", R"({"metadata":{"name":"w"},"spec":{"scalar":"1"}})");
  FieldManagement by = widget.at_time("2026-11-20T13:00:00Z").by("m");
  by.api_version = "ex.com/v1";
  by.knows_version = [](std::string_view version) { return version == "ex.com/v1"; };
  const auto applied = apply_configuration(
      widget.object(),
      json(R"({"apiVersion":"ex.com/v1","metadata":{"name":"w"},"spec":{"scalar":"1"}})"), by);
  ASSERT_TRUE(applied.ok());
  const Value& entries = (*applied)["metadata"]["managedFields"];
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0]["apiVersion"].as_string(), "ex.com/v1");
  EXPECT_EQ(entries[0]["time"].as_string(), test::kNoon);
}

TEST(ServerSideApply, KubectlTakesOverFromItsClientSideApply) {
  Written map(builtin("core.v1.ConfigMap"));
  map.update("kubectl-client-side-apply",
             R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c",
      "annotations":{"kubectl.kubernetes.io/last-applied-configuration":
      "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"1\",\"b\":\"1\"}}\n"}},
      "data":{"a":"1","b":"1"}})");
  const std::string config = config_map(R"("data":{"b":"1","a":"2"})");
  EXPECT_FALSE(map.try_apply("other", config).ok());
  map.apply("kubectl", config);
  EXPECT_TRUE(same_json(map.object()["data"], R"({"a":"2","b":"1"})"));
  EXPECT_EQ(
      map.object()["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
          .as_string(),
      "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"2\",\"b\":\"1\"},\"kind\":\"ConfigMap\","
      "\"metadata\":{\"name\":\"c\"}}\n");
  // What somebody else changed since is still a conflict.
  map.edit("editor", [](Value& object) { object.set_path({"data", "a"}, "3"); });
  EXPECT_FALSE(map.try_apply("kubectl", config_map(R"("data":{"a":"4"})")).ok());
}

TEST(ServerSideApply, KubectlMigratesManagedFields) {
  Written map(builtin("core.v1.ConfigMap"));
  map.update("kubectl-client-side-apply", config_map(R"("data":{"a":"1"})"))
      .apply("kubectl-last-applied", config_map(R"("data":{"a":"1"})"));
  map.edit("kubectl", [](Value& object) {
    object.set_path({"metadata", "managedFields"},
                    json(R"([{"manager":"kubectl","operation":"Apply",
        "apiVersion":"v1","time":"2026-11-20T12:00:00Z","fieldsType":"FieldsV1",
        "fieldsV1":{"f:data":{"f:a":{}}}}])"));
  });
  map.apply("kubectl", config_map(R"("data":{"b":"1"})"));
  EXPECT_TRUE(same_json(map.object()["data"], R"({"b":"1"})"));
}

TEST(ServerSideApply, NullSetsNothingInContainers) {
  Written map(builtin("core.v1.ConfigMap"));
  map.update("u", config_map(R"("data":{"a":"1"})")).apply("a", config_map(R"("data":null)"));
  EXPECT_TRUE(same_json(map.object()["data"], R"({"a":"1"})"));
}

TEST(ServerSideApply, NullWhereNothingIsChangesTheTimeAlone) {
  Written deployment(builtin("apps.v1.Deployment"), "apps/v1");
  const std::string config = R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d",
      "creationTimestamp":null},"spec":{"replicas":1,"minReadySeconds":null,
      "template":{"metadata":{"creationTimestamp":null,"labels":{"a":"1"}}}}})";
  deployment.update("u", R"({"metadata":{"name":"d"},"spec":{"replicas":1,
      "template":{"metadata":{"labels":{"a":"1"}}}}})");
  deployment.apply("a", config);
  EXPECT_TRUE(same_json(deployment.fields("a", "Apply"), R"({"f:spec":{"f:minReadySeconds":{},
      "f:replicas":{},"f:template":{"f:metadata":{"f:creationTimestamp":{},
      "f:labels":{"f:a":{}}}}}})"));
  EXPECT_FALSE(deployment.object()["spec"].contains("minReadySeconds"));
  const Value before = deployment.object();
  deployment.at_time("2026-11-21T12:00:00Z").apply("a", config);
  EXPECT_EQ(deployment.object()["spec"], before["spec"]);
  EXPECT_EQ(deployment.entry("a", "Apply")["time"].as_string(), "2026-11-21T12:00:00Z");
}

TEST(ServerSideApply, StoresEmptiedMapAsNull) {
  Written map(builtin("core.v1.ConfigMap"));
  map.apply("a", config_map(R"("data":{"a":"1"})")).apply("a", config_map(R"("data":{})"));
  EXPECT_TRUE(map.object().contains("data") && map.object()["data"].is_null());
  EXPECT_TRUE(same_json(map.fields("a", "Apply"), R"({"f:data":{}})"));
}

}  // namespace
}  // namespace athanor::server_side_apply_test
