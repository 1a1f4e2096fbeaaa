// SPDX-License-Identifier: Apache-2.0
// Keeping and printing what instruments say.
#include "runtime/metrics/instrument_board.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/contain.hpp"

namespace athanor::runtime {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || c == '"') {
      result += '\\';
    }
    result += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return result;
}

std::string labels_text(const MetricLabels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "{" : ",", name, escaped(value));
  }
  return text.empty() ? text : text + "}";
}

std::vector<double> buckets_of(const MetricInfo& info) {
  return info.buckets.empty() ? Metrics::duration_buckets()
                              : std::vector<double>(info.buckets.begin(), info.buckets.end());
}

}  // namespace

InstrumentBoard::InstrumentBoard(std::vector<const Instruments*> instruments, Metrics* metrics)
    : instruments_(std::move(instruments)), metrics_(metrics) {
  if (metrics_ == nullptr) {
    instruments_.clear();
  }
  for (const Instruments* one : instruments_) {
    for (const MetricInfo& info : one->metrics) {
      infos_.emplace(info.name, &info);
    }
    if (one->changed != nullptr || one->witnessed != nullptr) {
      kinds_.insert(one->kinds.begin(), one->kinds.end());
    }
  }
}

void InstrumentBoard::put(const Sample& sample, const MetricInfo& info) {
  const std::string name(info.name);
  const std::string help(info.help);
  switch (info.type) {
    case MetricType::Gauge:
      metrics_->gauge(name, help, sample.labels).set(sample.value);
      return;
    case MetricType::Counter:
      metrics_->counter(name, help, sample.labels).add(sample.value);
      return;
    case MetricType::Histogram:
      metrics_->histogram(name, help, buckets_of(info), sample.labels).observe(sample.value);
      return;
  }
}

void InstrumentBoard::enter(const Sample& sample, const MetricInfo& info, Instant now) {
  const std::string key = std::string(sample.metric) + " " + sample.key;
  const auto at = stays_.find(key);
  if (at != stays_.end() && at->second.since && sample.act != Sample::Act::Begin) {
    const Duration stayed = std::max(now - *at->second.since, Duration::zero());
    put({.metric = sample.metric,
         .labels = at->second.labels,
         .value = std::chrono::duration<double>(stayed).count()},
        info);
  }
  if (sample.act == Sample::Act::Leave) {
    if (at != stays_.end()) {
      stays_.erase(at);
    }
    return;
  }
  const bool begins = sample.act == Sample::Act::Begin;
  stays_.insert_or_assign(
      key, Stay{.labels = sample.labels, .since = begins ? std::nullopt : std::optional(now)});
}

void InstrumentBoard::happened(const Happening& happening, Instant now, const Snapshot* snapshot) {
  for (const Instruments* one : instruments_) {
    if (contain([&] { count(*one, happening, now, snapshot); })) {
      tell_broken();
    }
  }
}

void InstrumentBoard::add_role(const Instruments& instruments, Sample& sample) const {
  const auto info = infos_.find(sample.metric);
  if (!instruments.role_label.empty() && sample.act != Sample::Act::Clear && info != infos_.end() &&
      !info->second->without_role) {
    sample.labels.emplace_back(instruments.role_label, role_);
  }
}

void InstrumentBoard::tell_broken() const {
  metrics_
      ->counter("athanor_broken_invariants_total",
                "Broken invariants, each of which cost a key or an input its run.",
                {{"controller", "instruments"}})
      .add();
}

void InstrumentBoard::count(const Instruments& instruments, const Happening& happening, Instant now,
                            const Snapshot* snapshot) {
  Samples samples;
  instruments.tally(happening, samples);
  const auto* change = std::get_if<ObjectChanged>(&happening);
  if (change != nullptr && snapshot != nullptr && instruments.witnessed != nullptr) {
    Reads reads;
    instruments.witnessed(View(*snapshot, reads), *change, samples);
  }
  for (Sample& sample : samples) {
    add_role(instruments, sample);
    const auto info = infos_.find(sample.metric);
    ATHANOR_CHECK(info != infos_.end(), "instruments declare what they count");
    switch (sample.act) {
      case Sample::Act::Put:
        put(sample, *info->second);
        break;
      case Sample::Act::Mark:
        marks_.insert_or_assign({info->second->name, sample.labels}, now);
        break;
      case Sample::Act::Drop:
        marks_.erase({info->second->name, sample.labels});
        metrics_->remove(std::string(sample.metric), sample.labels);
        break;
      case Sample::Act::Clear:
        metrics_->remove_all(std::string(sample.metric), sample.labels);
        break;
      case Sample::Act::Enter:
      case Sample::Act::Leave:
      case Sample::Act::Begin:
        enter(sample, *info->second, now);
        break;
    }
  }
}

std::string InstrumentBoard::state(const Snapshot& snapshot, std::span<const Kind* const> kinds,
                                   Instant now) const {
  std::string text;
  Samples ages;
  for (const auto& [series, since] : marks_) {
    put_seconds(series.first, series.second, std::max(now - since, Duration::zero()), ages);
  }
  for (const Instruments* one : instruments_) {
    const bool readable = std::ranges::all_of(one->kinds, [&](const Kind* kind) {
      return std::ranges::find(kinds, kind) != kinds.end();
    });
    text += gauges_text(one->metrics, ages);
    if (one->state == nullptr || !readable) {
      continue;
    }
    const auto broken = contain([&] {
      Reads reads;
      Samples samples;
      one->state(View(snapshot, reads), samples);
      for (Sample& sample : samples) {
        add_role(*one, sample);
      }
      text += gauges_text(one->metrics, samples);
    });
    if (broken) {
      tell_broken();
    }
  }
  return text;
}

std::string gauges_text(std::span<const MetricInfo> infos, const Samples& samples) {
  std::string text;
  for (const MetricInfo& info : infos) {
    bool first = true;
    for (const Sample& sample : samples) {
      if (sample.metric != info.name) {
        continue;
      }
      if (std::exchange(first, false)) {
        text += fmt::format("# HELP {} {}\n# TYPE {} gauge\n", info.name, info.help, info.name);
      }
      text += fmt::format("{}{} {}\n", info.name, labels_text(sample.labels), sample.value);
    }
  }
  return text;
}

}  // namespace athanor::runtime
