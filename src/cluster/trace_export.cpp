// SPDX-License-Identifier: Apache-2.0
// Spans, their JSON, and the thread that sends them.
#include "cluster/trace_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/condition_variable.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "kube/text/json.hpp"
#include "runtime/engine/engine.hpp"

namespace athanor::cluster {

namespace {

std::string nanoseconds(Instant instant) {
  return std::to_string(
      std::chrono::duration_cast<std::chrono::nanoseconds>(instant.time_since_epoch()).count());
}

Value attribute(std::string_view key, std::string_view text) {
  return Value::object({{"key", key}, {"value", Value::object({{"stringValue", text}})}});
}

Value span_value(const Span& span) {
  constexpr int kInternal = 1;
  constexpr int kClient = 3;
  constexpr int kOk = 1;
  constexpr int kError = 2;
  Value attributes = Value::list();
  for (const auto& [key, text] : span.attributes) {
    attributes.push_back(attribute(key, text));
  }
  Value value =
      Value::object({{"traceId", span.trace},
                     {"spanId", span.id},
                     {"name", span.name},
                     {"kind", span.client ? kClient : kInternal},
                     {"startTimeUnixNano", nanoseconds(span.begin)},
                     {"endTimeUnixNano", nanoseconds(span.end)},
                     {"attributes", attributes},
                     {"status", span.error.empty()
                                    ? Value::object({{"code", kOk}})
                                    : Value::object({{"code", kError}, {"message", span.error}})}});
  if (!span.parent.empty()) {
    value.set("parentSpanId", span.parent);
  }
  return value;
}

}  // namespace

Value otlp_request(const std::vector<Span>& spans, const std::string& service) {
  Value list = Value::list();
  for (const Span& span : spans) {
    list.push_back(span_value(span));
  }
  const Value scope =
      Value::object({{"scope", Value::object({{"name", "athanor.engine"}})}, {"spans", list}});
  const Value resource =
      Value::object({{"attributes", Value::list({attribute("service.name", service)})}});
  return Value::object(
      {{"resourceSpans", Value::list({Value::object(
                             {{"resource", resource}, {"scopeSpans", Value::list({scope})}})})}});
}

struct SpanExporter::State {
  State(Post how, std::string who, Duration pace)
      : post(std::move(how)), service(std::move(who)), interval(pace) {}

  void loop() {
    std::vector<Span> batch;
    MutexLock lock(mutex);
    while (true) {
      news.wait_for(lock, interval,
                    [&]() ATHANOR_REQUIRES(mutex) { return stopping || queue.size() >= kBatch; });
      const bool last = stopping;
      while (!queue.empty()) {
        const auto count = static_cast<std::ptrdiff_t>(std::min(queue.size(), kBatch));
        batch.assign(std::make_move_iterator(queue.begin()),
                     std::make_move_iterator(queue.begin() + count));
        queue.erase(queue.begin(), queue.begin() + count);
        lock.unlock();
        const bool arrived = post(json::print(otlp_request(batch, service)));
        if (!arrived) {
          lost += batch.size();
          log::warn("traces cannot be sent", {{"spans", std::uint64_t{batch.size()}}});
        }
        lock.lock();
        if (last && !arrived) {
          return;
        }
      }
      if (last) {
        return;
      }
    }
  }

  Post post;
  std::string service;
  Duration interval;
  std::atomic<std::uint64_t> lost{0};
  Mutex mutex{};  // guards the rest
  ConditionVariable news{};
  std::vector<Span> queue ATHANOR_GUARDED_BY(mutex){};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
  std::thread thread{};
};

SpanExporter::SpanExporter(Post post, std::string service, Duration interval)
    : state_(std::make_unique<State>(std::move(post), std::move(service), interval)) {
  state_->thread = std::thread([raw = state_.get()] { raw->loop(); });
}

SpanExporter::~SpanExporter() {
  {
    const MutexLock lock(state_->mutex);
    state_->stopping = true;
    state_->news.notify_one();
  }
  state_->thread.join();
}

void SpanExporter::add(Span span) {
  const MutexLock lock(state_->mutex);
  if (state_->queue.size() >= kQueue) {
    ++state_->lost;
    return;
  }
  state_->queue.push_back(std::move(span));
  if (state_->queue.size() == kBatch) {
    state_->news.notify_one();
  }
}

std::uint64_t SpanExporter::dropped() const {
  return state_->lost;
}

std::string ReconcileTracer::number(int digits) {
  std::string text;
  for (int left = digits; left > 0; left -= 16) {
    text += fmt::format("{:016x}", entropy_.next() | 1U);  // all zeros would be no number
  }
  return text;
}

void ReconcileTracer::began(runtime::TaskId task, std::string_view controller, const Key& key,
                            runtime::Cause cause, Duration queued) {
  constexpr int kTraceDigits = 32;
  constexpr int kSpanDigits = 16;
  open_[task] = {.trace = number(kTraceDigits),
                 .id = number(kSpanDigits),
                 .name = fmt::format("reconcile {}", controller),
                 .begin = clock_.now(),
                 .attributes = {{"controller", std::string(controller)},
                                {"key", key.text()},
                                {"cause", std::string(name_of(cause))},
                                {"queued", format_go_duration(queued)}}};
}

void ReconcileTracer::sent(runtime::TaskId task, std::uint64_t write,
                           const runtime::WriteRequest& request) {
  const auto parent = open_.find(task);
  if (parent == open_.end() || exporter_ == nullptr) {
    return;
  }
  constexpr int kSpanDigits = 16;
  const runtime::HttpForm form = http_form(request);
  writes_[write] = {.trace = parent->second.trace,
                    .id = number(kSpanDigits),
                    .parent = parent->second.id,
                    .name = fmt::format("{} {}", form.method, request.target.kind->plural),
                    .client = true,
                    .begin = clock_.now(),
                    .attributes = {{"http.request.method", form.method}, {"url.path", form.path}}};
}

void ReconcileTracer::answered(const runtime::WriteResult& result) {
  auto found = writes_.extract(result.id);
  if (found.empty()) {
    return;
  }
  Span& span = found.mapped();
  span.end = clock_.now();
  if (result.error) {
    span.error = result.error->message;
    span.attributes.emplace_back("http.response.status_code", std::to_string(result.error->code));
  }
  exporter_->add(std::move(span));
}

void ReconcileTracer::ended(runtime::TaskId task, std::string_view result, std::string_view error) {
  auto found = open_.extract(task);
  if (found.empty() || exporter_ == nullptr) {
    return;
  }
  Span& span = found.mapped();
  span.end = clock_.now();
  span.error = error;
  span.attributes.emplace_back("result", result);
  exporter_->add(std::move(span));
}

std::string ReconcileTracer::trace_id(runtime::TaskId task) const {
  const auto found = open_.find(task);
  return found == open_.end() ? std::string() : found->second.trace;
}

}  // namespace athanor::cluster
