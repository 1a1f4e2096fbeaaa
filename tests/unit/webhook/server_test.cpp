// SPDX-License-Identifier: Apache-2.0
// The server over real TLS: questions, refusals, and a certificate that changes under way.
#include "webhook/server.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "api/builtin.hpp"
#include "base/clock.hpp"
#include "client/api_client.hpp"
#include "kube/text/json.hpp"
#include "runtime/metrics/metrics.hpp"
#include "webhook/certificates.hpp"

namespace athanor::webhook::server_test {
namespace {

Verdict refuse_x(const View& /*view*/, const AdmissionRequest& request, Instant /*now*/) {
  return request.object["x"].is_null() ? Verdict::allow() : Verdict::deny("no x, please");
}
constexpr WebhookRule kRules[] = {{&api::kPod, "CREATE", ""}};
constexpr Webhook kHook{
    .name = "no-x.example.com", .rules = kRules, .admit = refuse_x, .result_metric = "no_x_total"};

class WebhookServer : public ::testing::Test {
 protected:
  void start() {
    auto started =
        Server::start({.address = "127.0.0.1:0",
                       .webhooks = {kHook},
                       .decide =
                           [](const Question& question, ServerOptions::Answer answer) {
                             const bool has_x = question.request.object.contains("x");
                             answer(has_x ? Verdict::deny("no x, please") : Verdict::allow());
                           },
                       .clock = clock.get(),
                       .metrics = &metrics});
    ASSERT_TRUE(started.ok()) << started.error().message;
    server = *std::move(started);
  }
  CertificateSet certify() {
    const CertificateOptions options{.hosts = {"127.0.0.1"}};
    CertificateSet set = *renew({}, Duty::Everything, options, clock->now());
    EXPECT_TRUE(server->use(set.certificate, set.key).ok());
    return set;
  }
  std::shared_ptr<client::ApiClient> client(const CertificateSet& trusted) {
    client::ClusterConfig config{.server = "https://" + server->address()};
    config.certificate_authority.text = trusted.bundle;
    return *client::ApiClient::open(config, *clock, *entropy, {.qps = 0});
  }
  static client::ApiRequest question(const char* object) {
    client::ApiRequest request{.method = "POST", .path = "/no-x.example.com?timeout=10s"};
    request.body = *json::parse(
        R"({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": "u-1", "operation": "CREATE"}})");
    request.body.set_path({"request", "object"}, *json::parse(object));
    request.retries = 0;
    return request;
  }

  std::unique_ptr<Clock> clock = wall_clock();
  std::unique_ptr<Entropy> entropy = seeded_entropy(1);
  Metrics metrics{};
  std::unique_ptr<Server> server{};
};

TEST_F(WebhookServer, AnswersReviews) {
  start();
  const auto api = client(certify());
  const auto yes = api->call(question(R"({"y": 1})"));
  EXPECT_EQ(yes.status, 200) << (yes.error ? yes.error->message : "");
  EXPECT_EQ(json::print(yes.body["response"]), R"({"uid":"u-1","allowed":true})");
  const auto no = api->call(question(R"({"x": 1})"));
  EXPECT_EQ(no.body["response"]["status"]["message"].as_string(), "no x, please");
  EXPECT_EQ(no.body["response"]["status"]["code"].as_int(), 403);
  const std::string text = metrics.text();
  EXPECT_NE(
      text.find(R"(athanor_webhook_requests_total{allowed="false",webhook="no-x.example.com"} 1)"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(no_x_total{result="denied"} 1)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(no_x_total{result="unchanged"} 1)"), std::string::npos) << text;
  api->stop();
}

TEST_F(WebhookServer, RefusesOtherBodiesThanReviews) {
  start();
  const auto api = client(certify());
  client::ApiRequest other = question("{}");
  other.path = "/other";
  EXPECT_EQ(api->call(other).status, 404);
  client::ApiRequest get{.path = "/no-x.example.com"};
  EXPECT_EQ(api->call(get).status, 405);
  client::ApiRequest yaml = question("{}");
  yaml.content_type = "application/yaml";
  EXPECT_EQ(api->call(yaml).status, 415);
  client::ApiRequest empty = question("{}");
  empty.body = Value::object();
  EXPECT_EQ(api->call(empty).status, 400);
  api->stop();
}

TEST_F(WebhookServer, RefusesClientsWithoutCertificate) {
  start();
  EXPECT_FALSE(server->serving());
  const CertificateOptions options{.hosts = {"127.0.0.1"}};
  const CertificateSet set = *renew({}, Duty::Everything, options, clock->now());
  const auto api = client(set);
  EXPECT_EQ(api->call(question("{}")).status, 0);
  EXPECT_FALSE(server->use("no certificate", set.key).ok());
  EXPECT_FALSE(server->serving());
  EXPECT_TRUE(server->use(set.certificate, set.key).ok());
  EXPECT_TRUE(server->serving());
  EXPECT_EQ(api->call(question("{}")).status, 200);
  api->stop();
}

TEST_F(WebhookServer, ChangesItsCertificateWithoutLosingAConnection) {
  start();
  const CertificateSet old = certify();
  const auto before = client(old);
  EXPECT_EQ(before->call(question("{}")).status, 200);
  const CertificateSet renewed = certify();
  const auto after = client(renewed);
  EXPECT_EQ(after->call(question("{}")).status, 200);
  EXPECT_EQ(before->call(question("{}")).status, 200) << "its connection is open still";
  EXPECT_EQ(client(old)->call(question("{}")).status, 0) << "a new one gets the new certificate";
}

TEST_F(WebhookServer, EndsWhileAQuestionIsOpen) {
  ServerOptions::Answer kept;
  std::atomic<bool> asked{false};
  server = *Server::start({.address = "127.0.0.1:0",
                           .webhooks = {kHook},
                           .decide =
                               [&](const Question& /*question*/, ServerOptions::Answer answer) {
                                 kept = std::move(answer);
                                 asked = true;
                               },
                           .clock = clock.get()});
  const auto api = client(certify());
  api->send(question("{}"), [](const client::ApiResult&) {});
  while (!asked) {
    std::this_thread::yield();
  }
  server.reset();
  kept(Verdict::allow());
  api->stop();
}

TEST_F(WebhookServer, ReportsInvalidAddress) {
  for (const char* text : {"", "9443", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000"}) {
    const auto started = Server::start({.address = text,
                                        .decide = [](const Question&, ServerOptions::Answer) {},
                                        .clock = clock.get()});
    EXPECT_FALSE(started.ok()) << text;
  }
}

}  // namespace
}  // namespace athanor::webhook::server_test
