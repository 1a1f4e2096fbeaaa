// SPDX-License-Identifier: Apache-2.0
// The operators of emulated nodes.
#pragma once

#include <span>
#include <vector>

#include "runtime/view/node_hooks.hpp"
#include "runtime/view/operator.hpp"

namespace athanor::nodes {

// Nodes with this label are run by this process.
inline constexpr const char* kEmulatedLabel = "athanor.dev/emulated";
// Labels of every node (a kubelet sets them).
inline constexpr const char* kHostnameLabel = "kubernetes.io/hostname";
inline constexpr const char* kOsLabel = "kubernetes.io/os";
inline constexpr const char* kArchLabel = "kubernetes.io/arch";
// What an emulated node has, as JSON of resource names and quantities; its kubelet reports it.
inline constexpr const char* kCapacityAnnotation = "athanor.dev/capacity";
// Written by the node: the names of the resources that are its own, a JSON list.
inline constexpr const char* kReportedAnnotation = "athanor.dev/reported-resources";

// Starts, watches, reports and stops one pod bound to an emulated node.
const Operator& kubelet_operator();
// Keeps an emulated node itself: capacity, readiness, taints.
const Operator& node_operator();

// Reconciles a pod bound to an emulated node, with what the systems' hooks add.
Plan run_pod(const View& view, const Key& key, Instant now,
             std::span<const NodeHooks* const> hooks);
// Reconciles an emulated node, with what the systems' hooks add.
Plan report_node(const View& view, const Key& key, Instant now,
                 std::span<const NodeHooks* const> hooks);

// One of the operators above with hooks. An operator is a plain function, so whatever puts it
// together gives one that calls run_pod() or report_node() with these hooks. Owns the lists that
// the operator names.
class HookedNode {
 public:
  HookedNode(const Operator& base, std::span<const NodeHooks* const> hooks,
             Plan (*reconcile)(const View& view, const Key& key, Instant now));
  HookedNode(const HookedNode&) = delete;  // the operator points into it
  HookedNode& operator=(const HookedNode&) = delete;
  [[nodiscard]] const Operator& get() const { return operator_; }

 private:
  std::vector<const Kind*> reads_{};
  std::vector<const Kind*> writes_{};
  std::vector<Index> indexes_{};
  std::vector<Access> access_{};
  Operator operator_{};
};

}  // namespace athanor::nodes
