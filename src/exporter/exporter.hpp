// SPDX-License-Identifier: Apache-2.0
// The exporter as a process (docs/spec/numa.md 9): `resource-topology-exporter`, `athanor numa
// exporter`, `athanor-agent numa-exporter`, and `athanor` under the first name. A program calls one
// function; what it prints and how it is interrupted are its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::exporter {

// What the program provides.
struct Host {
  std::string version{};
  std::function<void(std::string_view text)> out{};
  std::function<void(std::string_view text)> err{};
  // True once the process is to end (SIGTERM).
  std::function<bool()> interrupted{};
};

// Publishes the node's zones until interrupted; returns the exit code. Reads the environment: to be
// called while the program has one thread.
int run_exporter(const std::vector<std::string>& arguments, const Host& host);

// Prints what a kubelet's podresources API says: list, allocatable, get NAMESPACE/NAME.
int run_podresources(const std::vector<std::string>& arguments, const Host& host);

}  // namespace athanor::exporter
