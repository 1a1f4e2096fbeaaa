// SPDX-License-Identifier: Apache-2.0
// The lab's way to webhooks, against HTTPS servers on loopback.
#include "embedded/lab/serving/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <semaphore>
#include <string>

#include "base/clock.hpp"
#include "embedded/apiserver/core/server.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "embedded/transport/https_server.hpp"
#include "net/pki.hpp"

namespace athanor::lab::network_test {
namespace {

using apiserver::OutsideAnswer;
using apiserver::OutsideRequest;
using testing::HasSubstr;

// A body that never ends.
class Endless final : public net::Stream {
 public:
  State pull(std::string& out) override {
    if (!std::exchange(said_, true)) {
      out += "first\n";
    }
    return State::Open;
  }
  void on_ready(std::function<void()> /*wake*/) override {}

 private:
  bool said_ = false;
};

// Answers "/slow" with a body that never ends, "/big" with a long one, the rest with the request.
class Peer final : public apiserver::Server {
 public:
  net::Response handle(net::Request request, Instant /*now*/) override {
    net::Response response;
    response.content_type = "text/plain";
    if (request.path == "/slow") {
      response.stream = std::make_unique<Endless>();
      return response;
    }
    if (request.path == "/big") {
      response.body = std::string(100'000, 'x');
      return response;
    }
    const auto& certificate = request.credentials.certificate;
    response.body = request.method + " " + request.path + " " +
                    std::get<std::string>(request.body) + " " +
                    std::string(request.header("x-remote-user")) + " " +
                    (certificate ? certificate->common_name : "nobody");
    response.headers.emplace_back("X-Answer", "yes");
    return response;
  }
  void tick(Instant /*now*/) override {}
  void begin_shutdown() override {}
  [[nodiscard]] const apiserver::ResourceRegistry& registry() const override { return registry_; }

 private:
  const apiserver::ResourceRegistry registry_{};
};

class NetworkTest : public testing::Test {
 protected:
  NetworkTest() {
    std::string name = testing::TempDir() + "athanor-network-XXXXXX";
    directory_ = ::mkdtemp(name.data());
    pki_ = *net::ensure_pki({.directory = directory_ + "/pki", .now = clock_->now()});
    server_ = *transport::HttpsServer::create({.certificate_pem = pki_.server_certificate,
                                               .key_pem = pki_.server_key,
                                               .client_ca_pem = pki_.ca_certificate},
                                              {.server = &peer_, .clock = clock_.get()});
    port_ = *server_->bind("127.0.0.1", 0);
    server_->start();
  }
  ~NetworkTest() override {
    network_.stop();
    server_.reset();
    std::filesystem::remove_all(directory_);
  }
  NetworkTest(const NetworkTest&) = delete;
  NetworkTest& operator=(const NetworkTest&) = delete;

  [[nodiscard]] OutsideRequest request(const std::string& path) const {
    OutsideRequest asked;
    asked.url = "https://127.0.0.1:" + std::to_string(port_) + path;
    asked.ca_pem = pki_.ca_certificate;
    asked.body = "body";
    return asked;
  }
  std::future<OutsideAnswer> start(OutsideRequest asked) {
    auto promise = std::make_shared<std::promise<OutsideAnswer>>();
    auto answer = promise->get_future();
    network_.ask(std::move(asked),
                 [promise](OutsideAnswer came) { promise->set_value(std::move(came)); });
    return answer;
  }
  OutsideAnswer ask(OutsideRequest asked) { return start(std::move(asked)).get(); }

  std::string directory_{};
  std::unique_ptr<Clock> clock_ = wall_clock();
  net::Pki pki_{};
  Peer peer_{};
  std::unique_ptr<transport::HttpsServer> server_{};
  int port_ = 0;
  Network network_{};
};

TEST_F(NetworkTest, CarriesRequestAndAnswer) {
  OutsideRequest asked = request("/hook?timeout=1s");
  asked.headers = {{"Content-Type", "application/json"}, {"X-Remote-User", "ada"}};
  asked.certificate_pem = pki_.admin_certificate;
  asked.key_pem = pki_.admin_key;
  const OutsideAnswer answer = ask(std::move(asked));
  EXPECT_EQ(answer.failure, "");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "POST /hook body ada kubernetes-admin");
  EXPECT_EQ(answer.header("x-answer"), "yes");
}

TEST_F(NetworkTest, DialsOtherAddressUnderNameOfUrl) {
  OutsideRequest asked = request("/hook");
  asked.url = "https://kubernetes.default.svc:443/hook";
  asked.connect_to = "127.0.0.1:" + std::to_string(port_);
  EXPECT_EQ(ask(asked).status, 200);
  asked.url = "https://elsewhere.default.svc:443/hook";
  EXPECT_THAT(ask(asked).failure,
              HasSubstr("x509: certificate is not valid for elsewhere.default.svc"));
}

TEST_F(NetworkTest, TrustsTheBundleOfTheRequestAlone) {
  EXPECT_EQ(ask(request("/hook")).status, 200);
  OutsideRequest stranger = request("/hook");
  stranger.ca_pem =
      net::ensure_pki({.directory = directory_ + "/other", .now = clock_->now()})->ca_certificate;
  EXPECT_THAT(ask(std::move(stranger)).failure,
              HasSubstr("x509: certificate signed by unknown authority"));
}

TEST_F(NetworkTest, SaysWhyThereIsNoAnswer) {
  OutsideRequest slow = request("/slow");
  slow.timeout = std::chrono::milliseconds(200);
  EXPECT_EQ(ask(std::move(slow)).failure, "context deadline exceeded");

  OutsideRequest closed = request("/hook");
  closed.url = "https://127.0.0.1:1/hook";
  EXPECT_EQ(ask(std::move(closed)).failure, "dial tcp 127.0.0.1:1: connect: connection refused");

  OutsideRequest big = request("/big");
  big.response_limit = 1000;
  EXPECT_EQ(ask(std::move(big)).failure, "the response exceeds the limit of 1000 bytes");
}

TEST_F(NetworkTest, StreamsGoOnUntilTheirReaderLeaves) {
  OutsideRequest asked = request("/slow");
  asked.stream = true;
  OutsideAnswer answer = ask(std::move(asked));
  ASSERT_NE(answer.stream, nullptr);
  EXPECT_EQ(answer.status, 200);
  std::counting_semaphore<> news(0);
  answer.stream->on_ready([&news] { news.release(); });
  std::string text;
  do {
    EXPECT_EQ(answer.stream->pull(text), net::Stream::State::Open);
  } while (text.empty() && news.try_acquire_for(std::chrono::seconds(60)));
  EXPECT_EQ(text, "first\n");
  answer.stream->on_ready({});
  answer.stream.reset();
}

TEST_F(NetworkTest, StoppingEndsRunningRequests) {
  OutsideRequest asked = request("/slow");
  auto answer = start(std::move(asked));
  network_.stop();
  EXPECT_NE(answer.get().failure, "");
  EXPECT_NE(ask(request("/hook")).failure, "");
}

}  // namespace
}  // namespace athanor::lab::network_test
