// SPDX-License-Identifier: Apache-2.0
// FakeClient: an ApiClient over a few ConfigMaps in memory, with one thread, and faults on demand.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client/api_client.hpp"
#include "kube/value/value.hpp"

namespace athanor::cluster {

class FakeClient final : public client::ApiClient {
 public:
  using SteadyClock = std::chrono::steady_clock;
  using Fault = std::function<std::optional<client::ApiResult>(const client::ApiRequest&)>;

  FakeClient() : thread_([this] { loop(); }) {}
  ~FakeClient() override { stop(); }

  // ---- the server's side, from any thread
  void put(const std::string& ns, const std::string& name, Value data) {
    post([this, ns, name, data] { write(ns, name, data); });
  }
  // Answers a request instead of the server; an answer with `unknown` still takes effect.
  void set_fault(Fault fault) {
    const std::scoped_lock lock(mutex_);
    fault_ = std::move(fault);
  }
  // Writes are kept back until release().
  void hold(bool on) {
    post([this, on] {
      holding_ = on;
      if (!on) {
        for (auto& [request, done] : std::exchange(held_, {})) {
          serve(request, std::move(done));
        }
      }
    });
  }
  [[nodiscard]] std::vector<client::ApiRequest> requests(const std::string& method) const {
    const std::scoped_lock lock(mutex_);
    std::vector<client::ApiRequest> found;
    for (const client::ApiRequest& one : log_) {
      if (one.method == method) {
        found.push_back(one);
      }
    }
    return found;
  }
  [[nodiscard]] Value data(const std::string& ns, const std::string& name) const {
    const std::scoped_lock lock(mutex_);
    const auto at = objects_.find({ns, name});
    return at == objects_.end() ? Value() : at->second["data"];
  }

  // ---- ApiClient
  void send(client::ApiRequest request, Done done) override {
    {
      const std::scoped_lock lock(mutex_);
      log_.push_back(request);
    }
    auto shared = std::make_shared<Done>(std::move(done));
    post([this, request, shared] {
      if (holding_ && request.method == "PATCH") {
        held_.emplace_back(request, std::move(*shared));
        return;
      }
      serve(request, std::move(*shared));
    });
  }
  std::shared_ptr<client::ApiStream> watch(client::ApiRequest request,
                                           client::ApiStreamHandlers handlers) override {
    struct Stream final : client::ApiStream {
      std::string ns{};
      client::ApiStreamHandlers handlers{};
      [[nodiscard]] SteadyClock::time_point last_byte() const override {
        return SteadyClock::now();
      }
    };
    auto stream = std::make_shared<Stream>();
    stream->ns = namespace_of(request.path);
    stream->handlers = std::move(handlers);
    post([this, weak = std::weak_ptr(stream)] {
      if (const auto one = weak.lock()) {
        one->handlers.opened();
        watchers_.push_back([weak, ns = one->ns](const Value& event) {
          const auto open = weak.lock();
          if (open && (ns.empty() || event["object"]["metadata"]["namespace"] == Value(ns))) {
            open->handlers.line(event);
          }
        });
      }
    });
    return stream;
  }
  void post(Task task) override { post_at(SteadyClock::now(), std::move(task)); }
  void post_at(SteadyClock::time_point when, Task task) override {
    const std::scoped_lock lock(mutex_);
    tasks_.emplace(when, std::move(task));
    news_.notify_one();
  }
  void stop() override {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
      news_.notify_one();
    }
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  [[nodiscard]] const client::ClusterConfig& config() const override { return config_; }

 private:
  static std::string namespace_of(const std::string& path) {
    constexpr std::string_view kBefore = "/namespaces/";
    const std::size_t at = path.find(kBefore);
    if (at == std::string::npos) {
      return {};
    }
    const std::size_t start = at + kBefore.size();
    return path.substr(start, path.find_first_of("/?", start) - start);
  }

  void loop() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (tasks_.empty()) {
        news_.wait(lock);
        continue;
      }
      if (const auto due = tasks_.begin()->first; due > SteadyClock::now()) {
        news_.wait_until(lock, due);
        continue;
      }
      Task task = std::move(tasks_.begin()->second);
      tasks_.erase(tasks_.begin());
      lock.unlock();
      task();
      lock.lock();
    }
  }

  Value write(const std::string& ns, const std::string& name, const Value& data) {
    Value object;
    {
      const std::scoped_lock lock(mutex_);
      ++version_;
      object = Value::object(
          {{"apiVersion", "v1"},
           {"kind", "ConfigMap"},
           {"metadata", Value::object({{"namespace", ns},
                                       {"name", name},
                                       {"uid", ns + name},
                                       {"resourceVersion", std::to_string(version_)}})},
           {"data", data}});
      objects_[{ns, name}] = object;
    }
    for (const auto& watcher : watchers_) {
      watcher(Value::object({{"type", "MODIFIED"}, {"object", object}}));
    }
    return object;
  }

  void serve(const client::ApiRequest& request, Done done) {
    std::optional<client::ApiResult> wrong;
    {
      const std::scoped_lock lock(mutex_);
      wrong = fault_ ? fault_(request) : std::nullopt;
    }
    if (wrong && !wrong->unknown) {
      done(*std::move(wrong));
      return;
    }
    client::ApiResult result{.status = 200};
    if (request.method == "PATCH") {
      const std::size_t slash = request.path.rfind('/');
      const std::string name = request.path.substr(slash + 1, request.path.find('?') - slash - 1);
      const std::string ns = namespace_of(request.path);
      Value merged = data(ns, name);
      const Value& changes = request.body["data"];
      for (const Member& member : changes.members()) {
        merged.set(member.key(), member.value);
      }
      result.body = write(ns, name, merged);
    } else {
      const std::scoped_lock lock(mutex_);
      const std::string ns = namespace_of(request.path);
      Value items = Value::list();
      for (const auto& [key, object] : objects_) {
        if (ns.empty() || key.first == ns) {
          items.push_back(object);
        }
      }
      result.body = Value::object(
          {{"metadata", Value::object({{"resourceVersion", std::to_string(version_)}})},
           {"items", items}});
    }
    done(wrong ? *std::move(wrong) : std::move(result));
  }

  client::ClusterConfig config_{};
  mutable std::mutex mutex_{};  // guards what follows, down to the blank line
  std::condition_variable news_{};
  std::multimap<SteadyClock::time_point, Task> tasks_{};
  std::map<std::pair<std::string, std::string>, Value> objects_{};
  std::vector<client::ApiRequest> log_{};
  Fault fault_{};
  std::uint64_t version_ = 10;
  bool stopping_ = false;

  std::vector<std::function<void(const Value&)>> watchers_{};  // of the thread
  bool holding_ = false;
  std::vector<std::pair<client::ApiRequest, Done>> held_{};
  std::thread thread_;
};

}  // namespace athanor::cluster
