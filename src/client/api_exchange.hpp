// SPDX-License-Identifier: Apache-2.0
// One request of an ApiClient and its answer, on libcurl's easy handle; it knows nothing of queues
// and retries. For the .cpp files of client/. Of the client's thread alone, but for the stream.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.hpp"
#include "client/api_client.hpp"
#include "client/curl_target.hpp"
#include "client/dispatcher.hpp"

namespace athanor::client {

// What a watch's handle and the client's thread share.
struct StreamLink {
  explicit StreamLink(ApiStreamHandlers called) : handlers(std::move(called)) { touch(); }

  // Held while a handler runs, so that none does once the handle is gone; recursive, as a handler
  // may let go of it.
  RecursiveMutex mutex{};
  bool gone ATHANOR_GUARDED_BY(mutex) = false;
  ApiStreamHandlers handlers ATHANOR_GUARDED_BY(mutex);
  std::atomic<std::int64_t> last_byte{0};  // of the steady clock

  void touch() {
    last_byte.store(std::chrono::steady_clock::now().time_since_epoch().count(),
                    std::memory_order_relaxed);
  }
};

// State of one request over its attempts.
class Exchange {
 public:
  enum class State : std::uint8_t { Queued, Sent, Waiting };  // Waiting: to be tried again

  Exchange(ApiRequest asked, ApiClient::Done answered, std::shared_ptr<StreamLink> watch);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() = default;

  // Sets up `handle` for the next attempt.
  void prepare(Easy handle, const ClusterConfig& config, const Identity& identity,
               const ApiClientOptions& options);
  // Returns the answer of the attempt that ended with `code` (a CURLcode).
  [[nodiscard]] ApiResult result(int code, const ClusterConfig& config);
  // Delivers the lines of a watch that have arrived; false: the watch is broken (a line that is not
  // JSON, or too long).
  bool deliver_lines();

  [[nodiscard]] bool reads() const { return request.method == "GET" || request.method == "HEAD"; }
  // Returns true while no byte of the request has left.
  [[nodiscard]] bool unsent() const;
  [[nodiscard]] bool is_watch() const { return link != nullptr; }

  ApiRequest request;
  ApiClient::Done done;
  std::shared_ptr<StreamLink> link;

  std::uint64_t id = 0;
  State state = State::Queued;
  SteadyTime began{};                    // send()
  std::optional<SteadyTime> limit{};     // of the whole; a watch has none
  std::optional<SteadyTime> deadline{};  // the next one to keep
  int attempts = 0;
  bool renewed = false;          // credentials, after a 401
  std::uint64_t generation = 0;  // of the credentials sent
  Easy easy{};

  // For this attempt.
  bool head = false;      // the answer's head has come
  bool readable = false;  // a watch with new bytes
  bool too_large = false;
  int status = 0;

 private:
  static std::size_t on_body(const char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_header(const char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_send(char* target, std::size_t size, std::size_t count, void* self);
  void set_body();
  ApiResult answer();

  TargetLists lists_{};
  std::string sent_{};
  std::size_t offset_ = 0;
  std::string received_{};
  std::size_t scanned_ = 0;  // bytes of received_ without a line end
  std::string retry_after_{};
};

}  // namespace athanor::client
