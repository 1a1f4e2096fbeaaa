// SPDX-License-Identifier: Apache-2.0
// What others added to an applied object, by kinds of fields.
#include "kube/apply/additions.hpp"

#include <gtest/gtest.h>

#include <string>

#include "kube/apply/rival_fields.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::additions_test {
namespace {

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

// An object that "op" applied, with an entry of "other" that owns `fields`.
Value owned(const std::string& kind, const std::string& content, const std::string& fields) {
  return from_yaml("{kind: " + kind +
                   ", metadata: {name: a, labels: {theirs: x}, managedFields: [{manager: op, "
                   "operation: Apply, fieldsV1: {}}, {manager: other, operation: Update, "
                   "fieldsV1: " +
                   fields + "}]}, " + content + "}");
}

struct Row {
  const char* kind;
  const char* live;
  const char* wanted;
  const char* fields;
  const char* rest;  // empty: nothing is taken out
};

class Additions : public ::testing::TestWithParam<Row> {};

TEST_P(Additions, AreTakenOut) {
  const Row& row = GetParam();
  const Value object = owned(row.kind, row.live, row.fields);
  const auto rest = without_additions(object, from_yaml(row.wanted), "op");
  if (std::string_view(row.rest).empty()) {
    EXPECT_FALSE(rest.has_value());
    return;
  }
  ASSERT_TRUE(rest.has_value());
  EXPECT_EQ(*rest, owned(row.kind, row.rest, row.fields));
}

constexpr Row kRows[] = {
    {"ConfigMap", "data: {a: x, b: y}", "{data: {a: x}}", R"({"f:data": {"f:b": {}}})",
     "data: {a: x}"},
    // The applier lost the list as a whole.
    {"ClusterRole", "rules: [{verbs: [get]}, {verbs: ['*']}]", "{rules: [{verbs: [get]}]}",
     R"({"f:rules": {}})", "rules: [{verbs: [get]}]"},
    {"Role", "rules: [{verbs: ['*']}]", "{rules: []}", R"({"f:rules": {}})", "rules: []"},
    {"Service", "spec: {selector: {a: x, b: y}}", "{spec: {selector: {a: x}}}",
     R"({"f:spec": {"f:selector": {}}})", "spec: {selector: {a: x}}"},
    {"NetworkPolicy", "spec: {podSelector: {matchLabels: {a: x, b: y}}}",
     "{spec: {podSelector: {matchLabels: {a: x}}}}", R"({"f:spec": {"f:podSelector": {}}})",
     "spec: {podSelector: {matchLabels: {a: x}}}"},
    {"RoleBinding", "subjects: [{kind: User, name: a, apiGroup: rbac.authorization.k8s.io}]",
     "{subjects: [{kind: User, name: a}]}", R"({"f:subjects": {}})", ""},
    {"DaemonSet", "spec: {hostPID: true, a: 1}", "{spec: {a: 1}}",
     R"({"f:spec": {"f:hostPID": {}}})", "spec: {a: 1}"},
    // Both own it.
    {"DaemonSet", "spec: {hostPID: true}", "{spec: {hostPID: true}}",
     R"({"f:spec": {"f:hostPID": {}}})", ""},
    // A default of the server.
    {"DaemonSet", "spec: {dnsPolicy: ClusterFirst}", "{spec: {}}",
     R"({"f:spec": {"f:dnsPolicy": {}}})", ""},
    {"DaemonSet", "spec: {dnsPolicy: Default}", "{spec: {}}", R"({"f:spec": {"f:dnsPolicy": {}}})",
     "spec: {}"},
    // Items by their keys; fields of an item that is wanted.
    {"DaemonSet", "c: [{name: a, env: [{name: X}], tty: true}, {name: b}]", "{c: [{name: a}]}",
     R"({"f:c": {"k:{\"name\":\"a\"}": {"f:env": {".": {}, "k:{\"name\":\"X\"}": {".": {}}},
        "f:tty": {}}, "k:{\"name\":\"b\"}": {".": {}}}})",
     "c: [{name: a}]"},
    {"Service", "spec: {ports: [{port: 1, protocol: TCP}, {port: 2, protocol: TCP}]}",
     "{spec: {ports: [{port: 1}]}}",
     R"({"f:spec": {"f:ports": {"k:{\"port\":1,\"protocol\":\"TCP\"}": {".": {}},
        "k:{\"port\":2,\"protocol\":\"TCP\"}": {".": {}}}}})",
     "spec: {ports: [{port: 1, protocol: TCP}]}"},
    // Structures that only the addition made go with it.
    {"DaemonSet", "spec: {s: {privileged: true}}", "{spec: {}}",
     R"({"f:spec": {"f:s": {"f:privileged": {}}}})", "spec: {}"},
    // Fields that others may write.
    {"Deployment", "spec: {replicas: 3}", "{spec: {}}", R"({"f:spec": {"f:replicas": {}}})", ""},
    {"Service", "spec: {clusterIP: 10.0.0.1}", "{spec: {}}", R"({"f:spec": {"f:clusterIP": {}}})",
     ""},
    {"ServiceAccount", "secrets: [{name: s}]", "{}", R"({"f:secrets": {}})", ""},
    {"MutatingWebhookConfiguration", "webhooks: [{name: w, clientConfig: {caBundle: eA==}}]",
     "{webhooks: [{name: w, clientConfig: {}}]}",
     R"({"f:webhooks": {"k:{\"name\":\"w\"}": {"f:clientConfig": {"f:caBundle": {}}}}})", ""},
    {"Pod", "spec: {a: 1}", "{spec: {a: 1}}", R"({"f:metadata": {"f:labels": {"f:theirs": {}}}})",
     ""},
};
INSTANTIATE_TEST_SUITE_P(Rows, Additions, ::testing::ValuesIn(kRows));

TEST(AdditionsOf, NeedAnApplyOfTheOperator) {
  const Value object = owned("ConfigMap", "data: {b: y}", R"({"f:data": {"f:b": {}}})");
  EXPECT_FALSE(without_additions(object, Value::object(), "another").has_value());
}

TEST(RivalFields, AreKeptOfObjectsThatAnApplierOwns) {
  const Value object = owned("ConfigMap", "data: {b: y}", R"({"f:data": {"f:b": {}}})");
  Value kept = object;
  keep_rival_fields(kept, {"op"});
  EXPECT_EQ(kept, object);
  keep_rival_fields(kept, {"another"});
  EXPECT_FALSE(kept["metadata"].contains("managedFields"));
}

TEST(RivalFields, LeaveOutSubresourcesAndLoneWriters) {
  Value object = owned("ConfigMap", "data: {}", "{}");
  object.member("metadata").member("managedFields").item(1).set("subresource", "status");
  keep_rival_fields(object, {"op"});
  EXPECT_FALSE(object["metadata"].contains("managedFields"));
}

}  // namespace
}  // namespace athanor::additions_test
