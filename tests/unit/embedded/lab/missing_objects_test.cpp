// SPDX-License-Identifier: Apache-2.0
// A start with objects that the server refuses: it succeeds, names them, and has them once the way
// is clear.
#include "embedded/lab/missing_objects.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "embedded/apiserver/core/server.hpp"
#include "embedded/store/store.hpp"
#include "kube/text/yaml.hpp"
#include "support/eventually.hpp"

namespace athanor::lab::missing_objects_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Origin = MissingObjects::Origin;

Value parsed(const std::string& text) {
  auto value = yaml::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.value_or({});
}

class MissingObjectsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = store::Store::open(store::memory_journal(), {});
    ASSERT_TRUE(opened.ok());
    store_ = *std::move(opened);
    apiserver::Dependencies dependencies;
    dependencies.store = store_.get();
    dependencies.clock = clock_.get();
    dependencies.entropy = entropy_.get();
    apiserver::Options options;
    options.always_allow = true;
    options.default_roles = false;
    auto server = apiserver::Server::create(std::move(options), std::move(dependencies));
    ASSERT_TRUE(server.ok());
    server_ = *std::move(server);
    missing_ = std::make_unique<MissingObjects>(*server_, *clock_);
  }

  int send(std::string method, std::string path, Value body = {},
           std::string type = "application/json") {
    net::Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.headers.emplace("content-type", std::move(type));
    if (!body.is_null()) {
      request.body = std::move(body);
    }
    request.credentials.certificate = {
        .common_name = "admin", .organizations = {"system:masters"}, .sha256_hex = "ab"};
    last_ = server_->handle(std::move(request), clock_->now());
    return last_.status;
  }
  void must(const std::string& method, const std::string& path, const std::string& body = "null",
            const std::string& type = "application/json") {
    EXPECT_LT(send(method, path, parsed(body), type), 300) << path << " " << last_.body;
  }
  void patch(const std::string& path, const std::string& body) {
    must("PATCH", path, body, "application/merge-patch+json");
  }
  [[nodiscard]] bool has(const std::string& path) {
    return send("GET", path) == 200 &&
           !last_.value.value_or(Value())["metadata"].contains("deletionTimestamp");
  }
  void want(const std::string& object, Origin origin = Origin::Program) {
    missing_->add(parsed(object), "default", origin);
  }
  void start() {
    const auto applied = missing_->apply();
    EXPECT_TRUE(applied.ok()) << applied.error().message;
  }
  void retry() { start(); }

  std::unique_ptr<Clock> clock_ = wall_clock();
  std::unique_ptr<Entropy> entropy_ = seeded_entropy(1);
  std::unique_ptr<store::Store> store_{};
  std::unique_ptr<apiserver::Server> server_{};
  std::unique_ptr<MissingObjects> missing_{};
  net::Response last_{};
};

constexpr const char* kMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}";
constexpr const char* kMapPath = "/api/v1/namespaces/default/configmaps/m";

TEST_F(MissingObjectsTest, WaitForTheEndOfTheirNamespace) {
  must("POST", "/api/v1/namespaces", "{metadata: {name: team, finalizers: [example.com/held]}}");
  must("POST", "/api/v1/namespaces/team/configmaps", "{metadata: {name: old}}");
  must("DELETE", "/api/v1/namespaces/team");
  want("{apiVersion: v1, kind: Namespace, metadata: {name: team}}");
  want("{apiVersion: v1, kind: ConfigMap, metadata: {name: old, namespace: team}}");
  want("{apiVersion: v1, kind: ConfigMap, metadata: {name: new, namespace: team}}");
  want(kMap);
  start();
  EXPECT_THAT(
      missing_->waiting(),
      ElementsAre("Namespace team: is being deleted (finalizers: example.com/held, kubernetes)",
                  "ConfigMap old: its namespace team is being deleted",
                  HasSubstr("ConfigMap new:")));
  EXPECT_TRUE(has(kMapPath)) << "what is not refused is there at once";
  must("DELETE", "/api/v1/namespaces/team/configmaps/old");
  patch("/api/v1/namespaces/team", "{metadata: {finalizers: null}}");
  must("PUT", "/api/v1/namespaces/team/finalize",
       "{apiVersion: v1, kind: Namespace, metadata: {name: team}, spec: {finalizers: []}}");
  retry();
  EXPECT_THAT(missing_->waiting(), IsEmpty());
  for (const char* path : {"/api/v1/namespaces/team", "/api/v1/namespaces/team/configmaps/old",
                           "/api/v1/namespaces/team/configmaps/new"}) {
    EXPECT_TRUE(has(path)) << path;
  }
}

constexpr const char* kCrd =
    "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "
    "things.example.com, finalizers: [example.com/held]}, spec: {group: example.com, scope: "
    "Namespaced, names: {plural: things, kind: Thing}, versions: [{name: v1, served: true, "
    "storage: "
    "true, schema: {openAPIV3Schema: {type: object}}}]}}";

TEST_F(MissingObjectsTest, WaitForTheEndOfTheirDefinition) {
  const std::string crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  must("POST", crds, kCrd);
  must("DELETE", crds + "/things.example.com");
  Value own = parsed(kCrd);
  own.member("metadata").set("finalizers", Value());
  missing_->add(own, {}, Origin::Program);
  want("{apiVersion: example.com/v1, kind: Thing, metadata: {name: t}}", Origin::File);
  start();
  EXPECT_THAT(
      missing_->waiting(),
      ElementsAre(HasSubstr("CustomResourceDefinition things.example.com: is being deleted"),
                  HasSubstr("Thing t")));
  patch(crds + "/things.example.com", "{metadata: {finalizers: null}}");
  for (int i = 0; i < 3; ++i) {
    server_->tick(clock_->now());
  }
  retry();
  EXPECT_THAT(missing_->waiting(), IsEmpty());
  EXPECT_TRUE(has("/apis/example.com/v1/namespaces/default/things/t"));
}

TEST_F(MissingObjectsTest, WaitForRoomInAQuota) {
  must("POST", "/api/v1/namespaces/default/resourcequotas",
       "{metadata: {name: q}, spec: {hard: {count/configmaps: '0'}}}");
  patch("/api/v1/namespaces/default/resourcequotas/q", "{metadata: {labels: {a: b}}}");
  must("PATCH", "/api/v1/namespaces/default/resourcequotas/q/status",
       "{status: {hard: {count/configmaps: '0'}, used: {count/configmaps: '0'}}}",
       "application/merge-patch+json");
  want(kMap, Origin::File);
  start();
  EXPECT_THAT(missing_->waiting(), ElementsAre(HasSubstr("exceeded quota")));
  must("DELETE", "/api/v1/namespaces/default/resourcequotas/q");
  retry();
  EXPECT_TRUE(has(kMapPath));
}

TEST_F(MissingObjectsTest, WaitForTheEndOfAPolicy) {
  const std::string base = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";
  must("POST", base + "ies",
       "{metadata: {name: p}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], "
       "apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}, validations: "
       "[{expression: 'false', message: not now}]}}");
  must("POST", base + "ybindings",
       "{metadata: {name: b}, spec: {policyName: p, validationActions: [Deny]}}");
  want(kMap, Origin::File);
  start();
  EXPECT_THAT(missing_->waiting(), ElementsAre(HasSubstr("not now")));
  must("DELETE", base + "ybindings/b");
  retry();
  EXPECT_TRUE(has(kMapPath));
}

TEST_F(MissingObjectsTest, WaitForAWebhookThatAnswers) {
  const std::string path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  must(
      "POST", path,
      "{metadata: {name: w}, webhooks: [{name: w.example.com, sideEffects: None, failurePolicy: "
      "Fail, admissionReviewVersions: [v1], timeoutSeconds: 1, clientConfig: {url: "
      "'https://127.0.0.1:1/'}, rules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], "
      "resources: [configmaps]}]}]}");
  want(kMap, Origin::File);
  start();
  EXPECT_THAT(missing_->waiting(), ElementsAre(HasSubstr("webhook")));
  must("DELETE", path + "/w");
  retry();
  EXPECT_TRUE(has(kMapPath));
}

// A machine on which everything takes its time: each look at the clock is that much later.
class SlowClock final : public Clock {
 public:
  explicit SlowClock(Duration step) : step_(step) {}
  [[nodiscard]] Instant now() const override { return start_ + step_ * looks_++; }

 private:
  Duration step_;
  Instant start_ = wall_clock()->now();
  mutable std::atomic<int> looks_ = 0;
};

std::string map_named(int number) {
  return "{apiVersion: v1, kind: ConfigMap, metadata: {name: m-" + std::to_string(number) + "}}";
}

TEST_F(MissingObjectsTest, AreAllTriedOnASlowMachine) {
  constexpr int kMany = 50;
  const SlowClock clock(std::chrono::milliseconds(300));
  missing_ = std::make_unique<MissingObjects>(*server_, clock);
  for (int i = 0; i < kMany; ++i) {
    want(map_named(i), Origin::File);
  }
  want("{apiVersion: v1, kind: ConfigMap, metadata: {name: Not_A_Name}}", Origin::File);
  const auto applied = missing_->apply();
  ASSERT_FALSE(applied.ok()) << "a mistake is found, however long the others take";
  EXPECT_THAT(applied.error().message, HasSubstr("Not_A_Name"));
  for (int i = 0; i < kMany; ++i) {
    EXPECT_TRUE(has("/api/v1/namespaces/default/configmaps/m-" + std::to_string(i))) << i;
  }
}

TEST_F(MissingObjectsTest, LeaveOthersForLaterBehindSlowWebhooks) {
  constexpr int kMany = 20;
  const SlowClock clock(std::chrono::seconds(1));
  missing_ = std::make_unique<MissingObjects>(*server_, clock);
  for (int i = 0; i < kMany; ++i) {
    want(map_named(i));
  }
  start();
  EXPECT_THAT(missing_->waiting(), SizeIs(testing::AllOf(testing::Gt(0U), testing::Lt(20U))));
  EXPECT_THAT(missing_->waiting().back(), HasSubstr("was not tried yet"));
}

TEST_F(MissingObjectsTest, RefuseAMistakeOfTheLabFile) {
  for (const char* wrong : {"{apiVersion: v1, kind: ConfigMap, metadata: {name: Not_A_Name}}",
                            "{apiVersion: example.com/v1, kind: Thing, metadata: {name: t}}",
                            "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default}}"}) {
    MissingObjects of_file(*server_, *clock_);
    of_file.add(parsed(wrong), "default", Origin::File);
    EXPECT_FALSE(of_file.apply().ok()) << wrong;
    MissingObjects of_program(*server_, *clock_);
    of_program.add(parsed(wrong), "default", Origin::Program);
    EXPECT_TRUE(of_program.apply().ok()) << wrong;
    EXPECT_THAT(of_program.waiting(), SizeIs(1)) << wrong;
  }
}

TEST_F(MissingObjectsTest, AreRetriedUntilTheyAreThere) {
  must("POST", "/api/v1/namespaces", "{metadata: {name: team, finalizers: [example.com/held]}}");
  must("DELETE", "/api/v1/namespaces/team");
  want("{apiVersion: v1, kind: Namespace, metadata: {name: team}}");
  start();
  missing_->keep_trying();
  EXPECT_THAT(missing_->waiting(), SizeIs(1));
  patch("/api/v1/namespaces/team", "{metadata: {finalizers: null}}");
  must("PUT", "/api/v1/namespaces/team/finalize",
       "{apiVersion: v1, kind: Namespace, metadata: {name: team}, spec: {finalizers: []}}");
  EXPECT_TRUE(test::eventually([&] { return missing_->waiting().empty(); }));
  EXPECT_TRUE(has("/api/v1/namespaces/team"));
  missing_->stop();
}

TEST_F(MissingObjectsTest, StopWhileSomethingWaits) {
  must("POST", "/api/v1/namespaces", "{metadata: {name: team, finalizers: [example.com/held]}}");
  must("DELETE", "/api/v1/namespaces/team");
  want("{apiVersion: v1, kind: Namespace, metadata: {name: team}}");
  start();
  missing_->keep_trying();
  missing_->stop();
  EXPECT_THAT(missing_->waiting(), SizeIs(1));
}

}  // namespace
}  // namespace athanor::lab::missing_objects_test
