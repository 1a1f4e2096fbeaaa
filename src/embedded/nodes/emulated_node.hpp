// SPDX-License-Identifier: Apache-2.0
// Emulated nodes as objects: one to be made, one that fails, one that recovers.
#pragma once

#include <map>
#include <string>

#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

// An emulated node that fails: "true" makes its kubelet silent. It reports and starts nothing; its
// conditions become Unknown at once, as those of a node whose network is cut do after a while.
inline constexpr const char* kFailedAnnotation = "athanor.dev/failed";

// Contents of a node that is to be made.
struct NewNode {
  std::string name{};
  std::map<std::string, std::string> capacity{};  // quantities
  std::map<std::string, std::string> labels{};    // win over those that every node has
  std::map<std::string, std::string> annotations{};
  Value taints{};  // a list; Null: none
};

// Returns the Node; the label of emulated nodes is on it.
Value node_object(const NewNode& node);
// Returns a node of another name that equals `model` in capacity, labels, taints and annotations of
// the lab; `model` may have failed. Errors: it is not emulated.
Result<NewNode> node_like(const Object& model, std::string name);

// Returns true for a node that has failed.
bool has_failed(const Object& node);
// Returns the merge patches that let a node fail and recover.
Value fail_patch();
Value recover_patch();

}  // namespace athanor::nodes
