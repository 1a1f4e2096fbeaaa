// SPDX-License-Identifier: Apache-2.0
// Metrics: counters, gauges and histograms by name and labels, printed in Prometheus' text form.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/view/instruments.hpp"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace athanor {

// Handles stay valid as long as their Metrics; cheap to copy, thread-safe to use.
class Counter {
 public:
  explicit Counter(prometheus::Counter& counter) : counter_(&counter) {}
  void add(double amount = 1);
  [[nodiscard]] double value() const;

 private:
  prometheus::Counter* counter_;
};
class Gauge {
 public:
  explicit Gauge(prometheus::Gauge& gauge) : gauge_(&gauge) {}
  void set(double value);
  void add(double amount);
  [[nodiscard]] double value() const;

 private:
  prometheus::Gauge* gauge_;
};
class Histogram {
 public:
  explicit Histogram(prometheus::Histogram& histogram) : histogram_(&histogram) {}
  void observe(double value);

 private:
  prometheus::Histogram* histogram_;
};

// One registry of a process. Thread-safe. The same name and labels give the same metric; `help` and
// `buckets` count the first time. A name is of one type only: another use is a broken invariant.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  Counter counter(const std::string& name, const std::string& help,
                  const MetricLabels& labels = {});
  Gauge gauge(const std::string& name, const std::string& help, const MetricLabels& labels = {});
  Histogram histogram(const std::string& name, const std::string& help,
                      const std::vector<double>& buckets, const MetricLabels& labels = {});
  // Removes the series of these labels; its handles must not be used any more.
  void remove(const std::string& name, const MetricLabels& labels);
  // Removes every series of the metric with these labels among its own; its handles as above.
  void remove_all(const std::string& name, const MetricLabels& labels);
  // Returns exposition format 0.0.4 ("text/plain; version=0.0.4").
  [[nodiscard]] std::string text() const;

  // Returns 1e-5 s to 10 s, three steps a decade, for durations of queues and reconciles.
  static std::vector<double> duration_buckets();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace athanor
