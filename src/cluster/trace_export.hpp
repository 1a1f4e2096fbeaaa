// SPDX-License-Identifier: Apache-2.0
// Traces of reconciles as OTLP over HTTP in JSON: a span a reconcile, a child a write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/time.hpp"
#include "kube/value/value.hpp"
#include "runtime/engine/model/tracer.hpp"

namespace athanor::cluster {

struct Span {
  std::string trace{};   // 32 hexadecimal digits
  std::string id{};      // 16 hexadecimal digits
  std::string parent{};  // likewise, or empty
  std::string name{};
  bool client = false;  // a call to a server
  Instant begin{};
  Instant end{};
  std::vector<std::pair<std::string, std::string>> attributes{};
  std::string error{};  // empty: none
};
// Returns the body of one ExportTraceServiceRequest.
Value otlp_request(const std::vector<Span>& spans, const std::string& service);

// Sends spans in batches from a thread of its own. Never blocks: what does not fit is dropped and
// counted. Thread-safe.
class SpanExporter {
 public:
  // Posts one batch and returns whether it arrived; may block.
  using Post = std::function<bool(const std::string& body)>;
  static constexpr std::size_t kQueue = 4096;
  static constexpr std::size_t kBatch = 512;

  SpanExporter(Post post, std::string service, Duration interval = std::chrono::seconds(1));
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;
  ~SpanExporter();  // sends what is left, once

  void add(Span span);
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Makes spans of what the engine does; of the engine's thread. Without an exporter it only numbers
// traces, for the log.
class ReconcileTracer final : public runtime::EngineTracer {
 public:
  // Requires that all outlive it; `exporter` may be null.
  ReconcileTracer(const Clock& clock, Entropy& entropy, SpanExporter* exporter)
      : clock_(clock), entropy_(entropy), exporter_(exporter) {}

  void began(runtime::TaskId task, std::string_view controller, const Key& key,
             runtime::Cause cause, Duration queued) override;
  void sent(runtime::TaskId task, std::uint64_t write,
            const runtime::WriteRequest& request) override;
  void answered(const runtime::WriteResult& result) override;
  void ended(runtime::TaskId task, std::string_view result, std::string_view error) override;
  [[nodiscard]] std::string trace_id(runtime::TaskId task) const override;

 private:
  [[nodiscard]] std::string number(int digits);

  const Clock& clock_;
  Entropy& entropy_;
  SpanExporter* exporter_;
  std::map<runtime::TaskId, Span> open_{};
  std::map<std::uint64_t, Span> writes_{};  // under way
};

}  // namespace athanor::cluster
