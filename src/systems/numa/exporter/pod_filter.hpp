// SPDX-License-Identifier: Apache-2.0
// Parts of an answer of List that are not counted (docs/spec/numa.md 9.4): the
// shared pool's cpus, excluded pods, pods that have ended.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "systems/numa/exporter/podresources.hpp"

namespace athanor::numa {

// The container that owns no exclusive cpu: its cpus are the shared pool.
struct ContainerIdent {
  std::string ns{};
  std::string pod{};
  std::string container{};
  [[nodiscard]] bool empty() const { return ns.empty() && pod.empty() && container.empty(); }
};
// Reads "ns/pod/container", parts trimmed. The error is `malformed ident: "<text>"`.
Result<ContainerIdent> parse_ident(std::string_view text);

// Shell patterns of a pod's namespace and name, see matches_glob().
struct PodPattern {
  std::string ns{};
  std::string name{};
};

// Returns true if the text matches the shell pattern: *, ?, [a-z], [^a-z], \ before any other
// character; none of them matches '/'. A malformed pattern matches nothing.
bool matches_glob(std::string_view pattern, std::string_view text);
// Returns true if matches_glob() can read the pattern.
bool is_glob(std::string_view pattern);

// Pods and cpus that filtered() removes.
struct PodFilter {
  ContainerIdent reference{};
  std::vector<PodPattern> excludes{};
  std::set<Key> ended{};  // Succeeded or Failed
};
// Returns the pods without excluded and ended ones, and without the cpus of the reference
// container, which are the shared pool.
std::vector<PodResources> filtered(std::vector<PodResources> pods, const PodFilter& filter);

}  // namespace athanor::numa
