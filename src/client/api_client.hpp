// SPDX-License-Identifier: Apache-2.0
// Asynchronous requests to one Kubernetes API server: one thread drives all of them over
// pooled connections, HTTP/2 where the server offers it. What controllers read and write through.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "base/unique_function.hpp"
#include "client/cluster_config.hpp"
#include "client/credentials.hpp"
#include "kube/value/value.hpp"

namespace athanor::client {

// Order of requests that the rate limit holds back.
enum class Lane : std::uint8_t {
  Lease,       // is never held back, and has connections of its own
  Urgent,      // what a user sees
  Normal,      // the rest of the work
  Background,  // resyncs, probes
};

// One request of the controllers.
struct ApiRequest {
  std::string method = "GET";
  std::string path{};  // with its query: "/api/v1/pods?limit=5"
  Value body{};        // Null: none
  std::string content_type = "application/json";
  std::string accept = "application/json";
  std::vector<std::pair<std::string, std::string>> headers{};
  Lane lane = Lane::Normal;
  Duration connect_timeout = std::chrono::seconds(10);
  Duration head_timeout = std::chrono::seconds(35);  // from sending to the answer's first line
  Duration timeout = std::chrono::seconds(40);  // from send() to the last byte; of a watch: unused
  std::size_t response_limit = std::size_t{256} << 20;
  int retries = 2;  // where they are safe, see send()
  // 429 and 503 with Retry-After: wait it out within `timeout`, instead of answering at once.
  bool wait_when_throttled = false;
  bool fresh_connection = false;  // a new one, as the old one is suspected to be dead
  bool text = false;              // the body is not JSON: ApiResult::text
};

// An answer of 400 and above becomes `error` with the Status' code, reason and message; no answer
// one with 503 (ServiceUnavailable) or 504 (Timeout).
struct ApiResult {
  int status = 0;  // 0: no answer
  Value body{};    // decoded; of an error its Status, where there is one
  std::string text{};
  std::optional<Error> error{};
  bool unknown = false;  // a write without an answer that may have taken effect
  std::optional<Duration> retry_after{};
};

// Called on the client's thread; they must not block.
struct ApiStreamHandlers {
  std::function<void()> opened{};           // the head came: 200
  std::function<void(Value)> line{};        // one decoded line
  std::function<void(ApiResult)> closed{};  // once, last; `error` empty: the server ended it
};

// A watch under way. Letting go of it ends it; no handler begins after that has returned.
class ApiStream {
 public:
  virtual ~ApiStream() = default;
  // Returns the time of the last byte (or of the request's sending, before the first).
  [[nodiscard]] virtual std::chrono::steady_clock::time_point last_byte() const = 0;
};

// Limits and hooks of an ApiClient.
struct ApiClientOptions {
  double qps = 50;  // requests a second beyond the burst; 0: no limit
  double burst = 100;
  std::size_t max_in_flight = 128;   // requests of all lanes but Lease; streams do not count
  std::size_t max_queued = 100'000;  // more: refused with 429
  bool http2 = true;
  std::string user_agent{};  // empty: "athanor/<version>"
  CredentialOptions credentials{};
  // Called for every request that ended: method, path without query, status (0: none), time taken.
  std::function<void(const ApiRequest&, int status, Duration)> observe{};
};

// Thread-safe.
class ApiClient {
 public:
  using Done = UniqueFunction<void(ApiResult)>;
  using Task = UniqueFunction<void()>;

  // Opens a client; connects to nothing yet. Requires that `clock` and `entropy` outlive it.
  // Errors: a server address that is none; a CA or certificate that cannot be read.
  static Result<std::shared_ptr<ApiClient>> open(ClusterConfig config, const Clock& clock,
                                                 Entropy& entropy, ApiClientOptions options = {});
  virtual ~ApiClient() = default;  // stops

  // Calls `done` once, on the client's thread; it must not block. Retried: GET whenever no answer
  // came; a write only when it certainly did not arrive; everything once after 401, with renewed
  // credentials. After stop() at once, with an error.
  virtual void send(ApiRequest request, Done done) = 0;
  // Sends a GET whose lines go on. Not retried, except after 401.
  [[nodiscard]] virtual std::shared_ptr<ApiStream> watch(ApiRequest request,
                                                         ApiStreamHandlers handlers) = 0;
  // Sends and waits. Requires another thread than the client's.
  ApiResult call(ApiRequest request);

  // Runs `task` on the client's thread, soon or at `when`. Dropped by stop().
  virtual void post(Task task) = 0;
  virtual void post_at(std::chrono::steady_clock::time_point when, Task task) = 0;

  // Ends what is under way with an error and joins the thread. Not on the client's thread.
  virtual void stop() = 0;

  [[nodiscard]] virtual const ClusterConfig& config() const = 0;
};

}  // namespace athanor::client
