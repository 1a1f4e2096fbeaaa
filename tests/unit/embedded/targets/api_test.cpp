// SPDX-License-Identifier: Apache-2.0
// What an emulated target cluster answers, request by request.
#include "embedded/targets/api.hpp"

#include <gtest/gtest.h>

#include "base/digest.hpp"
#include "embedded/targets/identity.hpp"
#include "kube/text/json.hpp"

namespace athanor::targets::api_test {
namespace {

const Instant kNow = *parse_time("2026-03-01T00:00:00Z");

Target edge() {
  return {.name = "edge",
          .sign_in = SignIn::Token,
          .nodes = {{.name = "a", .count = 3, .gpus = 8, .model = "NVIDIA-A100-SXM4-40GB"},
                    {.name = "b",
                     .vendor = "amd",
                     .gpus = 4,
                     .labels = {{"zone", "west"}},
                     .ready = false,
                     .schedulable = false}}};
}

struct Answer {
  int status = 0;
  std::string type{};
  std::string text{};
  Value body{};
};

Answer ask(const Target& target, std::string path,
           std::vector<std::pair<std::string, std::string>> query = {},
           const std::string& accept = "application/json", bool signed_in = true) {
  net::Request request;
  request.method = "GET";
  request.path = std::move(path);
  request.query = std::move(query);
  request.headers.emplace("accept", accept);
  if (signed_in) {
    request.headers.emplace("authorization", "Bearer s3cret");
  }
  net::Response response = respond(std::make_shared<const Face>(target, "s3cret"), request, kNow);
  Answer answer{.status = response.status, .type = response.content_type, .text = response.body};
  if (response.stream) {
    while (response.stream->pull(answer.text) == net::Stream::State::Open &&
           answer.text.size() < 1'000'000) {
    }
  }
  if (auto parsed = json::parse(answer.text); parsed.ok()) {
    answer.body = *std::move(parsed);
  }
  return answer;
}

std::vector<std::string> names(const Value& list) {
  std::vector<std::string> result;
  for (const Value& item : list["items"].items()) {
    result.push_back(item["metadata"]["name"].str());
  }
  return result;
}

using Names = std::vector<std::string>;

TEST(TargetApi, NodesCarryLabelsForDiscovery) {
  const Answer answer = ask(edge(), "/api/v1/nodes");
  ASSERT_EQ(answer.status, 200);
  EXPECT_EQ(names(answer.body), (Names{"a-1", "a-2", "a-3", "b"}));
  const Value& items = answer.body["items"];
  EXPECT_EQ(items[0]["status"]["allocatable"]["nvidia.com/gpu"].str(), "8");
  EXPECT_EQ(items[0]["metadata"]["labels"]["nvidia.com/gpu.product"].str(),
            "NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(items[1]["metadata"]["labels"]["kubernetes.io/hostname"].str(), "a-2");
  EXPECT_EQ(items[3]["status"]["allocatable"]["amd.com/gpu"].str(), "4");
  EXPECT_FALSE(items[3]["metadata"]["labels"].contains("amd.com/gpu.product"));
  EXPECT_TRUE(items[3]["spec"]["unschedulable"].as_bool());
  EXPECT_EQ(items[3]["status"]["conditions"][0]["status"].str(), "False");
  EXPECT_FALSE(answer.body["metadata"].contains("continue"));
}

TEST(TargetApi, PagesJoinToTheWholeList) {
  Names all;
  std::string next;
  int pages = 0;
  do {
    const Answer page = ask(edge(), "/api/v1/nodes", {{"limit", "3"}, {"continue", next}});
    ASSERT_EQ(page.status, 200);
    for (std::string& name : names(page.body)) {
      all.push_back(std::move(name));
    }
    next = page.body["metadata"]["continue"].str();
    EXPECT_EQ(page.body["metadata"]["remainingItemCount"].as_int(0), next.empty() ? 0 : 1);
    ++pages;
  } while (!next.empty() && pages < 5);
  EXPECT_EQ(pages, 2);
  EXPECT_EQ(all, (Names{"a-1", "a-2", "a-3", "b"}));
  EXPECT_EQ(ask(edge(), "/api/v1/nodes", {{"continue", "?"}}).status, 400);
}

TEST(TargetApi, MakesHundredThousandNodesWhileSending) {
  Target large = edge();
  large.nodes = {{.name = "n", .count = 100'000, .gpus = 1, .model = "NVIDIA-H200"}};
  const Answer last =
      ask(large, "/api/v1/nodes", {{"limit", "500"}, {"continue", base64url_encode("99998")}});
  EXPECT_EQ(names(last.body), (Names{"n-99999", "n-100000"}));
  EXPECT_EQ(ask(large, "/api/v1/nodes/n-77777").body["metadata"]["name"].str(), "n-77777");
  EXPECT_EQ(ask(large, "/api/v1/nodes/n-100001").status, 404);
}

TEST(TargetApi, KubectlGetsItsTable) {
  const Answer answer = ask(edge(), "/api/v1/nodes", {{"limit", "500"}},
                            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
  EXPECT_EQ(answer.body["kind"].str(), "Table");
  const Value& row = answer.body["rows"][3];
  EXPECT_EQ(row["cells"],
            Value::list({"b", "NotReady,SchedulingDisabled", "<none>", "59d", "v1.35.4"}));
  EXPECT_EQ(row["object"]["metadata"]["name"].str(), "b");
}

TEST(TargetApi, LabelSelectorsChoose) {
  EXPECT_EQ(names(ask(edge(), "/api/v1/nodes", {{"labelSelector", "zone=west"}}).body),
            (Names{"b"}));
  EXPECT_EQ(
      names(ask(edge(), "/api/v1/nodes", {{"labelSelector", "kubernetes.io/hostname=a-2"}}).body),
      (Names{"a-2"}));
  EXPECT_EQ(ask(edge(), "/api/v1/nodes", {{"labelSelector", "=,="}}).status, 400);
}

TEST(TargetApi, DiscoveryAndHealth) {
  EXPECT_EQ(ask(edge(), "/version", {}, "", false).body["gitVersion"].str(), "v1.35.4");
  EXPECT_EQ(ask(edge(), "/healthz", {}, "", false).text, "ok");
  EXPECT_EQ(ask(edge(), "/api").body["versions"][0].str(), "v1");
  EXPECT_EQ(ask(edge(), "/api/v1").body["resources"][1]["name"].str(), "nodes");
  EXPECT_EQ(ask(edge(), "/apis").body["groups"][0]["name"].str(), "authorization.k8s.io");
  EXPECT_EQ(ask(edge(), "/api/v1/namespaces/kube-system").status, 200);
  EXPECT_EQ(ask(edge(), "/api/v1/pods").status, 404);
}

TEST(TargetApi, RefusesUnauthenticatedClients) {
  const Answer answer = ask(edge(), "/api/v1/nodes", {}, "", false);
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(answer.body["reason"].str(), "Unauthorized");
}

TEST(TargetApi, NothingIsWritten) {
  net::Request request;
  request.method = "DELETE";
  request.path = "/api/v1/nodes/a-1";
  request.headers.emplace("authorization", "Bearer s3cret");
  const auto face = std::make_shared<const Face>(edge(), "s3cret");
  EXPECT_EQ(respond(face, request, kNow).status, 405);
}

TEST(TargetApi, AccessReviewsMatchPermissions) {
  const auto allowed = [](bool forbidden, const char* verb) {
    Target target = edge();
    target.faults.forbidden = forbidden;
    net::Request request;
    request.method = "POST";
    request.path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    request.headers.emplace("authorization", "Bearer s3cret");
    request.body = std::string(R"({"spec":{"resourceAttributes":{"resource":"nodes","verb":")") +
                   verb + R"("}}})";
    const auto answer = respond(std::make_shared<const Face>(target, "s3cret"), request, kNow);
    EXPECT_EQ(answer.status, 201);
    return (*json::parse(answer.body))["status"]["allowed"].as_bool();
  };
  EXPECT_TRUE(allowed(false, "list"));
  EXPECT_FALSE(allowed(false, "delete"));
  EXPECT_FALSE(allowed(true, "list"));
}

TEST(TargetApi, FaultsAreAnswers) {
  const auto with = [](Faults faults) {
    Target target = edge();
    target.faults = std::move(faults);
    return ask(target, "/api/v1/nodes");
  };
  EXPECT_EQ(with({.unauthorized = true}).status, 401);
  const Answer forbidden = with({.forbidden = true});
  EXPECT_EQ(forbidden.status, 403);
  EXPECT_NE(forbidden.body["message"].str().find("cannot list resource \"nodes\""),
            std::string::npos);
  const Answer garbage = with({.garbage = true});
  EXPECT_EQ(garbage.status, 200);
  EXPECT_TRUE(garbage.body.is_null());
  EXPECT_EQ(with({.web_page = true}).type, "text/html");
  EXPECT_EQ(with({.redirect = "https://elsewhere.invalid/"}).status, 302);
  EXPECT_GE(with({.endless = true}).text.size(), 1'000'000U);
}

}  // namespace
}  // namespace athanor::targets::api_test
