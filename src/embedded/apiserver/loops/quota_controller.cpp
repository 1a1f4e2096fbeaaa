// SPDX-License-Identifier: Apache-2.0
// The quota controller: recounts what a namespace uses after anything in it changed, at once for
// what was given back, and every few minutes in any case (docs/spec/apiserver.md 17). It writes to
// the store, guarded by the quota's revision: a reservation made meanwhile wins and is counted
// next.
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "embedded/apiserver/admission/quota_usage.hpp"
#include "embedded/apiserver/loops/control_loop.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::chrono::minutes kRecount{5};
constexpr std::string_view kQuotas = "resourcequotas";

class QuotaController final : public ControlLoop {
 public:
  explicit QuotaController(const LoopContext& context) : store_(context.store) {}

  void start() override {
    if (const auto page = store_.list(kQuotas, {}); page.ok()) {
      for (const store::StoredPtr& stored : page->items) {
        due_.insert(stored->key.ns);
      }
    }
  }

  void feed(std::span<const store::EventPtr> events) override {
    for (const store::EventPtr& event : events) {
      const store::Stored& object = *event->object;
      if (!object.key.ns.empty() && (object.resource == kQuotas || gives_back(*event))) {
        due_.insert(object.key.ns);
      }
    }
  }

  std::optional<Instant> run(Instant now) override {
    if (now >= next_recount_) {
      start();
      next_recount_ = now + kRecount;
    }
    for (const std::string& ns : std::exchange(due_, {})) {
      recount(ns, now);
    }
    // Nothing to come back for where there is no quota.
    return store_.count(kQuotas, "") > 0 ? std::optional(next_recount_) : std::nullopt;
  }

 private:
  // Creates reserve by themselves; what ends or goes away, and what is made without admission, is
  // counted here.
  static bool gives_back(const store::Event& event) {
    if (event.type != store::Event::Type::Modified) {
      return true;
    }
    const std::string& resource = event.object->resource;
    return resource == "services" || resource == "persistentvolumeclaims" ||
           (resource == "pods" && event.previous != nullptr &&
            event.previous->body["status"]["phase"] != event.object->body["status"]["phase"]);
  }

  void recount(const std::string& ns, Instant now) {
    const auto page = store_.list(kQuotas, {.ns = ns});
    if (!page.ok()) {
      return;
    }
    for (const store::StoredPtr& stored : page->items) {
      const Value& limits = stored->body["spec"]["hard"];
      const Value hard = limits.is_null() ? Value::object() : limits;
      const Value used = used_value(namespace_usage(store_, stored->body, hard), hard);
      const Value& status = stored->body["status"];
      if (status["used"] == used && status["hard"] == hard) {
        continue;
      }
      Value changed = stored->body;
      changed.member("status").set("hard", hard);
      changed.member("status").set("used", used);
      const store::Write write{.resource = std::string(kQuotas),
                               .key = stored->key,
                               .body = std::move(changed),
                               .expected = stored->revision};
      if (!store_.commit({&write, 1}, now).ok()) {
        due_.insert(ns);  // another client was faster; its event comes, too
      }
    }
  }

  store::Store& store_;
  std::set<std::string> due_{};
  Instant next_recount_{};
};

}  // namespace

std::unique_ptr<ControlLoop> make_quota_controller(const LoopContext& context) {
  return std::make_unique<QuotaController>(context);
}

}  // namespace athanor::apiserver
