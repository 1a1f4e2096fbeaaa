// SPDX-License-Identifier: Apache-2.0
// Binding, eviction, logs and streams of pods; finalize of namespaces (docs/spec/apiserver.md 12.3
// to 12.5).
#pragma once

#include "embedded/apiserver/request/call.hpp"

namespace athanor::apiserver {

// Handles POST pods/NAME/binding: sets the node of a pod that has none.
StatusResult<Response> handle_binding(Call& call);
// Handles POST pods/NAME/eviction: deletes the pod if its disruption budgets allow it; else 429.
StatusResult<Response> handle_eviction(Call& call);
// Handles GET pods/NAME/log, as text or as a stream.
StatusResult<Response> handle_log(Call& call);
// Handles exec, attach and portforward: connections that leave HTTP (streaming/).
StatusResult<Response> handle_exec(Call& call);
StatusResult<Response> handle_attach(Call& call);
StatusResult<Response> handle_port_forward(Call& call);
// Handles HTTP to a pod, a service or a node.
StatusResult<Response> handle_proxy(Call& call);
// Checks the container that was asked for; fills in the only one, or the default of the pod.
StatusResult<void> choose_container(const Value& pod, std::string& container);
// Handles PUT namespaces/NAME/finalize: replaces spec.finalizers.
StatusResult<Response> handle_finalize(Call& call);

}  // namespace athanor::apiserver
