// SPDX-License-Identifier: Apache-2.0
// The engine's writes and live reads as requests to an API server, and the answers as its inputs.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "client/api_client.hpp"
#include "client/reflector.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/model/write_request.hpp"
#include "runtime/view/live.hpp"

namespace athanor::cluster {

client::ApiRequest to_request(const runtime::SendWrite& send);
runtime::WriteResult to_result(std::uint64_t id, client::ApiResult result);

client::ApiRequest to_request(const LiveQuery& query);
// Returns the answer to a query; an absent object is an answer, too.
Result<Value> as_result(const LiveQuery& query, client::ApiResult result);

// Converts an item of the feed of namespace `ns` (empty: of everything) to an input.
runtime::Input to_input(client::FeedItem item, const std::string& ns);

}  // namespace athanor::cluster
