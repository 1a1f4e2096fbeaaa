// SPDX-License-Identifier: Apache-2.0
// The feed against the embedded API server over HTTPS: thousands of objects, a server that is
// restarted, a history that is gone.
#include "client/feed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "embedded/apiserver/core/server.hpp"
#include "embedded/store/store.hpp"
#include "embedded/transport/https_server.hpp"
#include "kube/text/json.hpp"
#include "net/pki.hpp"

namespace athanor::client::feed_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Kind kConfigMap{
    .group = "", .version = "v1", .name = "ConfigMap", .plural = "configmaps"};
constexpr Kind kUnknown{
    .group = "no.such", .version = "v1", .name = "Nothing", .plural = "nothings"};

// An API server on a port of its own that can be stopped and started over the same store.
class Cluster {
 public:
  Cluster() {
    std::string name = ::testing::TempDir() + "athanor-feed-XXXXXX";
    directory_ = ::mkdtemp(name.data());
    pki_ = *net::ensure_pki({.directory = directory_ + "/pki", .now = clock->now()});
    store_ = *store::Store::open(
        store::memory_journal(),
        {.event_window = 300, .event_minimum = 100, .recent_events = 10, .recent_bytes = 1000});
    start();
    write("POST", "/api/v1/namespaces", R"({"metadata":{"name":"a"}})");
    write("POST", "/api/v1/namespaces", R"({"metadata":{"name":"b"}})");
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  ~Cluster() {
    stop();
    std::filesystem::remove_all(directory_);
  }

  void start() {
    make_api();
    auto made = transport::HttpsServer::create(
        {.certificate_pem = pki_.server_certificate,
         .key_pem = pki_.server_key,
         .client_ca_pem = pki_.ca_certificate},
        {.server = api_.get(), .store = store_.get(), .clock = clock.get()});
    https_ = *std::move(made);
    const auto bound = https_->bind("127.0.0.1", port_);
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    port_ = *bound;
    https_->start();
  }
  void stop() {
    if (https_ != nullptr) {
      https_->stop(milliseconds(0));
    }
    https_.reset();
  }

  // From outside HTTP; works while that is stopped.
  void write(const std::string& method, const std::string& path, const std::string& body) {
    net::Request request;
    request.method = method;
    request.path = path;
    request.headers.emplace(
        "content-type", method == "PATCH" ? "application/merge-patch+json" : "application/json");
    request.body = body;
    request.credentials.certificate = net::Credentials::Certificate{
        .common_name = "admin", .organizations = {"system:masters"}, .sha256_hex = "ab"};
    const auto response = api_->handle(std::move(request), clock->now());
    ASSERT_LT(response.status, 300) << method << " " << path;
  }
  void create(const std::string& ns, const std::string& name, const std::string& text = "x") {
    write("POST", "/api/v1/namespaces/" + ns + "/configmaps",
          R"({"metadata":{"name":")" + name + R"("},"data":{"text":")" + text + R"("}})");
  }
  void change(const std::string& name, const std::string& text) {
    write("PATCH", "/api/v1/namespaces/a/configmaps/" + name,
          R"({"data":{"text":")" + text + R"("}})");
  }
  void remove(const std::string& name) {
    write("DELETE", "/api/v1/namespaces/a/configmaps/" + name, "");
  }
  [[nodiscard]] ClusterConfig config() const {
    ClusterConfig out;
    out.server = "https://127.0.0.1:" + std::to_string(port_);
    out.certificate_authority.text = pki_.ca_certificate;
    out.client_certificate.text = pki_.admin_certificate;
    out.client_key.text = pki_.admin_key;
    return out;
  }

  std::unique_ptr<Clock> clock = wall_clock();
  std::unique_ptr<Entropy> entropy = system_entropy();

 private:
  void make_api() {
    apiserver::Dependencies dependencies;
    dependencies.store = store_.get();
    dependencies.clock = clock.get();
    dependencies.entropy = entropy.get();
    api_ = *apiserver::Server::create({.always_allow = true, .default_roles = false},
                                      std::move(dependencies));
  }

  std::string directory_{};
  net::Pki pki_{};
  std::unique_ptr<store::Store> store_{};
  std::unique_ptr<apiserver::Server> api_{};
  std::unique_ptr<transport::HttpsServer> https_{};
  int port_ = 0;
};

// What a reader of the feed knows.
class Mirror {
 public:
  void take(std::vector<FeedItem> batch) {
    const std::lock_guard lock(mutex_);
    for (FeedItem& item : batch) {
      if (auto* list = std::get_if<KindList>(&item)) {
        if (list->error) {
          errors_.push_back(*list->error);
          continue;
        }
        lists_ += list->last ? 1 : 0;
        if (list->first) {
          objects_.clear();
        }
        for (Object& object : list->objects) {
          put(std::move(object));
        }
        continue;
      }
      auto& event = std::get<KindEvent>(item);
      if (event.type == KindEvent::Type::Changed) {
        put(std::move(event.object));
      } else if (event.type == KindEvent::Type::Deleted) {
        objects_.erase(event.object.key());
      }
    }
    changed_.notify_all();
  }
  Feed::Sink sink() {
    return [this](std::vector<FeedItem> batch) { take(std::move(batch)); };
  }
  bool wait(const std::function<bool(Mirror&)>& done) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(60), [&] { return done(*this); });
  }
  // Within wait().
  [[nodiscard]] std::size_t size() const { return objects_.size(); }
  [[nodiscard]] int lists() const { return lists_; }
  [[nodiscard]] const std::vector<Error>& errors() const { return errors_; }
  [[nodiscard]] std::string texts_at(const Key& key) const {
    const auto found = objects_.find(key);
    return found == objects_.end() ? "" : found->second.body()["data"]["text"].str();
  }
  [[nodiscard]] bool lean() const {
    return std::ranges::none_of(objects_, [](const auto& entry) {
      return entry.second.metadata().contains("managedFields");
    });
  }

 private:
  void put(Object object) { objects_[object.key()] = std::move(object); }

  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::map<Key, Object> objects_{};
  std::vector<Error> errors_{};
  int lists_ = 0;
};

class FeedTest : public ::testing::Test {
 protected:
  std::unique_ptr<Feed> follow(std::vector<FeedScope> scopes) {
    if (client == nullptr) {
      client = *ApiClient::open(cluster.config(), *cluster.clock, *cluster.entropy);
    }
    FeedOptions options;
    options.reflector.backoff_min = milliseconds(20);
    options.reflector.backoff_max = milliseconds(100);
    auto feed = std::make_unique<Feed>(client, std::move(scopes), mirror.sink(), *cluster.clock,
                                       *cluster.entropy, options);
    feed->start();
    return feed;
  }

  Cluster cluster{};
  Mirror mirror{};
  std::shared_ptr<ApiClient> client{};
};

TEST_F(FeedTest, FollowsThousandsThroughRestartAndLostHistory) {
  for (int i = 0; i < 5000; ++i) {
    cluster.create("a", "m" + std::to_string(i));
  }
  const auto feed = follow({{.kind = &kConfigMap, .ns = "a", .trim = trim_fields()}});
  ASSERT_TRUE(mirror.wait([](Mirror& known) { return known.size() == 5000; }));
  ASSERT_TRUE(mirror.wait([](Mirror& known) { return known.lean(); }));
  EXPECT_TRUE(feed->synced());

  cluster.change("m7", "new");
  cluster.remove("m8");
  cluster.create("b", "elsewhere");
  ASSERT_TRUE(mirror.wait([](Mirror& known) {
    return known.size() == 4999 && known.texts_at({"a", "m7"}) == "new";
  }));

  // A restart: what happened meanwhile follows from where the watch was.
  cluster.stop();
  cluster.change("m9", "while away");
  cluster.start();
  ASSERT_TRUE(mirror.wait([](Mirror& known) {
    return known.texts_at({"a", "m9"}) == "while away" && known.size() == 4999;
  }));
  EXPECT_TRUE(mirror.wait([](Mirror& known) { return known.lists() == 1; })) << "no second list";

  // So much happened meanwhile that the history does not reach back: a list tells the rest.
  cluster.stop();
  for (int i = 0; i < 1000; ++i) {
    cluster.change("m10", "n" + std::to_string(i));
  }
  cluster.remove("m11");
  for (int i = 0; i < 1000; ++i) {
    cluster.change("m12", "n" + std::to_string(i));
  }
  cluster.start();
  ASSERT_TRUE(mirror.wait([](Mirror& known) {
    return known.size() == 4998 && known.texts_at({"a", "m12"}) == "n999";
  }));
  EXPECT_TRUE(mirror.wait([](Mirror& known) { return known.lists() == 2; }));
}

TEST_F(FeedTest, ReportsUnservedKindWithoutDelayingOthers) {
  cluster.create("a", "x");
  const auto feed = follow({{.kind = &kUnknown}, {.kind = &kConfigMap, .ns = "a"}});
  ASSERT_TRUE(mirror.wait([](Mirror& known) {
    return known.errors().size() == 1 && known.errors()[0].code == 404 && known.size() == 1;
  }));
  EXPECT_TRUE(feed->synced());
  EXPECT_EQ(feed->status().at(0).second.last_error->code, 404);
}

TEST_F(FeedTest, RelistDeliversNewestState) {
  cluster.create("a", "x");
  const auto feed = follow({{.kind = &kConfigMap, .ns = "a"}});
  ASSERT_TRUE(mirror.wait([](Mirror& known) { return known.lists() == 1; }));
  feed->relist(kConfigMap);
  ASSERT_TRUE(mirror.wait([](Mirror& known) { return known.lists() == 2; }));
}

TEST_F(FeedTest, DeliversNothingAfterStop) {
  cluster.create("a", "x");
  const auto feed = follow({{.kind = &kConfigMap, .ns = "a"}});
  ASSERT_TRUE(mirror.wait([](Mirror& known) { return known.size() == 1; }));
  feed->stop();
  cluster.create("a", "y");
  ASSERT_FALSE(client->call({.path = "/api/v1/namespaces/a/configmaps"}).error.has_value());
  EXPECT_TRUE(mirror.wait([](Mirror& known) { return known.size() == 1; }));
}

TEST_F(FeedTest, MeasuresHowFarItIsBehind) {
  cluster.create("a", "x");
  const auto feed = follow({{.kind = &kConfigMap, .ns = "a", .trim = trim_fields()}});
  const auto status = [&] { return feed->status().at(0).second; };
  const auto until = [&](const std::function<bool()>& done) {
    for (int i = 0; i < 3000 && !done(); ++i) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    return done();
  };
  ASSERT_TRUE(until([&] { return status().watching; }));
  EXPECT_EQ(watch_lag(status()), Duration{});

  // Without a connection it grows by the clock.
  cluster.stop();
  cluster.change("x", "while away");
  ASSERT_TRUE(until([&] { return watch_lag(status()).value_or(Duration{}) > seconds(2); }));
  EXPECT_FALSE(status().watching);

  // The event of then says how late it came.
  cluster.start();
  ASSERT_TRUE(mirror.wait([](Mirror& known) {
    return known.texts_at({"a", "x"}) == "while away";
  }));
  ASSERT_TRUE(until([&] { return status().late.has_value() && status().watching; }));
  EXPECT_GE(*watch_lag(status()), seconds(1));
  EXPECT_LT(*status().quiet, *watch_lag(status()));
  cluster.change("x", "new");
  EXPECT_TRUE(until([&] { return watch_lag(status()) == Duration{}; }));
}

TEST_F(FeedTest, AClientThatStopsFirstDoesNoHarm) {
  const auto feed = follow({{.kind = &kConfigMap}});
  ASSERT_TRUE(mirror.wait([](Mirror& known) { return known.lists() == 1; }));
  client->stop();
  feed->relist(kConfigMap);
  EXPECT_EQ(feed->status().size(), 1U);
}

}  // namespace
}  // namespace athanor::client::feed_test
