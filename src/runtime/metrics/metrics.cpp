// SPDX-License-Identifier: Apache-2.0
// Metrics on prometheus-cpp, the only file that includes it.
#include "runtime/metrics/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>

#include "base/check.hpp"
#include "base/mutex.hpp"

namespace athanor {

namespace {

prometheus::Labels to_labels(const MetricLabels& labels) {
  return {labels.begin(), labels.end()};
}

}  // namespace

void Counter::add(double amount) {
  counter_->Increment(amount);
}
double Counter::value() const {
  return counter_->Value();
}
void Gauge::set(double value) {
  gauge_->Set(value);
}
void Gauge::add(double amount) {
  gauge_->Increment(amount);
}
double Gauge::value() const {
  return gauge_->Value();
}
void Histogram::observe(double value) {
  histogram_->Observe(value);
}

struct Metrics::Impl {
  Mutex mutex{};  // guards the three maps
  prometheus::Registry registry{};
  std::map<std::string, prometheus::Family<prometheus::Counter>*> counters
      ATHANOR_GUARDED_BY(mutex){};
  std::map<std::string, prometheus::Family<prometheus::Gauge>*> gauges ATHANOR_GUARDED_BY(mutex){};
  std::map<std::string, prometheus::Family<prometheus::Histogram>*> histograms
      ATHANOR_GUARDED_BY(mutex){};

  // True when no type has this name, or only the type whose map knows it.
  [[nodiscard]] bool free_or(const void* known, const std::string& name) const
      ATHANOR_REQUIRES(mutex) {
    return known != nullptr ||
           (!counters.contains(name) && !gauges.contains(name) && !histograms.contains(name));
  }
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

Counter Metrics::counter(const std::string& name, const std::string& help,
                         const MetricLabels& labels) {
  const MutexLock lock(impl_->mutex);
  const auto known = impl_->counters.find(name);
  auto* family = known == impl_->counters.end() ? nullptr : known->second;
  ATHANOR_CHECK(impl_->free_or(family, name), "a metric's name has one type");
  if (family == nullptr) {
    family = &prometheus::BuildCounter().Name(name).Help(help).Register(impl_->registry);
    impl_->counters.emplace(name, family);
  }
  return Counter(family->Add(to_labels(labels)));
}

Gauge Metrics::gauge(const std::string& name, const std::string& help, const MetricLabels& labels) {
  const MutexLock lock(impl_->mutex);
  const auto known = impl_->gauges.find(name);
  auto* family = known == impl_->gauges.end() ? nullptr : known->second;
  ATHANOR_CHECK(impl_->free_or(family, name), "a metric's name has one type");
  if (family == nullptr) {
    family = &prometheus::BuildGauge().Name(name).Help(help).Register(impl_->registry);
    impl_->gauges.emplace(name, family);
  }
  return Gauge(family->Add(to_labels(labels)));
}

Histogram Metrics::histogram(const std::string& name, const std::string& help,
                             const std::vector<double>& buckets, const MetricLabels& labels) {
  const MutexLock lock(impl_->mutex);
  const auto known = impl_->histograms.find(name);
  auto* family = known == impl_->histograms.end() ? nullptr : known->second;
  ATHANOR_CHECK(impl_->free_or(family, name), "a metric's name has one type");
  if (family == nullptr) {
    family = &prometheus::BuildHistogram().Name(name).Help(help).Register(impl_->registry);
    impl_->histograms.emplace(name, family);
  }
  return Histogram(family->Add(to_labels(labels), buckets));
}

void Metrics::remove(const std::string& name, const MetricLabels& labels) {
  const MutexLock lock(impl_->mutex);
  // A family knows its series by their handles, and makes one that is missing.
  const auto remove_from = [&](auto& families, auto... more) {
    const auto known = families.find(name);
    if (known != families.end() && known->second->Has(to_labels(labels))) {
      known->second->Remove(&known->second->Add(to_labels(labels), more...));
    }
  };
  remove_from(impl_->counters);
  remove_from(impl_->gauges);
  remove_from(impl_->histograms, std::vector<double>{});
}

void Metrics::remove_all(const std::string& name, const MetricLabels& labels) {
  const MutexLock lock(impl_->mutex);
  const auto matches = [&](const prometheus::ClientMetric& series) {
    return std::ranges::all_of(labels, [&](const auto& label) {
      return std::ranges::any_of(series.label, [&](const auto& its) {
        return its.name == label.first && its.value == label.second;
      });
    });
  };
  const auto remove_from = [&](auto& families, auto... more) {
    const auto known = families.find(name);
    if (known == families.end()) {
      return;
    }
    for (const prometheus::MetricFamily& family : known->second->Collect()) {
      for (const prometheus::ClientMetric& series : family.metric) {
        if (!matches(series)) {
          continue;
        }
        prometheus::Labels its;
        for (const auto& label : series.label) {
          its.emplace(label.name, label.value);
        }
        known->second->Remove(&known->second->Add(its, more...));
      }
    }
  };
  remove_from(impl_->counters);
  remove_from(impl_->gauges);
  remove_from(impl_->histograms, std::vector<double>{});
}

std::string Metrics::text() const {
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

std::vector<double> Metrics::duration_buckets() {
  std::vector<double> buckets;
  for (const double decade : {1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0}) {
    for (const double step : {1.0, 2.5, 5.0}) {
      buckets.push_back(decade * step);
    }
  }
  buckets.push_back(10);
  return buckets;
}

}  // namespace athanor
