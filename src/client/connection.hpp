// SPDX-License-Identifier: Apache-2.0
// A connection to one API server for the command line: blocking requests, and streams (watches,
// logs) that one thread drives together. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "client/cluster_config.hpp"
#include "client/credentials.hpp"
#include "kube/value/value.hpp"

namespace athanor::client {

// One request of a verb.
struct Call {
  std::string method = "GET";
  std::string path{};  // with its query: "/api/v1/pods?limit=5"
  Value body{};        // Null: none
  std::string content_type = "application/json";
  std::string accept = "application/json";
};

// Callbacks of a stream; they run inside Connection::run().
struct StreamHandlers {
  std::function<void(std::string_view line)> line{};  // without the line end
  std::function<void(Result<void> outcome)> ended{};  // once; never after the handle is gone
};

// A cluster as a verb sees it: calls that wait, streams that run() drives. Not thread-safe.
class Connection {
 public:
  // Prepares a connection; sends nothing. Errors: libcurl cannot be initialised.
  static Result<std::unique_ptr<Connection>> open(const ClusterConfig& config,
                                                  const CredentialOptions& credentials = {});
  virtual ~Connection() = default;

  [[nodiscard]] virtual const ClusterConfig& config() const = 0;
  // Returns the decoded body. Errors: an answer of 400 and above, with the Status' code, reason and
  // message; a server that cannot be reached, with code 503 and a hint at what to do.
  virtual Result<Value> call(const Call& call) = 0;
  // Returns the body as text (pod logs, /version).
  virtual Result<std::string> text(const Call& call) = 0;
  // Opens a GET that goes on; destroying the handle ends it.
  [[nodiscard]] virtual std::shared_ptr<void> stream(const std::string& path,
                                                     StreamHandlers handlers) = 0;
  // Calls `report` once for each answered request: "GET /api/v1/pods 200 in 12 ms", and for a
  // stream when it opens. Lines hold neither bodies nor credentials.
  virtual void on_request(std::function<void(std::string_view line)> report) = 0;
  // Drives the open streams until something arrived or `timeout` passed.
  virtual void run(Duration timeout) = 0;
};

// Encodes one path segment or query value (percent-encoding).
std::string escape(std::string_view text);

}  // namespace athanor::client
