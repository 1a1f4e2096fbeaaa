// SPDX-License-Identifier: Apache-2.0
// The embedded API server as a machine: requests in, responses out. It opens no socket, starts no
// thread, reads no clock. Thread-safe: the transport's threads and the in-process controllers call
// handle() side by side.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "base/unique_function.hpp"
#include "embedded/apiserver/request/dependencies.hpp"
#include "embedded/apiserver/request/http.hpp"
#include "embedded/apiserver/request/options.hpp"

namespace athanor::apiserver {

class ResourceRegistry;  // embedded/kinds/resource_info.hpp

// The server. Its dependencies must outlive it.
class Server {
 public:
  // Fails without store, entropy and clock, and when the store fails.
  static Result<std::unique_ptr<Server>> create(Options options, Dependencies dependencies);
  virtual ~Server() = default;

  // Waits for the webhooks that the request concerns; only for threads that may.
  virtual Response handle(Request request, Instant now) = 0;
  // Handles a request; never waits. Calls `done` with the answer, once: on this thread if nothing
  // outside had to be asked, else in a task of `resume`. The server outlives both.
  virtual void handle_async(Request request, Instant now, Executor resume,
                            UniqueFunction<void(Response)> done);
  // Returns true if the body of this request, whose head alone is here, may be sent: its sender is
  // known and may do it. Never waits. Refused requests go to handle() with `without_body`.
  [[nodiscard]] virtual bool admits(const Request& head, Instant now);
  // Does what the server owes to time alone: event TTL, watch timeouts and bookmarks, history.
  // Called about every 250 ms.
  virtual void tick(Instant now) = 0;
  // Begins to shut down: from now on /readyz answers 500 and watches end.
  virtual void begin_shutdown() = 0;
  // Counts a request of a control loop that was refused.
  virtual void note_refusal(const std::string& /*loop*/, int /*code*/) {}
  // Returns the served resources: what the control loops work on (loops/control_loop.hpp).
  [[nodiscard]] virtual const ResourceRegistry& registry() const = 0;
};

}  // namespace athanor::apiserver
