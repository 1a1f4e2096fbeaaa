// SPDX-License-Identifier: Apache-2.0
// Spans and their way out.
#include "cluster/trace_export.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "api/builtin.hpp"
#include "kube/text/json.hpp"
#include "runtime/engine/engine.hpp"

namespace athanor::cluster::trace_export_test {
namespace {

struct FixedClock final : Clock {
  mutable Instant at{std::chrono::seconds(1'800'000'000)};
  [[nodiscard]] Instant now() const override {
    at += std::chrono::milliseconds(1);
    return at;
  }
};

// Collects what is posted.
struct Collector {
  std::mutex mutex{};
  std::vector<Value> bodies{};
  bool reachable = true;

  SpanExporter::Post post() {
    return [this](const std::string& body) {
      const std::scoped_lock lock(mutex);
      if (reachable) {
        bodies.push_back(*json::parse(body));
      }
      return reachable;
    };
  }
  std::vector<Value> spans() {
    const std::scoped_lock lock(mutex);
    std::vector<Value> all;
    for (const Value& body : bodies) {
      const Value& list = body["resourceSpans"][0]["scopeSpans"][0]["spans"];
      all.insert(all.end(), list.items().begin(), list.items().end());
    }
    return all;
  }
};

TEST(ReconcileTracer, MakesReconcileSpanWithChildPerWrite) {
  Collector collector;
  FixedClock clock;
  const auto entropy = seeded_entropy(1);
  {
    SpanExporter exporter(collector.post(), "test");
    ReconcileTracer tracer(clock, *entropy, &exporter);
    tracer.began(7, "fournosjob", {"ns", "job"}, runtime::Cause::Changed, Duration(5));
    EXPECT_EQ(tracer.trace_id(7).size(), 32U);
    tracer.sent(7, 1, {.verb = runtime::WriteVerb::Create, .target = {&api::kPod, {"ns", "p"}}});
    tracer.answered({.id = 1, .error = Error::conflict("exists")});
    tracer.ended(7, "error", "exists");
    EXPECT_EQ(tracer.trace_id(7), "");
  }
  const auto spans = collector.spans();
  ASSERT_EQ(spans.size(), 2U);
  const Value& write = spans[0];
  const Value& reconcile = spans[1];
  EXPECT_EQ(write["name"].as_string(), "POST pods");
  EXPECT_EQ(write["traceId"], reconcile["traceId"]);
  EXPECT_EQ(write["parentSpanId"], reconcile["spanId"]);
  EXPECT_EQ(write["status"]["code"].as_int(), 2);
  EXPECT_EQ(reconcile["name"].as_string(), "reconcile fournosjob");
  EXPECT_LT(reconcile["startTimeUnixNano"].as_string(), write["startTimeUnixNano"].as_string());
  EXPECT_EQ(reconcile["attributes"][2]["value"]["stringValue"].as_string(), "object changed");
}

TEST(SpanExporter, DropsInsteadOfBlocking) {
  Collector collector;
  collector.reachable = false;
  SpanExporter exporter(collector.post(), "test", std::chrono::hours(1));
  for (std::size_t i = 0; i < 3 * SpanExporter::kQueue; ++i) {
    exporter.add({.trace = "t", .id = "s", .name = "n"});
  }
  EXPECT_GE(exporter.dropped(), SpanExporter::kQueue);
}

}  // namespace
}  // namespace athanor::cluster::trace_export_test
