// SPDX-License-Identifier: Apache-2.0
// managedFields of creates, updates and patches: docs/spec/apiserver.md 11.1.
#include "kube/apply/managed_fields.hpp"

#include "unit/kube/apply_fixture.hpp"

namespace athanor::managed_fields_test {
namespace {

using test::builtin;
using test::json;
using test::same_json;
using test::Widget;
using test::Written;

std::vector<std::string> writers(const Value& object) {
  std::vector<std::string> out;
  for (const Value& entry : object["metadata"]["managedFields"].items()) {
    out.push_back(entry["operation"].str() + " " + entry["manager"].str());
  }
  return out;
}

TEST(ManagedFields, OwnLeavesAndContainersMadeByCreate) {
  Written map(builtin("core.v1.ConfigMap"));
  map.update("kubectl-create",
             R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"d",
                 "labels":{"l":"1"}},"data":{"a":"1"}})");
  EXPECT_TRUE(same_json(map.object()["metadata"]["managedFields"], R"([{
      "manager":"kubectl-create","operation":"Update","apiVersion":"v1",
      "time":"2026-11-20T12:00:00Z","fieldsType":"FieldsV1",
      "fieldsV1":{"f:data":{".":{},"f:a":{}},"f:metadata":{"f:labels":{".":{},"f:l":{}}}}}])"));
}

TEST(ManagedFields, AlwaysPresentStructsAreNotMade) {
  Written pod(builtin("core.v1.Pod"));
  pod.update("run", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"run":"p"}},
      "spec":{"containers":[{"name":"c","image":"i","resources":{},
              "ports":[{"containerPort":80,"protocol":"TCP"}]}],"dnsPolicy":"ClusterFirst",
              "securityContext":{}},"status":{}})");
  EXPECT_TRUE(same_json(pod.fields("run", "Update"), R"({
      "f:metadata":{"f:labels":{".":{},"f:run":{}}},
      "f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{},
          "f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":
              {".":{},"f:containerPort":{},"f:protocol":{}}},
          "f:resources":{}}},"f:dnsPolicy":{},"f:securityContext":{}}})"));
}

TEST(ManagedFields, CustomResourcesMakeTheirSpec) {
  Written widget(Widget::schema(), "ex.com/v1");
  widget.update("m", R"({"metadata":{"name":"w","finalizers":["a"],"annotations":{"n":"1"}},
      "spec":{"scalar":"1","set":["x"],"atomic":["y"],"frozen":{"a":"1"},
              "open":{"deep":{"v":1},"list":[1]}}})");
  EXPECT_TRUE(same_json(widget.fields("m", "Update"), R"({
      "f:metadata":{"f:annotations":{".":{},"f:n":{}},"f:finalizers":{".":{},"v:\"a\"":{}}},
      "f:spec":{".":{},"f:atomic":{},"f:frozen":{},
                "f:open":{".":{},"f:deep":{".":{},"f:v":{}},"f:list":{}},
                "f:scalar":{},"f:set":{".":{},"v:\"x\"":{}}}})"));
}

TEST(ManagedFields, IgnoreObjectWithNameOnly) {
  Written map(builtin("core.v1.ConfigMap"));
  map.update("m", R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}})");
  EXPECT_FALSE(map.object()["metadata"].contains("managedFields"));
  // and is not tracked by updates either
  map.update("m", R"({"metadata":{"name":"c"},"data":{"a":"1"}})");
  EXPECT_FALSE(map.object()["metadata"].contains("managedFields"));
}

TEST(ManagedFields, UpdateTakesOverChangedFields) {
  Written map(builtin("core.v1.ConfigMap"));
  map.update("one", R"({"metadata":{"name":"c"},"data":{"a":"1","b":"1"}})")
      .at_time("2026-11-20T12:00:05Z")
      .update("two", R"({"metadata":{"name":"c"},"data":{"a":"2","b":"1","c":"1"}})");
  EXPECT_TRUE(same_json(map.fields("one", "Update"), R"({"f:data":{".":{},"f:b":{}}})"));
  EXPECT_TRUE(same_json(map.fields("two", "Update"), R"({"f:data":{"f:a":{},"f:c":{}}})"));
  EXPECT_EQ(map.entry("one", "Update")["time"].as_string(), "2026-11-20T12:00:00Z");
  EXPECT_EQ(map.entry("two", "Update")["time"].as_string(), "2026-11-20T12:00:05Z");
}

TEST(ManagedFields, RemovedFieldsHaveNoOwner) {
  Written map(builtin("core.v1.ConfigMap"));
  map.update("one", R"({"metadata":{"name":"c"},"data":{"a":"1"},"immutable":false})")
      .update("two", R"({"metadata":{"name":"c"},"data":{"b":"1"},"immutable":false})");
  EXPECT_TRUE(same_json(map.fields("one", "Update"), R"({"f:data":{},"f:immutable":{}})"));
  map.update("two", R"({"metadata":{"name":"c"},"immutable":false})");
  EXPECT_TRUE(same_json(map.fields("one", "Update"), R"({"f:immutable":{}})"));
  EXPECT_TRUE(map.entry("two", "Update").is_null());  // an empty entry disappears
}

TEST(ManagedFields, EqualValuesDoNotMove) {
  Written map(builtin("core.v1.ConfigMap"));
  map.update("one", R"({"metadata":{"name":"c"},"data":{"a":"1"}})");
  const Value before = map.object()["metadata"]["managedFields"];
  map.at_time("2026-11-20T13:00:00Z")
      .update("two", R"({"metadata":{"name":"c"},"data":{"a":"1"}})");
  EXPECT_TRUE(map.object()["metadata"]["managedFields"].identical(before));
}

TEST(ManagedFields, ListElementsAreFieldsByKey) {
  Written service(builtin("core.v1.Service"));
  service.update("one", R"({"metadata":{"name":"s"},"spec":{"ports":[
      {"port":80,"protocol":"TCP","name":"a"},{"port":81,"protocol":"TCP","name":"b"}]}})");
  service.update("two", R"({"metadata":{"name":"s"},"spec":{"ports":[
      {"port":81,"protocol":"TCP","name":"b"},{"port":80,"protocol":"TCP","name":"z"},
      {"port":82}]}})");
  EXPECT_TRUE(same_json(service.fields("two", "Update"), R"({"f:spec":{"f:ports":{
      "k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:name":{}},
      "k:{\"port\":82,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}})"));
  EXPECT_TRUE(same_json(service.fields("one", "Update")["f:spec"]["f:ports"], R"({".":{},
      "k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:protocol":{}},
      "k:{\"port\":81,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{}}})"));
}

TEST(ManagedFields, OwnRepeatedItemsAsWhole) {
  const std::string once = R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c",
      "env":[{"name":"A","value":"1"},{"name":"B","value":"1"}]}]}})";
  const std::string twice = R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c",
      "env":[{"name":"A","value":"1"},{"name":"B","value":"1"},{"name":"B","value":"2"}]}]}})";
  Written pod(builtin("core.v1.Pod"));
  pod.update("one", once).update("two", twice);
  const auto env = [&](const char* manager) {
    return pod.fields(manager, "Update")["f:spec"]["f:containers"][R"(k:{"name":"c"})"]["f:env"];
  };
  // What was there once is gone, what is there twice came.
  EXPECT_FALSE(env("one").contains(R"(k:{"name":"B"})"));
  EXPECT_TRUE(same_json(env("two"), R"({"k:{\"name\":\"B\"}":{}})"));
  pod.update("three", once);
  EXPECT_TRUE(
      same_json(env("three"), R"({"k:{\"name\":\"B\"}":{".":{},"f:name":{},"f:value":{}}})"));
}

TEST(ManagedFields, AnElementWithoutItsKeyEndsTheTracking) {
  Written account(builtin("core.v1.ServiceAccount"));
  account.update("one", R"({"metadata":{"name":"a"},"secrets":[{"name":"s"}]})");
  account.update("two", R"({"metadata":{"name":"a"},"secrets":[{}]})");
  EXPECT_TRUE(account.object()["metadata"]["managedFields"].is_null());
}

TEST(ManagedFields, StatusWritesHaveTheirOwnEntry) {
  Written widget(Widget::schema(), "ex.com/v1");
  widget.update("m", R"({"metadata":{"name":"w"},"spec":{"scalar":"1"}})")
      .on("status")
      .update("m", R"({"metadata":{"name":"w"},"spec":{"scalar":"1"},
          "status":{"phase":"Ready","conditions":[{"type":"A","status":"True"}]}})");
  EXPECT_TRUE(same_json(widget.fields("m", "Update"), R"({"f:spec":{".":{},"f:scalar":{}}})"));
  EXPECT_TRUE(same_json(widget.fields("m", "Update", "status"), R"({"f:status":{".":{},
      "f:conditions":{".":{},"k:{\"type\":\"A\"}":{".":{},"f:status":{},"f:type":{}}},
      "f:phase":{}}})"));
}

TEST(ManagedFields, ResetFieldsAreNeverOwned) {
  const Value live = json(R"({"metadata":{"name":"w","uid":"u"},"spec":{"scalar":"1"}})");
  FieldSet reset;
  reset.insert(path_element::field("status"));
  FieldManagement by{.schema = Widget::schema(), .manager = "m", .api_version = "ex.com/v1"};
  by.reset_fields = &reset;
  Value object = live;
  object.set("status", json(R"({"phase":"x"})"));
  object = update_managed_fields(Value(), object, by);
  EXPECT_TRUE(same_json(object["metadata"]["managedFields"][0]["fieldsV1"],
                        R"({"f:spec":{".":{},"f:scalar":{}}})"));
}

TEST(ManagedFields, ScaleTakesReplicasFromTheirOwner) {
  Written deployment(builtin("apps.v1.Deployment"), "apps/v1");
  deployment.update("m", R"({"metadata":{"name":"d"},"spec":{"replicas":1,"paused":true}})")
      .on("scale")
      .update("scaler", R"({"metadata":{"name":"d"},"spec":{"replicas":3,"paused":true}})");
  EXPECT_TRUE(
      same_json(deployment.fields("scaler", "Update", "scale"), R"({"f:spec":{"f:replicas":{}}})"));
  EXPECT_TRUE(same_json(deployment.fields("m", "Update"), R"({"f:spec":{"f:paused":{}}})"));
}

TEST(ManagedFields, SortsAppliesFirstThenByTimeAndManager) {
  Written map(builtin("core.v1.ConfigMap"));
  map.update("z", R"({"metadata":{"name":"c"},"data":{"a":"1"}})");
  map.update("b", R"({"metadata":{"name":"c"},"data":{"a":"1","b":"1"}})");
  map.at_time("2026-11-20T13:00:00Z")
      .update("a", R"({"metadata":{"name":"c"},"data":{"a":"1","b":"1","c":"1"}})")
      .apply("y",
             R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"d":"1"}})");
  EXPECT_EQ(writers(map.object()),
            (std::vector<std::string>{"Apply y", "Update b", "Update z", "Update a"}));
}

TEST(ManagedFields, ResetClearsAll) {
  for (const char* reset : {"[{}]", "[]"}) {
    Written map(builtin("core.v1.ConfigMap"));
    map.update("one", R"({"metadata":{"name":"c"},"data":{"a":"1"}})");
    map.edit("two", [&](Value& object) {
      object.set_path({"metadata", "managedFields"}, json(reset));
    });
    EXPECT_FALSE(map.object()["metadata"].contains("managedFields")) << reset;
  }
}

TEST(ManagedFields, ARequestMayRewriteThem) {
  Written map(builtin("core.v1.ConfigMap"));
  map.update("one", R"({"metadata":{"name":"c"},"data":{"a":"1"}})");
  map.edit("two", [](Value& object) {
    object.set_path({"metadata", "managedFields"},
                    json(R"([{"manager":"kubectl","operation":"Apply",
        "apiVersion":"v1","time":"2026-11-20T10:00:00Z","fieldsType":"FieldsV1",
        "fieldsV1":{"f:data":{"f:a":{}}}}])"));
  });
  EXPECT_EQ(writers(map.object()), std::vector<std::string>{"Apply kubectl"});
  EXPECT_TRUE(same_json(map.fields("kubectl", "Apply"), R"({"f:data":{"f:a":{}}})"));
}

TEST(ManagedFields, InvalidEntriesKeepTheOldOnes) {
  for (const char* broken :
       {R"([{"manager":"m","operation":"Bogus","apiVersion":"v1","fieldsType":"FieldsV1"}])",
        R"([{"manager":"m","operation":"Update","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}}])",
        R"([{"manager":"m","operation":"Update","apiVersion":"v1","fieldsV1":{"f:a":{}}}])",
        R"([{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1",
             "fieldsV1":{"k:{":{}}}])",
        R"([{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1",
             "time":"yesterday","fieldsV1":{"f:a":{}}}])"}) {
    Written map(builtin("core.v1.ConfigMap"));
    map.update("one", R"({"metadata":{"name":"c"},"data":{"a":"1"}})");
    const Value before = map.object()["metadata"]["managedFields"];
    map.edit("two", [&](Value& object) {
      object.set_path({"metadata", "managedFields"}, json(broken));
    });
    EXPECT_EQ(map.object()["metadata"]["managedFields"], before) << broken;
  }
}

TEST(ManagedFields, IgnoresManagedFieldsInBodyOfCreate) {
  Written map(builtin("core.v1.ConfigMap"));
  map.update("one", R"({"metadata":{"name":"c","managedFields":[{"manager":"x","operation":"Update",
      "apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}}}]},"data":{"a":"1"}})");
  EXPECT_EQ(writers(map.object()), std::vector<std::string>{"Update one"});
}

TEST(ManagedFields, EntriesOfForgottenVersionsAreDropped) {
  Written widget(Widget::schema(), "ex.com/v1alpha1");
  widget.update("old", R"({"metadata":{"name":"w"},"spec":{"scalar":"1"}})");
  FieldManagement by = widget.by("new");
  by.api_version = "ex.com/v1";
  by.knows_version = [](std::string_view version) { return version == "ex.com/v1"; };
  Value object = widget.object();
  object.set_path({"spec", "scalar"}, "2");
  object = update_managed_fields(widget.object(), object, by);
  // The object was tracked, and stays so.
  const Value& entries = object["metadata"]["managedFields"];
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0]["manager"].as_string(), "new");
}

TEST(ManagedFields, OldUpdatesAreFolded) {
  Written map(builtin("core.v1.ConfigMap"));
  map.update("m0", R"({"metadata":{"name":"c"},"data":{"k0":"1"}})");
  for (int i = 1; i < 13; ++i) {
    map.at_time("2026-11-20T12:00:" + std::to_string(10 + i) + "Z");
    map.edit("m" + std::to_string(i), [i](Value& object) {
      object.set_path({"data", "k" + std::to_string(i)}, "1");
    });
  }
  EXPECT_EQ(map.object()["metadata"]["managedFields"].size(), 10U);
  EXPECT_TRUE(same_json(map.fields("ancient-changes", "Update"),
                        R"({"f:data":{".":{},"f:k0":{},"f:k1":{},"f:k2":{},"f:k3":{}}})"));
  EXPECT_EQ(map.entry("ancient-changes", "Update")["time"].as_string(), "2026-11-20T12:00:13Z");
}

TEST(ManagedFields, NamesTheManagerByUserAgent) {
  EXPECT_EQ(manager_of_user_agent("kubectl/v1.32.0 (linux/amd64)"), "kubectl");
  EXPECT_EQ(manager_of_user_agent("plain"), "plain");
  EXPECT_EQ(manager_of_user_agent(""), "unknown");
  EXPECT_EQ(manager_of_user_agent(std::string(200, 'a')).size(), 128U);
}

}  // namespace
}  // namespace athanor::managed_fields_test
