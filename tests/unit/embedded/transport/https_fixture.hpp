// SPDX-License-Identifier: Apache-2.0
// An HTTPS server over a fake API server, for tests.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "embedded/apiserver/core/server.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "embedded/transport/https_server.hpp"
#include "net/pki.hpp"
#include "support/net/tls_client.hpp"

namespace athanor::transport {

// A stream that a test feeds. Outlives the stream itself, so that its end can be seen.
class Feed {
 public:
  void add(const std::string& bytes) {
    const std::lock_guard lock(mutex_);
    pending_ += bytes;
    wake();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    wake();
  }
  // The stream was destroyed.
  bool wait_until_gone() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [this] { return gone_; });
  }
  static std::unique_ptr<net::Stream> open(std::shared_ptr<Feed> feed) {
    return std::make_unique<FeedStream>(std::move(feed));
  }

 private:
  struct FeedStream final : net::Stream {
    explicit FeedStream(std::shared_ptr<Feed> source) : feed(std::move(source)) {}
    FeedStream(const FeedStream&) = delete;
    FeedStream& operator=(const FeedStream&) = delete;
    ~FeedStream() override {
      const std::lock_guard lock(feed->mutex_);
      feed->wake_ = nullptr;
      feed->gone_ = true;
      feed->changed_.notify_all();
    }
    State pull(std::string& out) override {
      const std::lock_guard lock(feed->mutex_);
      out += std::exchange(feed->pending_, {});
      return feed->ended_ ? State::Ended : State::Open;
    }
    void on_ready(std::function<void()> wake) override {
      const std::lock_guard lock(feed->mutex_);
      feed->wake_ = std::move(wake);
    }
    std::shared_ptr<Feed> feed;
  };
  void wake() const {
    if (wake_) {
      wake_();
    }
  }

  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::string pending_{};
  bool ended_ = false;
  bool gone_ = false;
  std::function<void()> wake_{};
};

// Answers by path with what the test registered; "/echo" with the request itself.
class FakeServer final : public apiserver::Server {
 public:
  using Handler = std::function<net::Response(const net::Request&)>;
  void on(const std::string& path, Handler handler) {
    const std::lock_guard lock(mutex_);
    handlers_[path] = std::move(handler);
  }

  net::Response handle(net::Request request, Instant /*now*/) override {
    Handler handler;
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = handlers_.find(request.path); found != handlers_.end()) {
        handler = found->second;
      }
    }
    return handler ? handler(request) : echo(request);
  }
  // What admits() says of a path; every request is admitted unless the test says otherwise.
  void refuse(const std::string& path) {
    const std::lock_guard lock(mutex_);
    refused_.insert(path);
  }
  [[nodiscard]] bool admits(const net::Request& head, Instant /*now*/) override {
    const std::lock_guard lock(mutex_);
    return !refused_.contains(head.path);
  }
  void tick(Instant /*now*/) override {}
  void begin_shutdown() override {}
  [[nodiscard]] const apiserver::ResourceRegistry& registry() const override { return registry_; }

  static net::Response text(std::string body) {
    net::Response response;
    response.content_type = "text/plain";
    response.body = std::move(body);
    return response;
  }

 private:
  static net::Response echo(const net::Request& request) {
    std::string body = request.method + " " + request.path;
    for (const auto& [name, value] : request.query) {
      body += " " + name + "=" + value;
    }
    return text(body + " [" + std::get<std::string>(request.body) + "]");
  }
  std::mutex mutex_{};
  std::map<std::string, Handler> handlers_{};
  std::set<std::string> refused_{};
  const apiserver::ResourceRegistry registry_{};
};

class HttpsTest : public ::testing::Test {
 protected:
  HttpsTest();
  ~HttpsTest() override;

  // Starts the server; called by the test, after it has set `options`, `store` and handlers.
  void start();
  [[nodiscard]] net::ClientOptions trusting() const { return {.ca_pem = pki.ca_certificate}; }
  [[nodiscard]] net::ClientOptions as_admin() const {
    return {.ca_pem = pki.ca_certificate,
            .certificate_pem = pki.admin_certificate,
            .key_pem = pki.admin_key};
  }
  // A handler that answers with a stream of this feed.
  static FakeServer::Handler streaming(const std::shared_ptr<Feed>& feed) {
    return [feed](const net::Request&) {
      net::Response response;
      response.stream = Feed::open(feed);
      return response;
    };
  }

  std::string directory{};
  net::Pki pki{};
  HttpsOptions options{};
  store::Store* store = nullptr;
  FakeServer api{};
  std::unique_ptr<Clock> clock = wall_clock();
  std::unique_ptr<HttpsServer> server{};
  int port = 0;
};

inline HttpsTest::HttpsTest() {
  std::string name = ::testing::TempDir() + "athanor-https-XXXXXX";
  directory = ::mkdtemp(name.data());
  pki = *net::ensure_pki({.directory = directory + "/pki", .now = clock->now()});
}

inline HttpsTest::~HttpsTest() {
  std::filesystem::remove_all(directory);
}

inline void HttpsTest::start() {
  options.certificate_pem = pki.server_certificate;
  options.key_pem = pki.server_key;
  options.client_ca_pem = pki.ca_certificate;
  auto made = HttpsServer::create(options, {.server = &api, .store = store, .clock = clock.get()});
  ASSERT_TRUE(made.ok()) << made.error().message;
  server = *std::move(made);
  const auto bound = server->bind("127.0.0.1", 0);
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  port = *bound;
  server->start();
}

}  // namespace athanor::transport
