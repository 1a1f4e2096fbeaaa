// SPDX-License-Identifier: Apache-2.0
// Conversation: what one request asked the outside world and heard from it.
//
// No stage of a request waits. A stage that needs an answer which is not there yet returns
// status::pending(); the server asks the open questions, and when all are answered runs the request
// again from its start. The second pass finds the answers here, draws the same random numbers, and
// so gets to the same point and further. A pass that meets a newer object asks other questions: its
// admission runs again, as it must. What a pass has committed is not to be done twice: such
// handlers keep their progress() here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "embedded/apiserver/request/outside.hpp"
#include "embedded/kinds/status_error.hpp"

namespace athanor::apiserver {

class RequestAudit;  // audit/request_audit.hpp

// Lives as long as its request. Not thread-safe but for answer().
class Conversation {
 public:
  // What handlers with several commits know of their earlier passes.
  struct Progress {
    virtual ~Progress() = default;
  };
  struct Reply {
    std::string uid{};  // that the question was asked with
    std::optional<OutsideAnswer> answer{};
  };
  struct Question {
    std::string key{};
    OutsideRequest request{};
    std::optional<std::uint64_t> revision{};  // set: not a request, but the wait for that revision
  };

  explicit Conversation(Entropy& source);

  // Returns the reply to the question `key`, or nullptr: it will be asked, as `question` words it
  // with a fresh uid, when this pass has ended with status::pending(). The key must distinguish
  // everything that would be answered differently.
  const Reply* ask(const std::string& key,
                   const std::function<OutsideRequest(const std::string& uid)>& question);
  // Returns the reply to a question that was asked; nullptr: it was not.
  [[nodiscard]] const Reply* find(std::string_view key) const {
    const auto found = replies_.find(key);
    return found == replies_.end() ? nullptr : &found->second;
  }
  // Returns true if the request has to wait for this revision now: it can, and has not waited yet.
  // The pass is to end with status::pending() then.
  bool wait_for(std::uint64_t revision);
  // Returns random numbers that are the same in every pass.
  [[nodiscard]] Entropy& entropy() { return replayed_; }
  // Returns what the first pass that asks for it makes; one type for each request.
  template <class T>
  T& progress() {
    if (progress_ == nullptr) {
      progress_ = std::make_unique<T>();
    }
    return static_cast<T&>(*progress_);
  }

  // What is written down of the request; the first pass makes it.
  std::shared_ptr<RequestAudit> audit{};
  // The request's time is over: the next pass is its last.
  bool expired = false;
  // The request can run again later: it may wait for what happens inside the server.
  bool patient = false;

  // Begins a pass, for the server; it starts over at the first random number.
  void begin_pass() { replayed_.rewind(); }
  std::vector<Question> take_questions() { return std::move(questions_); }
  // Records an answer. Thread-safe while no pass runs.
  void answer(const std::string& key, OutsideAnswer answer);

 private:
  class ReplayedEntropy final : public Entropy {
   public:
    explicit ReplayedEntropy(Entropy& source) : source_(source) {}
    std::uint64_t next() override;
    void rewind() { position_ = 0; }

   private:
    Entropy& source_;
    std::vector<std::uint64_t> drawn_{};
    std::size_t position_ = 0;
  };

  Entropy& source_;
  ReplayedEntropy replayed_;
  Mutex mutex_{};  // guards replies_ while answers come in
  std::map<std::string, Reply, std::less<>> replies_{};
  std::vector<Question> questions_{};
  std::unique_ptr<Progress> progress_{};
};

namespace status {
// Returns the error that ends a pass without refusing: the request runs again after the answers.
StatusError pending();
}  // namespace status
// Returns true if an error is status::pending().
bool is_pending(const StatusError& error);

}  // namespace athanor::apiserver
