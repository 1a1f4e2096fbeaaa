// SPDX-License-Identifier: Apache-2.0
// Life of an object: create, read, update, patch, delete (docs/spec/apiserver.md 3, 6, 7, 9, 10).
#include "embedded/apiserver/write/write.hpp"
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::objects_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kMaps = "/api/v1/namespaces/tst/configmaps";

std::string item(std::string_view name) {
  return std::string(kMaps) + "/" + std::string(name);
}

TEST(Create, SetsSystemMetadata) {
  TestServer server;
  Value body = config_map("a", R"({"k":"v"})");
  body.member("metadata").set("uid", "mine");
  body.member("metadata").set("creationTimestamp", "2000-01-01T00:00:00Z");
  const Answer answer = server.post(kMaps, body);
  ASSERT_EQ(answer.status, 201) << answer.text;
  const Value& metadata = answer.value["metadata"];
  EXPECT_EQ(metadata["namespace"].as_string(), "tst");
  EXPECT_EQ(metadata["creationTimestamp"].as_string(), "2026-11-20T10:00:00Z");
  EXPECT_EQ(metadata["uid"].as_string().size(), 36U);
  EXPECT_EQ(metadata["resourceVersion"].as_string(), std::to_string(server.store().revision()));
  EXPECT_FALSE(metadata.contains("generation"));
  EXPECT_EQ(answer.value["kind"].as_string(), "ConfigMap");
  EXPECT_EQ(answer.value["data"]["k"].as_string(), "v");
  EXPECT_EQ(metadata["managedFields"].size(), 1U);
  EXPECT_NE(answer.header("Audit-Id"), "");
  EXPECT_EQ(answer.header("Cache-Control"), "no-cache, private");
}

TEST(Create, TakesKindAndVersionFromTheUrl) {
  TestServer server;
  const Answer answer = server.post(kMaps, parse(R"({"metadata":{"name":"a"}})"));
  ASSERT_EQ(answer.status, 201) << answer.text;
  EXPECT_EQ(answer.value["apiVersion"].as_string(), "v1");
}

struct Refusal {
  const char* what;
  const char* line;
  const char* body;
  int code;
  const char* reason;
  const char* message;  // exact; a trailing "*": prefix
  const char* type = "";
};

class Refusals : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refusals, HaveTheirCodeReasonAndText) {
  TestServer server;
  ASSERT_EQ(server.post(kMaps, config_map("a", R"({"k":"v"})")).status, 201);
  const Refusal& row = GetParam();
  std::vector<std::pair<std::string, std::string>> headers;
  if (std::string_view(row.type) != "") {
    headers.emplace_back("content-type", row.type);
  }
  const Answer answer = server.call(row.line, row.body, headers);
  EXPECT_EQ(answer.status, row.code) << answer.text;
  EXPECT_EQ(answer.value["code"].as_int(), row.code);
  EXPECT_EQ(answer.reason(), row.reason);
  std::string expected = row.message;
  if (expected.ends_with('*')) {
    expected.pop_back();
    EXPECT_THAT(answer.message(), StartsWith(expected));
  } else {
    EXPECT_EQ(answer.message(), expected);
  }
}

constexpr const char* kPost = "POST /api/v1/namespaces/tst/configmaps";
constexpr const char* kPutA = "PUT /api/v1/namespaces/tst/configmaps/a";

INSTANTIATE_TEST_SUITE_P(
    Section6, Refusals,
    ::testing::Values(
        Refusal{"existing", kPost, R"({"metadata":{"name":"a"}})", 409, "AlreadyExists",
                "configmaps \"a\" already exists"},
        Refusal{"missing", "GET /api/v1/namespaces/tst/configmaps/zzz", "", 404, "NotFound",
                "configmaps \"zzz\" not found"},
        Refusal{"stale", kPutA, R"({"metadata":{"name":"a","resourceVersion":"1"}})", 409,
                "Conflict",
                "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; "
                "please apply your changes to the latest version and try again"},
        Refusal{"uid", kPutA, R"({"metadata":{"name":"a","uid":"nope"}})", 409, "Conflict",
                "Operation cannot be fulfilled on configmaps \"a\": Precondition failed: UID in "
                "precondition: nope, UID in object meta: *"},
        Refusal{"rv in create", kPost, R"({"metadata":{"name":"b","resourceVersion":"1"}})", 500,
                "", "resourceVersion should not be set on objects to be created"},
        Refusal{"rv in create of something invalid", kPost,
                R"({"metadata":{"name":"A_b","resourceVersion":"1"}})", 422, "Invalid",
                "ConfigMap \"A_b\" is invalid: metadata.name: *"},
        Refusal{"no name", kPost, R"({"metadata":{}})", 422, "Invalid",
                "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is "
                "required"},
        Refusal{"other name", kPutA, R"({"metadata":{"name":"b"}})", 400, "BadRequest",
                "the name of the object (b) does not match the name on the URL (a)"},
        Refusal{"other namespace", kPost, R"({"metadata":{"name":"b","namespace":"x"}})", 400,
                "BadRequest",
                "the namespace of the provided object does not match the namespace sent on the "
                "request"},
        Refusal{"other kind", kPost, R"({"kind":"Secret","apiVersion":"v1"})", 400, "BadRequest",
                "Secret in version \"v1\" cannot be handled as a ConfigMap: *"},
        Refusal{"not JSON", kPost, "{nope", 400, "BadRequest",
                "the object provided is unrecognized (must be of type ConfigMap): *"},
        Refusal{"wrong type", kPost, R"({"metadata":{"name":"b"},"data":{"a":1}})", 400,
                "BadRequest",
                "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot "
                "unmarshal number into Go struct field ConfigMap.data of type string"},
        Refusal{"bad name", kPost, R"({"metadata":{"name":"A_b"}})", 422, "Invalid",
                "ConfigMap \"A_b\" is invalid: metadata.name: Invalid value: \"A_b\": a lowercase "
                "RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
                "'.', and must start and end with an alphanumeric character (e.g. 'example.com', "
                "regex used for validation is "
                "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"},
        Refusal{"form body", kPost, "a=b", 415, "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: "
                "application/json, application/yaml, application/vnd.kubernetes.protobuf",
                "application/x-www-form-urlencoded"},
        Refusal{"bad dryRun", "POST /api/v1/namespaces/tst/configmaps?dryRun=Some",
                R"({"metadata":{"name":"b"}})", 422, "Invalid",
                "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: "
                "supported values: \"All\""},
        Refusal{"bad fieldValidation", "POST /api/v1/namespaces/tst/configmaps?fieldValidation=Bad",
                R"({"metadata":{"name":"b"}})", 422, "Invalid",
                "CreateOptions.meta.k8s.io \"\" is invalid: fieldValidation: Unsupported value: "
                "\"Bad\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""},
        Refusal{"strict", "POST /api/v1/namespaces/tst/configmaps?fieldValidation=Strict",
                R"({"metadata":{"name":"b","nope":1},"data":{"a":"1","a":"2"},"xyz":1})", 400,
                "BadRequest",
                "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding "
                "error: unknown field \"metadata.nope\", duplicate field \"data.a\", unknown field "
                "\"xyz\""},
        Refusal{"lease without rv", "PUT /apis/coordination.k8s.io/v1/namespaces/tst/leases/x",
                R"({"metadata":{"name":"x","uid":"u"}})", 409, "Conflict",
                "Operation cannot be fulfilled on leases.coordination.k8s.io \"x\": Precondition "
                "failed: UID in precondition: u, UID in object meta: "},
        Refusal{"patch without type", "PATCH /api/v1/namespaces/tst/configmaps/a", "{}", 415,
                "UnsupportedMediaType", "415: Unsupported Media Type"},
        Refusal{"patch empty", "PATCH /api/v1/namespaces/tst/configmaps/a", "", 400, "BadRequest",
                "error decoding patch: unexpected end of JSON input",
                "application/merge-patch+json"},
        Refusal{"patch empty, of nothing", "PATCH /api/v1/namespaces/tst/configmaps/absent", "",
                404, "NotFound", "configmaps \"absent\" not found", "application/merge-patch+json"},
        Refusal{"json patch no list", "PATCH /api/v1/namespaces/tst/configmaps/a", "{}", 400,
                "BadRequest",
                "error decoding patch: json: cannot unmarshal object into Go value of type "
                "[]handlers.jsonPatchOp",
                "application/json-patch+json"},
        Refusal{"json patch test", "PATCH /api/v1/namespaces/tst/configmaps/a",
                R"([{"op":"test","path":"/data/k","value":"w"}])", 422, "Invalid",
                "the server rejected our request due to an error in our request",
                "application/json-patch+json"},
        Refusal{"patch undecodable", "PATCH /api/v1/namespaces/tst/configmaps/a",
                R"({"metadata":{"labels":{"a":1}}})", 422, "Invalid",
                " \"\" is invalid: patch: Invalid value: \"*", "application/merge-patch+json"},
        Refusal{"patch stale", "PATCH /api/v1/namespaces/tst/configmaps/a",
                R"({"metadata":{"resourceVersion":"1"}})", 409, "Conflict",
                "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; "
                "please apply your changes to the latest version and try again",
                "application/merge-patch+json"},
        Refusal{"force on merge", "PATCH /api/v1/namespaces/tst/configmaps/a?force=true", "{}", 422,
                "Invalid",
                "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified "
                "for non-apply patch",
                "application/merge-patch+json"},
        Refusal{"apply without manager", "PATCH /api/v1/namespaces/tst/configmaps/a", "{}", 422,
                "Invalid",
                "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is "
                "required for apply patch",
                "application/apply-patch+yaml"},
        Refusal{"apply other kind", "PATCH /api/v1/namespaces/tst/configmaps/a?fieldManager=m",
                R"({"apiVersion":"v2","kind":"ConfigMap","metadata":{"name":"a"}})", 400,
                "BadRequest", "invalid object type: /v2, Kind=ConfigMap",
                "application/apply-patch+yaml"},
        Refusal{"unknown policy",
                "DELETE /api/v1/namespaces/tst/configmaps/a?propagationPolicy=Bad", "", 422,
                "Invalid",
                "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: "
                "\"Bad\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""},
        Refusal{"both policies", "DELETE /api/v1/namespaces/tst/configmaps/a",
                R"({"propagationPolicy":"Orphan","orphanDependents":true})", 422, "Invalid",
                "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Invalid value: "
                "\"Orphan\": orphanDependents and deletionPropagation cannot be both set"},
        Refusal{"uid precondition", "DELETE /api/v1/namespaces/tst/configmaps/a",
                R"({"preconditions":{"uid":"nope"}})", 409, "Conflict",
                "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition "
                "(nope) does not match the UID in record (*"},
        Refusal{"rv precondition", "DELETE /api/v1/namespaces/tst/configmaps/a",
                R"({"preconditions":{"resourceVersion":"1"}})", 409, "Conflict",
                "Operation cannot be fulfilled on ConfigMap \"a\": the ResourceVersion in the "
                "precondition (1) does not match the ResourceVersion in record (*"},
        Refusal{"namespace default", "DELETE /api/v1/namespaces/default", "", 403, "Forbidden",
                "namespaces \"default\" is forbidden: this namespace may not be deleted"}));

TEST(Create, StrictAndWarnReportUnknownFields) {
  TestServer server;
  const Answer answer =
      server.call(kPost, R"({"metadata":{"name":"b","nope":1},"data":{"a":"1","a":"2"}})");
  ASSERT_EQ(answer.status, 201) << answer.text;
  EXPECT_THAT(answer.warnings(), ElementsAre("299 - \"unknown field \\\"metadata.nope\\\"\"",
                                             "299 - \"duplicate field \\\"data.a\\\"\""));
  EXPECT_EQ(answer.value["data"]["a"].as_string(), "2");
  EXPECT_FALSE(answer.value["metadata"].contains("nope"));
}

TEST(Create, GeneratesNames) {
  TestServer server;
  const Answer answer = server.post(kMaps, parse(R"({"metadata":{"generateName":"job-"}})"));
  ASSERT_EQ(answer.status, 201) << answer.text;
  EXPECT_THAT(answer.value["metadata"]["name"].str(),
              ::testing::MatchesRegex("job-[bcdfghjklmnpqrstvwxz2456789]{5}"));
  EXPECT_EQ(answer.value["metadata"]["generateName"].as_string(), "job-");
}

TEST(Create, DryRunStoresNothing) {
  TestServer server;
  const auto before = server.store().revision();
  const Answer answer = server.post(std::string(kMaps) + "?dryRun=All", config_map("dry"));
  ASSERT_EQ(answer.status, 201) << answer.text;
  EXPECT_FALSE(answer.value["metadata"].contains("resourceVersion"));
  EXPECT_EQ(server.store().revision(), before);
  EXPECT_EQ(server.get(item("dry")).status, 404);
}

TEST(Create, DryRunIgnoresAVersion) {
  TestServer server;
  const Answer dry = server.post(std::string(kMaps) + "?dryRun=All",
                                 parse(R"({"metadata":{"name":"a","resourceVersion":"5"}})"));
  EXPECT_EQ(dry.status, 201) << dry.text;
  EXPECT_FALSE(dry.value["metadata"].contains("resourceVersion"));
  const Answer unset =
      server.post(kMaps, parse(R"({"metadata":{"name":"a","resourceVersion":"0"}})"));
  EXPECT_EQ(unset.status, 201) << unset.text;
  EXPECT_NE(unset.value["metadata"]["resourceVersion"].as_string(), "0");
}

TEST(Update, ReplacesAndKeepsIdentity) {
  TestServer server;
  const Answer made = server.post(kMaps, config_map("a", R"({"k":"v"})"));
  Value body = made.value;
  body.set("data", parse(R"({"k":"w"})"));
  const Answer changed = server.put(item("a"), body);
  ASSERT_EQ(changed.status, 200) << changed.text;
  EXPECT_EQ(changed.value["data"]["k"].as_string(), "w");
  EXPECT_EQ(changed.value["metadata"]["uid"], made.value["metadata"]["uid"]);
  EXPECT_NE(changed.value["metadata"]["resourceVersion"],
            made.value["metadata"]["resourceVersion"]);
}

TEST(Update, WithoutChangeKeepsTheRevision) {
  TestServer server;
  const Answer made = server.post(kMaps, config_map("a", R"({"k":"v"})"));
  const Answer same = server.put(item("a"), made.value);
  EXPECT_EQ(same.status, 200);
  EXPECT_EQ(same.value["metadata"]["resourceVersion"], made.value["metadata"]["resourceVersion"]);
  const Answer patched = server.patch(item("a"), "merge", R"({"data":{"k":"v"}})");
  EXPECT_EQ(patched.value["metadata"]["resourceVersion"],
            made.value["metadata"]["resourceVersion"]);
}

TEST(Update, CreatesWhereTheKindAllowsIt) {
  TestServer server;
  const Answer lease = server.put("/apis/coordination.k8s.io/v1/namespaces/tst/leases/x",
                                  parse(R"({"metadata":{"name":"x"}})"));
  EXPECT_EQ(lease.status, 201) << lease.text;
  const Answer again = server.put("/apis/coordination.k8s.io/v1/namespaces/tst/leases/x",
                                  parse(R"({"metadata":{"name":"x"}})"));
  EXPECT_EQ(again.status, 422);
  EXPECT_EQ(again.message(),
            "leases.coordination.k8s.io \"x\" is invalid: metadata.resourceVersion: Invalid value: "
            "0: must be specified for an update");
  EXPECT_EQ(server.put(item("nope"), config_map("nope")).status, 404);
}

TEST(Patch, AllFourTypesWork) {
  TestServer server;
  server.post(kMaps, config_map("a", R"({"k":"v"})"));
  EXPECT_EQ(server.patch(item("a"), "merge", R"({"data":{"m":"1"}})").value["data"]["m"], "1");
  EXPECT_EQ(server.patch(item("a"), "json", R"([{"op":"add","path":"/data/j","value":"2"}])")
                .value["data"]["j"],
            "2");
  EXPECT_EQ(server.patch(item("a"), "strategic-merge", R"({"data":{"s":"3"}})").value["data"]["s"],
            "3");
  const Answer applied =
      server.patch(item("a") + "?fieldManager=me", "apply",
                   "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  z: '4'\n");
  ASSERT_EQ(applied.status, 200) << applied.text;
  EXPECT_EQ(json::print(applied.value["data"]), R"({"k":"v","m":"1","j":"2","s":"3","z":"4"})");
}

TEST(Patch, ApplyCreatesAndConflicts) {
  TestServer server;
  const std::string body =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s"},"data":{"c":"1"}})";
  EXPECT_EQ(server.patch(item("s") + "?fieldManager=m1", "apply", body).status, 201);
  EXPECT_EQ(server.patch(item("s") + "?fieldManager=m1", "apply", body).status, 200);
  const Answer update =
      server.call("PATCH " + item("s") + "?fieldManager=up", R"({"data":{"c":"2"}})",
                  {{"content-type", "application/merge-patch+json"}});
  ASSERT_EQ(update.status, 200);
  const Answer conflict = server.patch(item("s") + "?fieldManager=m1", "apply", body);
  EXPECT_EQ(conflict.status, 409);
  EXPECT_EQ(conflict.message(),
            "Apply failed with 1 conflict: conflict with \"up\" using v1: .data.c");
  EXPECT_EQ(conflict.value["details"], parse(R"({"causes":[{"reason":"FieldManagerConflict",
                      "message":"conflict with \"up\" using v1","field":".data.c"}]})"));
  const Answer forced = server.patch(item("s") + "?fieldManager=m1&force=true", "apply", body);
  EXPECT_EQ(forced.status, 200);
  EXPECT_EQ(forced.value["data"]["c"], "1");
}

TEST(Delete, AnswersAStatus) {
  TestServer server;
  const Answer made = server.post(kMaps, config_map("a"));
  const Answer gone = server.remove(item("a"));
  EXPECT_EQ(gone.status, 200);
  Value expected = parse(
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success",
          "details":{"name":"a","kind":"configmaps"}})");
  expected.member("details").set("uid", made.value["metadata"]["uid"]);
  EXPECT_EQ(gone.value, expected);
  EXPECT_EQ(server.get(item("a")).status, 404);
}

TEST(Delete, WaitsForFinalizers) {
  TestServer server;
  Value body = config_map("f");
  body.member("metadata").set("finalizers", Value::list({"ex.com/f"}));
  server.post(kMaps, body);
  const Answer waiting = server.remove(item("f"));
  EXPECT_EQ(waiting.status, 200);
  EXPECT_EQ(waiting.value["metadata"]["deletionTimestamp"].as_string(), "2026-11-20T10:00:00Z");
  EXPECT_EQ(waiting.value["metadata"]["deletionGracePeriodSeconds"].as_int(-1), 0);
  const Answer again = server.remove(item("f"));
  EXPECT_EQ(again.value, waiting.value);
  const Answer added =
      server.patch(item("f"), "merge", R"({"metadata":{"finalizers":["ex.com/f","ex.com/g"]}})");
  EXPECT_EQ(added.status, 422);
  EXPECT_THAT(added.message(),
              HasSubstr("metadata.finalizers: Forbidden: no new finalizers can be added if the "
                        "object is being deleted, found new finalizers []string{\"ex.com/g\"}"));
  const Answer last = server.patch(item("f"), "merge", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(last.status, 200);
  EXPECT_FALSE(last.value["metadata"].contains("finalizers"));
  EXPECT_EQ(last.value["metadata"]["resourceVersion"],
            waiting.value["metadata"]["resourceVersion"]);
  EXPECT_EQ(server.get(item("f")).status, 404);
}

TEST(Delete, PoliciesBecomeFinalizers) {
  TestServer server;
  server.post(kMaps, config_map("a"));
  const Answer foreground = server.remove(item("a") + "?propagationPolicy=Foreground");
  EXPECT_EQ(foreground.value["metadata"]["finalizers"], parse(R"(["foregroundDeletion"])"));
  server.post(kMaps, config_map("b"));
  const Answer orphan = server.remove(item("b"), parse(R"({"orphanDependents":true})"));
  EXPECT_EQ(orphan.value["metadata"]["finalizers"], parse(R"(["orphan"])"));
}

TEST(Delete, ScheduledPodsGetTheirGrace) {
  TestServer server;
  const Value pod = parse(
      R"({"metadata":{"name":"p"},"spec":{"nodeName":"n1","terminationGracePeriodSeconds":30,
          "containers":[{"name":"c","image":"i"}]}})");
  ASSERT_EQ(server.post("/api/v1/namespaces/tst/pods", pod).status, 201);
  const Answer first = server.remove("/api/v1/namespaces/tst/pods/p");
  EXPECT_EQ(first.value["metadata"]["deletionTimestamp"].as_string(), "2026-11-20T10:00:30Z");
  EXPECT_EQ(first.value["metadata"]["deletionGracePeriodSeconds"].as_int(), 30);
  EXPECT_EQ(first.value["metadata"]["generation"].as_int(), 2);
  const Answer shorter = server.remove("/api/v1/namespaces/tst/pods/p?gracePeriodSeconds=10");
  EXPECT_EQ(shorter.value["metadata"]["deletionTimestamp"].as_string(), "2026-11-20T10:00:10Z");
  const Answer longer = server.remove("/api/v1/namespaces/tst/pods/p?gracePeriodSeconds=50");
  EXPECT_EQ(longer.value["metadata"]["deletionTimestamp"].as_string(), "2026-11-20T10:00:10Z");
  const Answer now = server.remove("/api/v1/namespaces/tst/pods/p?gracePeriodSeconds=0");
  EXPECT_EQ(now.value["kind"].as_string(), "Pod");
  EXPECT_EQ(server.get("/api/v1/namespaces/tst/pods/p").status, 404);
}

TEST(Delete, CollectionAnswersTheList) {
  TestServer server;
  for (const char* name : {"a", "b", "c"}) {
    Value body = config_map(name);
    body.member("metadata")
        .set("labels", Value::object({{"x", name == std::string("b") ? "no" : "yes"}}));
    server.post(kMaps, body);
  }
  const Answer gone = server.remove(std::string(kMaps) + "?labelSelector=x=yes");
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(gone.value["kind"].as_string(), "ConfigMapList");
  EXPECT_EQ(gone.value["items"].size(), 2U);
  EXPECT_EQ(server.get(kMaps).value["items"].size(), 1U);
}

TEST(InProcess, TakesAndGivesValues) {
  TestServer server;
  Request request;
  request.method = "POST";
  request.path = std::string(kMaps);
  request.credentials.internal_user = "system:serviceaccount:kube-system:job-controller";
  request.body = config_map("v", R"({"k":"v"})");
  const Response response = server.server().handle(request, server.now());
  ASSERT_EQ(response.status, 201);
  ASSERT_TRUE(response.value.has_value());
  EXPECT_EQ((*response.value)["metadata"]["managedFields"][0]["manager"].as_string(),
            "job-controller");
  EXPECT_TRUE(response.body.empty());
}

TEST(InProcess, TrustsControllersWhereOptionAllows) {
  const auto answer = [](bool trusts, std::optional<std::string> user) {
    TestServer server(Options{.trusts_controllers = trusts});
    Request request;
    request.method = "POST";
    request.path = std::string(kMaps);
    request.body = config_map("v", R"({"a key with blanks":"v"})");
    request.credentials.internal_user = std::move(user);
    return server.server().handle(request, server.now());
  };
  const std::string controller = "system:serviceaccount:kube-system:job-controller";
  const Response taken = answer(true, controller);
  ASSERT_EQ(taken.status, 201);
  EXPECT_FALSE((*taken.value)["metadata"].contains("managedFields"));
  EXPECT_EQ(answer(false, controller).status, 422);
  EXPECT_EQ(answer(true, "system:apiserver").status, 422);
}

}  // namespace
}  // namespace athanor::apiserver::objects_test
