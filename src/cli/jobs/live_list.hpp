// SPDX-License-Identifier: Apache-2.0
// LiveList: the objects of one kind as they are and as they change, through restarts of the API
// server: what a verb with -w follows.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/interrupt.hpp"
#include "base/time.hpp"
#include "cli/session/reconnection.hpp"
#include "cli/session/session.hpp"

namespace athanor::cli {

// What a LiveList follows, and words for its messages.
struct LiveListOptions {
  const Kind* kind = nullptr;
  std::string ns{};              // empty: every namespace
  std::string name{};            // one object; empty: all
  std::string_view what_runs{};  // goes on while the API server is away ("what runs")
  std::string_view goes_on{};    // the same, where it stayed away ("the jobs go on")
  Duration patience = std::chrono::seconds(60);  // with an API server that does not answer
};

// Lists and watches one kind, and calls handlers for each change. Not thread-safe.
class LiveList {
 public:
  struct Handlers {
    // An object in a version that was not shown yet.
    std::function<void(const Object& object)> shown{};
    // One that was shown before is gone.
    std::function<void(const Key& key)> gone{};
    // Some time passed; all changes until now were delivered.
    std::function<void(Instant now)> tick{};
  };
  // Requires that the session outlives it.
  LiveList(Session& session, LiveListOptions options, Handlers handlers);

  // Follows until Ctrl-C, a refusal, or an API server that stays away; returns the exit code.
  int run();
  [[nodiscard]] bool away() const { return reconnection_.away(); }

 private:
  void connect(Instant now);
  void open();
  void refused(const Error& error, Instant now);
  void on_line(std::string_view line);
  void show(const Object& object);
  [[nodiscard]] std::string path() const;

  Session& session_;
  LiveListOptions options_;
  Handlers handlers_;
  Interrupt interrupt_{};
  Reconnection reconnection_;
  std::string version_{};  // empty: the list is read first
  std::optional<Error> error_{};
  std::map<Key, std::string> shown_{};  // the version that was shown
  bool open_ = false;
  std::shared_ptr<void> stream_{};
};

}  // namespace athanor::cli
