// SPDX-License-Identifier: Apache-2.0
// PageServer: pages for GET and HEAD (probes, metrics, looking inside), on a SmallServer. Their
// makers may block: they run on threads of the server.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "net/http.hpp"
#include "net/serving/served_tls.hpp"

namespace athanor::net {

// One answer of a PageServer.
struct Page {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body{};
};

// Returns the page of a refusal: the status with its reason phrase as text.
Page refusal_page(int status);

// Address, limits and callbacks of a PageServer.
struct PageServerOptions {
  std::string address{};  // "HOST:PORT"; no host: every address; port 0: a free one
  // Null: plain HTTP. Connections are closed while it has no certificate.
  std::shared_ptr<const ServedTls> tls{};
  int threads = 4;
  std::size_t max_connections = 512;  // beyond, the one that is idle longest makes room
  std::size_t max_waiting = 512;      // requests that wait for a thread; a further one gets 503
  // For a request's head, and for a client that does not take its answer.
  std::chrono::milliseconds patience{5'000};
  std::chrono::milliseconds answer_limit{60'000};  // until the page is made
  // Called on the server's threads, at most `threads` at a time. A broken invariant in it is
  // answered with 500.
  std::function<Page(const Request& request)> answer{};
  const Clock* clock = nullptr;  // outlives the server; null: the wall clock
};

// Thread-safe.
class PageServer {
 public:
  // Listens. Errors: what is no address, or is taken.
  static Result<std::unique_ptr<PageServer>> start(PageServerOptions options);
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;
  ~PageServer();  // stops, after the pages under way

  // Returns "127.0.0.1:8080".
  [[nodiscard]] std::string address() const;

 private:
  struct State;
  explicit PageServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace athanor::net
