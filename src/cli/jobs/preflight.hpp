// SPDX-License-Identifier: Apache-2.0
// What the queueing's objects say about a job before a controller has seen it.
#pragma once

#include <string>
#include <string_view>

#include "cli/session/session.hpp"
#include "kube/value/value.hpp"

namespace athanor::cli {

// Findings about a job that is about to be submitted; empty: none.
struct Preflight {
  std::string failure{};  // Fournos would fail the job at once, with this message
  std::string misfit{};   // it could never start; the sentence of `athanor simulate`
  std::string unseen{};   // what could not be looked at, and why
};
// Examines `job`, a FournosJob manifest that goes to the namespace `ns`.
Preflight preflight(Session& session, const Value& job, const std::string& ns);

// Returns the name that a message of Fournos probably means ("Cluster 'cluster-9' not found"), as
// ", did you mean cluster-1?"; empty: none is near, or the message is about something else.
std::string correction(Session& session, std::string_view message);

}  // namespace athanor::cli
