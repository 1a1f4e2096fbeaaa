// SPDX-License-Identifier: Apache-2.0
// Where the exporter shows its metrics and its health: plain HTTP or HTTPS.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "systems/numa/exporter/config.hpp"

namespace athanor::exporter {

// What the pages show.
struct ExporterPages {
  std::function<std::string()> metrics{};  // any thread
  std::function<bool()> healthy{};         // any thread
};

// The listening endpoint; destroying it ends it.
class ExporterEndpoint {
 public:
  virtual ~ExporterEndpoint() = default;
  [[nodiscard]] virtual std::string address() const = 0;

  // Starts it as the configuration's metrics mode says; nullptr: disabled. Errors: no such address,
  // an unusable certificate, an obsolete TLS version.
  static Result<std::unique_ptr<ExporterEndpoint>> start(const numa::ExporterConfig& config,
                                                         ExporterPages pages);
};

}  // namespace athanor::exporter
