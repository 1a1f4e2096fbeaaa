// SPDX-License-Identifier: Apache-2.0
// Reconnection: what a verb that follows something does while the API server is away.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"

namespace athanor::cli {

// Checks whether the API server may answer later: it is away, overloaded or forgot the version.
bool is_passing(const Error& error);

// Pauses between attempts and messages on stderr. Not thread-safe.
class Reconnection {
 public:
  // Takes `what` goes on meanwhile ("the job") and how long the server may be away (`patience`).
  Reconnection(std::string_view what, Duration patience) : what_(what), patience_(patience) {}

  // Notes a failure; says so on stderr, once for each time that the server is away.
  void failed(const Error& error, Instant now);
  // Notes the failure of a read or a watch that is taken up again. Returns true if it does not pass
  // by waiting. Codes 401 and 403 pass while the server is away: one that has just come back may
  // not have read its rights yet. Code 410 is no failure: the caller lists anew.
  [[nodiscard]] bool is_final(const Error& error, Instant now);
  // Notes an answer; says on stderr that the server is back where failed() said that it was away.
  void answered();
  // Returns true when the next attempt is due.
  [[nodiscard]] bool due(Instant now) const { return now >= next_; }
  [[nodiscard]] bool away() const { return since_.has_value(); }
  // Returns true when it has been away for too long.
  [[nodiscard]] bool lost(Instant now) const { return since_ && now - *since_ >= patience_; }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  std::string what_;
  Duration patience_;
  std::optional<Instant> since_{};
  Instant next_{};
  Duration pause_{};
  std::string why_{};
};

}  // namespace athanor::cli
