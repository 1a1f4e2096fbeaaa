// SPDX-License-Identifier: Apache-2.0
// Binding, eviction and logs of pods; finalize of namespaces (spec/apiserver.md 12.3 to 12.5).
#pragma once

#include "embedded/apiserver/call.hpp"

namespace athanor::apiserver {

StatusResult<Response> handle_binding(Call& call);
StatusResult<Response> handle_eviction(Call& call);
StatusResult<Response> handle_log(Call& call);
StatusResult<Response> handle_finalize(Call& call);

}  // namespace athanor::apiserver
