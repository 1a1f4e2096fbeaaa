// SPDX-License-Identifier: Apache-2.0
// PodLogs: the port through which the API server reads the logs of containers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "embedded/apiserver/request/http.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {

// Logs of pods, wherever they run (nodes/). ns, pod, container; see docs/spec/apiserver.md 12.5 for
// the options.
struct LogOptions {
  std::string container{};
  bool follow = false;
  bool previous = false;
  bool timestamps = false;
  std::optional<std::int64_t> tail_lines{};
  std::optional<std::int64_t> limit_bytes{};
  std::optional<Instant> since{};
};
// Thread-safe.
class PodLogs {
 public:
  virtual ~PodLogs() = default;
  // Returns the text so far, or with `follow` a stream that ends when the container ends. Error
  // NotFound: no such container's log yet.
  virtual Result<std::unique_ptr<Stream>> open(const Key& pod, std::string_view pod_uid,
                                               const LogOptions& options) = 0;
};

}  // namespace athanor::apiserver
