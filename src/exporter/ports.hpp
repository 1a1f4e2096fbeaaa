// SPDX-License-Identifier: Apache-2.0
// What the exporter's loop asks of the world, from a kubelet, sysfs and an API server.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "client/connection.hpp"
#include "exporter/podresources_client.hpp"
#include "systems/numa/exporter/config.hpp"
#include "systems/numa/exporter/process.hpp"

namespace athanor::exporter {

// For one thread. `config` outlives it.
class Ports final : public numa::ExporterPorts {
 public:
  using Log = std::function<void(std::string_view line)>;
  // Writes status files to folder `dump` (PFP_STATUS_DUMP); empty: none.
  Ports(const numa::ExporterConfig& config, std::unique_ptr<client::Connection> connection,
        std::string dump, Log log);

  [[nodiscard]] Instant now() override { return clock_->now(); }
  Result<std::vector<numa::PodResources>> list() override { return kubelet_.list(); }
  std::string kubelet() override { return kubelet_.identity(); }
  Result<numa::AllocatableResources> allocatable() override { return kubelet_.allocatable(); }
  Result<numa::Hardware> hardware() override;
  Result<Object> get(const Kind& kind, const Key& key) override;
  Result<void> create_topology(const Value& body) override;
  Result<void> update_topology(const Value& body) override;
  Result<void> patch_topology(const std::string& name, const Value& patch) override;
  Result<void> write_pod_conditions(const Key& pod, const Value& conditions) override;
  Result<std::set<Key>> ended_pods(const std::string& node) override;
  void write_status(const std::string& node, const std::vector<Key>& pods,
                    const std::string& fingerprint) override;
  void log(std::string_view line) override;

 private:
  Result<Object> node(const std::string& name);
  Result<void> send(const client::Call& call);
  void replace_file(const std::string& folder, const std::string& name, const std::string& text);

  const numa::ExporterConfig& config_;
  std::unique_ptr<client::Connection> connection_;
  PodResourcesClient kubelet_;
  std::string dump_;
  Log log_;
  std::unique_ptr<Clock> clock_ = wall_clock();
};

}  // namespace athanor::exporter
