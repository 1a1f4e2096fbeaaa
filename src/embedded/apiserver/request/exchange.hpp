// SPDX-License-Identifier: Apache-2.0
// Requests that need answers from outside: asked, waited for (or not), and run again.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/time.hpp"
#include "embedded/apiserver/request/conversation.hpp"
#include "embedded/apiserver/request/dependencies.hpp"
#include "embedded/apiserver/request/revision_waits.hpp"

namespace athanor::apiserver {

// Runs a request once; nullopt: it needs answers (Conversation::take_questions()).
using Pass = std::function<std::optional<Response>(const Request& request, Instant now,
                                                   Conversation& conversation)>;

// What all exchanges of a server share; outlives them.
struct ExchangeContext {
  Pass pass{};
  Entropy* entropy = nullptr;
  const Clock* clock = nullptr;
  Outside* outside = nullptr;          // may be null
  RevisionWaits* revisions = nullptr;  // may be null: no request waits for a revision
  Duration request_timeout = std::chrono::seconds(60);
};

// Asks what a conversation wants to know; `done` runs when all is answered, on any thread, perhaps
// at once.
void ask_questions(const ExchangeContext& context,
                   const std::shared_ptr<Conversation>& conversation, UniqueFunction<void()> done);

// Blocks until the answer is there.
Response run_exchange(const ExchangeContext& context, const Request& request, Instant now);
// Does Server::handle_async(), under the thread's Cancellation, which gets the request's deadline.
void start_exchange(const ExchangeContext& context, Request request, Instant now, Executor resume,
                    UniqueFunction<void(Response)> done);

}  // namespace athanor::apiserver
