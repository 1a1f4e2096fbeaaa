// SPDX-License-Identifier: Apache-2.0
// A forced deletion of a pending pod makes two commits; here others act between them.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::forced_end_test {
namespace {

const Key kPodKey{"tst", "p"};

// A store that lets a test act between the commits of a deletion. Everything else is passed on.
class StoreWithOthers final : public store::Store {
 public:
  explicit StoreWithOthers(std::unique_ptr<store::Store> inner) : inner_(std::move(inner)) {}

  // Runs once: after the first commit, before the pod is read again.
  mutable std::function<void(store::Store&)> before_read{};
  // Runs once: before the second commit.
  std::function<void(store::Store&)> before_removal{};

  [[nodiscard]] store::StoredPtr get(std::string_view resource, const Key& key) const override {
    if (has_begun_ && resource == "pods") {
      if (const auto act = std::exchange(before_read, nullptr)) {
        act(*inner_);
      }
    }
    return inner_->get(resource, key);
  }
  Result<std::vector<store::StoredPtr>> commit(std::span<const store::Write> writes,
                                               Instant now) override {
    const bool is_pod = writes.front().resource == "pods";
    if (is_pod && !writes.front().body) {
      if (const auto act = std::exchange(before_removal, nullptr)) {
        act(*inner_);
      }
    }
    auto done = inner_->commit(writes, now);
    has_begun_ = has_begun_ || (is_pod && writes.front().body &&
                                (*writes.front().body)["metadata"].contains("deletionTimestamp"));
    return done;
  }

  [[nodiscard]] store::Revision revision() const override { return inner_->revision(); }
  [[nodiscard]] store::Revision durable_revision() const override {
    return inner_->durable_revision();
  }
  void when_durable(store::Revision revision, std::function<void(Result<void>)> done) override {
    inner_->when_durable(revision, std::move(done));
  }
  [[nodiscard]] Result<store::Page> list(std::string_view resource,
                                         const store::ListOptions& options) const override {
    return inner_->list(resource, options);
  }
  [[nodiscard]] std::vector<store::StoredPtr> owned_by(std::string_view uid) const override {
    return inner_->owned_by(uid);
  }
  [[nodiscard]] std::size_t count(std::string_view resource, std::string_view ns) const override {
    return inner_->count(resource, ns);
  }
  [[nodiscard]] std::vector<std::string> resources() const override { return inner_->resources(); }
  [[nodiscard]] Result<std::vector<store::EventPtr>> events_after(
      std::string_view resource, store::Revision after, std::size_t limit) const override {
    return inner_->events_after(resource, after, limit);
  }
  [[nodiscard]] store::Revision oldest_revision() const override {
    return inner_->oldest_revision();
  }
  [[nodiscard]] std::shared_ptr<void> listen(Listener listener) override {
    return inner_->listen(std::move(listener));
  }
  [[nodiscard]] std::shared_ptr<void> listen_durable(
      std::function<void(store::Revision)> listener) override {
    return inner_->listen_durable(std::move(listener));
  }
  void trim(Instant now) override { inner_->trim(now); }
  [[nodiscard]] Result<void> writable() const override { return inner_->writable(); }
  void close() override { inner_->close(); }

 private:
  std::unique_ptr<store::Store> inner_;
  bool has_begun_ = false;
};

// What a node does that has noticed the end.
void finish(store::Store& store) {
  const store::Write gone{.resource = "pods", .key = kPodKey};
  EXPECT_TRUE(store.commit({&gone, 1}, Instant{}).ok());
}

// The same, and a controller makes a pod of that name again.
void replace(store::Store& store) {
  Value namesake = store.get("pods", kPodKey)->body;
  finish(store);
  namesake.set_path({"metadata", "uid"}, "of-the-namesake");
  namesake.member("metadata").erase("deletionTimestamp");
  namesake.member("metadata").erase("deletionGracePeriodSeconds");
  const store::Write made{.resource = "pods", .key = kPodKey, .body = namesake, .expected = 0};
  EXPECT_TRUE(store.commit({&made, 1}, Instant{}).ok());
}

class ForcedEnd : public ::testing::Test {
 protected:
  ForcedEnd() {
    auto opened = store::Store::open(store::memory_journal(), {});
    EXPECT_TRUE(opened.ok());
    store = std::make_unique<StoreWithOthers>(*std::move(opened));
    Dependencies dependencies;
    dependencies.store = store.get();
    dependencies.clock = &clock;
    dependencies.entropy = entropy.get();
    auto made = Server::create(Options{.always_allow = true, .default_roles = false},
                               std::move(dependencies));
    EXPECT_TRUE(made.ok());
    server = *std::move(made);
    call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"tst"}})");
    const Value pod = call("POST", "/api/v1/namespaces/tst/pods",
                           R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c",)"
                           R"("image":"i"}]}})");
    uid = pod["metadata"]["uid"].str();
    EXPECT_FALSE(uid.empty()) << json::print(pod);
  }

  Value call(std::string method, std::string path, std::string body = {}) {
    Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.body = std::move(body);
    request.credentials.internal_user = "system:apiserver";
    const Response response = server->handle(request, clock.now());
    status = response.status;
    return response.value.value_or(Value());
  }
  Value force() {
    return call("DELETE", "/api/v1/namespaces/tst/pods/p", R"({"gracePeriodSeconds":0})");
  }
  [[nodiscard]] std::string stored_uid() const {
    const auto stored = store->get("pods", kPodKey);
    return stored == nullptr ? "none" : stored->body["metadata"]["uid"].str();
  }

  ManualClock clock{};
  std::unique_ptr<Entropy> entropy = seeded_entropy(7);
  std::unique_ptr<StoreWithOthers> store{};
  std::unique_ptr<Server> server{};
  std::string uid{};
  int status = 0;
};

TEST_F(ForcedEnd, RemovesThePodWhereOthersDoNothing) {
  EXPECT_EQ(force()["metadata"]["uid"].as_string(), uid);
  EXPECT_EQ(status, 200);
  EXPECT_EQ(stored_uid(), "none");
}

TEST_F(ForcedEnd, AnswersForThePodThatOthersFinished) {
  store->before_read = finish;
  EXPECT_EQ(force()["metadata"]["uid"].as_string(), uid);
  EXPECT_EQ(status, 200) << "it was there";
}

TEST_F(ForcedEnd, AnswersForPodFinishedBeforeItsRemoval) {
  store->before_removal = finish;
  EXPECT_EQ(force()["metadata"]["uid"].as_string(), uid);
  EXPECT_EQ(status, 200) << "it was there";
}

TEST_F(ForcedEnd, LeavesNamesakeMadeBeforeSecondRead) {
  store->before_read = replace;
  EXPECT_EQ(force()["metadata"]["uid"].as_string(), uid);
  EXPECT_EQ(status, 200);
  EXPECT_EQ(stored_uid(), "of-the-namesake");
}

TEST_F(ForcedEnd, LeavesANamesakeThatFollowedBeforeTheRemoval) {
  store->before_removal = replace;
  EXPECT_EQ(force()["metadata"]["uid"].as_string(), uid);
  EXPECT_EQ(status, 200);
  EXPECT_EQ(stored_uid(), "of-the-namesake");
}

}  // namespace
}  // namespace athanor::apiserver::forced_end_test
