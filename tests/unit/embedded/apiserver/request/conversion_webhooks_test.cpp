// SPDX-License-Identifier: Apache-2.0
// Conversion webhooks through the whole server (docs/spec/apiserver.md 13.6).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>

#include "unit/embedded/apiserver/test_server.hpp"
#include "unit/embedded/apiserver/webhooks/fake_outside.hpp"

namespace athanor::apiserver::conversion_webhooks_test {
namespace {

using testing::HasSubstr;

constexpr std::string_view kCrd = R"({"metadata":{"name":"gizmos.ex.com"},"spec":{
  "group":"ex.com","scope":"Namespaced",
  "names":{"plural":"gizmos","singular":"gizmo","kind":"Gizmo","listKind":"GizmoList"},
  "conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],
    "clientConfig":{"url":"https://hooks/convert"}}},
  "versions":[
   {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
     "properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"}}}}}},
    "subresources":{"status":{}}},
   {"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object",
     "properties":{"spec":{"type":"object","properties":{"width":{"type":"integer"},
       "color":{"type":"string","default":"red"}}}}}},"subresources":{"status":{}}}]}})";
constexpr std::string_view kV1 = "/apis/ex.com/v1/namespaces/tst/gizmos";
constexpr std::string_view kV2 = "/apis/ex.com/v2/namespaces/tst/gizmos";

// size (v1) is width (v2).
Value convert_one(const Value& object, std::string_view to) {
  Value converted = object;
  converted.set("apiVersion", Value(to));
  const bool newer = to == "ex.com/v2";
  Value spec = object["spec"];
  if (const Value* value = object["spec"].find(newer ? "size" : "width")) {
    const Value kept = *value;
    spec.erase(newer ? "size" : "width");
    spec.set(newer ? "width" : "size", kept);
  }
  converted.set("spec", spec);
  return converted;
}

OutsideAnswer convert_all(const Value& review, const std::function<void(Value&)>& change = {}) {
  Value objects = Value::list();
  for (const Value& object : review["request"]["objects"].items()) {
    Value converted = convert_one(object, review["request"]["desiredAPIVersion"].as_string());
    if (change) {
      change(converted);
    }
    objects.push_back(std::move(converted));
  }
  return json_answer(Value::object(
      {{"kind", "ConversionReview"},
       {"apiVersion", review["apiVersion"]},
       {"response", Value::object({{"uid", review["request"]["uid"]},
                                   {"convertedObjects", std::move(objects)},
                                   {"result", Value::object({{"status", "Success"}})}})}}));
}

OutsideAnswer failed(const Value& review, std::string_view message) {
  return json_answer(Value::object(
      {{"kind", "ConversionReview"},
       {"apiVersion", review["apiVersion"]},
       {"response", Value::object({{"uid", review["request"]["uid"]},
                                   {"result", Value::object({{"status", "Failed"},
                                                             {"message", message}})}})}}));
}

class ConversionWebhooks : public testing::Test {
 protected:
  ConversionWebhooks() {
    answer_with([](const Value& review) { return convert_all(review); });
    const Answer made =
        server_.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", parse(kCrd));
    EXPECT_EQ(made.status, 201) << made.message();
  }
  void answer_with(FakeOutside::Answerer answerer) {
    outside_.on("https://hooks/convert", std::move(answerer));
  }
  Answer create_v1(std::string_view name) {
    Value gizmo = parse(R"({"apiVersion":"ex.com/v1","kind":"Gizmo","spec":{"size":3}})");
    gizmo.set("metadata", Value::object({{"name", name}}));
    return server_.post(kV1, gizmo);
  }

  FakeOutside outside_{};
  TestServer server_{{}, &outside_};
};

TEST_F(ConversionWebhooks, AnObjectIsServedInEveryVersion) {
  const Answer made = create_v1("a");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_TRUE(outside_.asked.empty()) << "the storage version needs no conversion";
  const Answer read = server_.get(std::string(kV2) + "/a");
  ASSERT_EQ(read.status, 200) << read.message();
  EXPECT_EQ(read.value["apiVersion"], Value("ex.com/v2"));
  EXPECT_EQ(read.value["spec"]["width"], Value(3));
  EXPECT_EQ(read.value["spec"]["color"], Value("red")) << "the target version's defaults";
  EXPECT_EQ(read.value["metadata"]["uid"], made.value["metadata"]["uid"]);
  EXPECT_EQ(read.value["metadata"]["resourceVersion"], made.value["metadata"]["resourceVersion"]);
  ASSERT_EQ(outside_.asked.size(), 1U);
  const OutsideRequest& sent = outside_.asked[0].request;
  EXPECT_EQ(sent.url, "https://hooks/convert?timeout=30s");
  const Value& review = outside_.asked[0].body;
  EXPECT_EQ(review["kind"], Value("ConversionReview"));
  EXPECT_EQ(review["apiVersion"], Value("apiextensions.k8s.io/v1"));
  EXPECT_EQ(review["request"]["desiredAPIVersion"], Value("ex.com/v2"));
  EXPECT_EQ(review["request"]["objects"][0]["spec"]["size"], Value(3));
}

TEST_F(ConversionWebhooks, WritesOfAnotherVersionAreStoredConverted) {
  Value gizmo = parse(R"({"apiVersion":"ex.com/v2","kind":"Gizmo","metadata":{"name":"b"},
                          "spec":{"width":4}})");
  const Answer made = server_.post(kV2, gizmo);
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(made.value["spec"]["width"], Value(4));
  EXPECT_NE(made.value["metadata"]["resourceVersion"].as_string(), "");
  EXPECT_EQ(server_.get(std::string(kV1) + "/b").value["spec"]["size"], Value(4));
  EXPECT_EQ(server_.store().get("gizmos.ex.com", {"tst", "b"})->body["apiVersion"],
            Value("ex.com/v1"));

  const Answer patched = server_.patch(std::string(kV2) + "/b", "merge", R"({"spec":{"width":5}})");
  ASSERT_EQ(patched.status, 200) << patched.message();
  EXPECT_EQ(patched.value["spec"]["width"], Value(5));
  EXPECT_EQ(server_.get(std::string(kV1) + "/b").value["spec"]["size"], Value(5));

  const Answer applied = server_.patch(
      std::string(kV2) + "/b?fieldManager=me&force=true", "apply",
      R"({"apiVersion":"ex.com/v2","kind":"Gizmo","metadata":{"name":"b"},"spec":{"width":6}})");
  ASSERT_EQ(applied.status, 200) << applied.message();
  EXPECT_EQ(server_.get(std::string(kV1) + "/b").value["spec"]["size"], Value(6));

  const Answer gone = server_.remove(std::string(kV2) + "/b");
  EXPECT_EQ(gone.status, 200) << gone.message();
  EXPECT_EQ(server_.get(std::string(kV1) + "/b").status, 404);
}

TEST_F(ConversionWebhooks, AListIsOneCall) {
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_EQ(create_v1(name).status, 201);
  }
  const Answer list = server_.get(kV2);
  ASSERT_EQ(list.status, 200) << list.message();
  ASSERT_EQ(list.value["items"].size(), 3U);
  EXPECT_EQ(list.value["items"][2]["spec"]["width"], Value(3));
  ASSERT_EQ(outside_.asked.size(), 1U);
  EXPECT_EQ(outside_.asked[0].body["request"]["objects"].size(), 3U);
}

TEST_F(ConversionWebhooks, WatchesConvertAndEndWhenTheyCannot) {
  ASSERT_EQ(create_v1("a").status, 201);
  Answer watch = server_.get("/apis/ex.com/v2/gizmos?watch=1&resourceVersion=0");
  auto events = TestServer::events(watch);
  // An answer wakes the reader, who then pulls again.
  auto more = TestServer::events(watch);
  events.insert(events.end(), more.begin(), more.end());
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]["type"], Value("ADDED"));
  EXPECT_EQ(events[0]["object"]["spec"]["width"], Value(3));
  server_.patch(std::string(kV1) + "/a", "merge", R"({"spec":{"size":9}})");
  events = TestServer::events(watch);
  more = TestServer::events(watch);
  events.insert(events.end(), more.begin(), more.end());
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]["type"], Value("MODIFIED"));
  EXPECT_EQ(events[0]["object"]["spec"]["width"], Value(9));
  answer_with([](const Value& review) { return failed(review, "cannot"); });
  server_.patch(std::string(kV1) + "/a", "merge", R"({"spec":{"size":10}})");
  events = TestServer::events(watch);
  more = TestServer::events(watch);
  events.insert(events.end(), more.begin(), more.end());
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]["type"], Value("ERROR"));
  EXPECT_EQ(events[0]["object"]["message"],
            Value("conversion webhook for ex.com/v1, Kind=Gizmo failed: cannot"));
  EXPECT_TRUE(watch.ended);
}

struct Row {
  std::string_view what;
  OutsideAnswer (*answer)(const Value& review);
  std::string_view message;  // behind "conversion webhook for ex.com/v1, Kind=Gizmo "
};
const Row kRows[] = {
    {"failed", +[](const Value& review) { return failed(review, "cannot"); }, "failed: cannot"},
    {"failed without a word", +[](const Value& review) { return failed(review, ""); },
     "failed: response.result.status was 'Failed', not 'Success'"},
    {"refused",
     +[](const Value&) {
       return OutsideAnswer{.failure = "dial tcp 127.0.0.1:1: connect: connection refused"};
     },
     R"(failed: Post "https://hooks/convert?timeout=30s": dial tcp 127.0.0.1:1: connect: )"
     "connection refused"},
    {"uid",
     +[](const Value& review) {
       Value other = review;
       other.member("request").set("uid", "x");
       return convert_all(other);
     },
     R"(failed: expected response.uid ")"},
    {"none",
     +[](const Value& review) {
       Value other = review;
       other.member("request").set("objects", Value::list());
       return convert_all(other);
     },
     "returned 0 objects, expected 1"},
    {"version",
     +[](const Value& review) {
       return convert_all(review, [](Value& object) { object.set("apiVersion", "ex.com/v3"); });
     },
     "returned invalid converted object at index 0: invalid groupVersion (received ex.com/v3, "
     "expected ex.com/v2)"},
    {"name",
     +[](const Value& review) {
       return convert_all(review,
                          [](Value& object) { object.member("metadata").set("name", "z"); });
     },
     "returned invalid converted object at index 0: must have the same name: a != z"},
};

TEST_F(ConversionWebhooks, FailuresAreErrorsOfTheRequest) {
  ASSERT_EQ(create_v1("a").status, 201);
  for (const Row& row : kRows) {
    answer_with(row.answer);
    const Answer answer = server_.get(std::string(kV2) + "/a");
    EXPECT_EQ(answer.status, 500) << row.what;
    EXPECT_THAT(answer.message(),
                testing::StartsWith("conversion webhook for ex.com/v1, Kind=Gizmo " +
                                    std::string(row.message)))
        << row.what;
  }
  EXPECT_EQ(server_.get(std::string(kV1) + "/a").status, 200);
}

TEST_F(ConversionWebhooks, OfTheMetadataLabelsAndAnnotationsAloneChange) {
  ASSERT_EQ(create_v1("a").status, 201);
  answer_with([](const Value& review) {
    return convert_all(review, [](Value& object) {
      object.member("metadata").set("labels", parse(R"({"by":"hook"})"));
      object.member("metadata").set("resourceVersion", "1");
      object.member("metadata").set("finalizers", parse(R"(["x/y"])"));
    });
  });
  const Answer read = server_.get(std::string(kV2) + "/a");
  EXPECT_EQ(read.value["metadata"]["labels"]["by"], Value("hook"));
  EXPECT_NE(read.value["metadata"]["resourceVersion"], Value("1"));
  EXPECT_TRUE(read.value["metadata"]["finalizers"].is_null());
}

TEST_F(ConversionWebhooks, TheConfigurationIsChecked) {
  const auto refused = [&](std::string_view conversion) {
    Value crd = parse(kCrd);
    crd.set_path({"metadata", "name"}, "others.ex.com");
    crd.set_path({"spec", "names"}, parse(R"({"plural":"others","kind":"Other"})"));
    crd.member("spec").set("conversion", parse(conversion));
    return server_.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).message();
  };
  EXPECT_THAT(refused(R"({"strategy":"Webhook"})"),
              HasSubstr("spec.conversion.webhookClientConfig: Required value: required when "
                        "strategy is set to Webhook"));
  EXPECT_THAT(refused(R"({"strategy":"Webhook","webhook":{"conversionReviewVersions":["v0"],
                          "clientConfig":{"url":"https://h/p"}}})"),
              HasSubstr("must include at least one of v1, v1beta1"));
  EXPECT_THAT(refused(R"({"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],
                          "clientConfig":{}}})"),
              HasSubstr("exactly one of url or service is required"));
}

TEST_F(ConversionWebhooks, ANewConfigurationTakesEffectAtOnce) {
  ASSERT_EQ(create_v1("a").status, 201);
  ASSERT_EQ(
      server_
          .patch("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gizmos.ex.com", "merge",
                 R"({"spec":{"conversion":{"webhook":{"clientConfig":
                           {"url":"https://elsewhere/convert","caBundle":"Y2E="}}}}})")
          .status,
      200);
  outside_.on("https://elsewhere/convert", [](const Value& review) { return convert_all(review); });
  EXPECT_EQ(server_.get(std::string(kV2) + "/a").status, 200);
  EXPECT_EQ(outside_.asked.back().request.ca_pem, "ca");
}

}  // namespace
}  // namespace athanor::apiserver::conversion_webhooks_test
