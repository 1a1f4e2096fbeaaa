// SPDX-License-Identifier: Apache-2.0
// A kubelet's podresources API (docs/spec/numa.md 9.4), over its socket or from recorded answers.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "systems/numa/exporter/podresources.hpp"

namespace athanor::exporter {

// Blocks; each call opens a connection of its own.
class PodResourcesClient {
 public:
  // Requires as `source` "unix:///path", a path, or "fake:///folder" with the answers as JSON.
  explicit PodResourcesClient(std::string source) : source_(std::move(source)) {}

  // Lists pods. Errors: no answer, a status other than OK, an unreadable answer; same below.
  [[nodiscard]] Result<std::vector<numa::PodResources>> list() const;
  [[nodiscard]] Result<numa::AllocatableResources> allocatable() const;
  [[nodiscard]] Result<numa::PodResources> get(const Key& pod) const;
  // Returns the socket's identity; a restarted kubelet's socket has another. Empty: none, or fake.
  [[nodiscard]] std::string identity() const;

 private:
  [[nodiscard]] std::string path() const;
  [[nodiscard]] bool is_fake() const { return source_.starts_with("fake://"); }
  [[nodiscard]] Result<Value> fake_answer(std::string_view file) const;
  [[nodiscard]] Result<std::string> call(std::string_view method, const std::string& message) const;

  std::string source_;
};

}  // namespace athanor::exporter
