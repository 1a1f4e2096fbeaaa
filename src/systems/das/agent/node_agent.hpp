// SPDX-License-Identifier: Apache-2.0
// The agent of one real node as controllers: what it publishes, and how its claims end
// (docs/spec/das.md 3, 8). View::config("das-agent") names the node; GPUs and slices are reached
// through observations and acts.
#pragma once

#include <string>
#include <string_view>

#include "runtime/view/operator.hpp"

namespace athanor::das {

inline constexpr const char* kAgentSection = "das-agent";  // {"node": NAME}

// Observation: {"nodeResources": status.nodeResources, "ready": {"status", "reason", "message"},
// "type": spec.acceleratorType; none: NVIDIA's, "slices": uids of the claims whose slices are
// there}.
inline constexpr std::string_view kGpusQuery = "node.gpus";
// Act: destroys the slice of a claim and removes its files; its answer means that it is gone, or
// that the claim is another pod's by now. Args: {"claim": the object}. Id: "<claim uid>/<pod uid>".
inline constexpr std::string_view kReleaseVerb = "slice.release";
// Observation "slice.trouble:<id of the act>": a text while destroying fails, else empty.
inline constexpr std::string_view kTroubleQuery = "slice.trouble";

// Publishes the node's NodeAccelerator.
const Operator& publication_operator();
// Releases the claims of the node whose pod has ended or is gone.
const Operator& release_operator();

}  // namespace athanor::das
