// SPDX-License-Identifier: Apache-2.0
// Turns: targets wait in a ring each of the live and of the suspects, one question a turn.
#include "cluster/probe_pool.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace athanor::cluster {

namespace {

client::HttpReply failure(const char* why) {
  client::HttpReply reply;
  reply.failure = why;
  return reply;
}

}  // namespace

struct ProbePool::State : std::enable_shared_from_this<State> {
  struct Question {
    client::HttpQuery query{};
    Done done{};
  };
  enum class Health : std::uint8_t { Unknown, Live, Suspect };
  struct Target {
    Health health = Health::Unknown;
    std::size_t in_flight = 0;
    bool queued = false;  // in one of the rings
    std::deque<Question> waiting{};
  };
  struct Start {
    std::string target{};
    Question question{};
    bool suspect = false;
  };

  State(Transport transport, ProbeLimits bounds) : send(std::move(transport)), limits(bounds) {}

  void enqueue(const std::string& name, Target& target) {
    if (!target.queued && !target.waiting.empty() && target.in_flight < limits.per_target) {
      target.queued = true;
      (target.health == Health::Suspect ? suspects : others).push_back(name);
    }
  }

  // The next question that may start; the lock is held.
  std::optional<Start> next() {
    if (in_flight >= limits.in_flight) {
      return std::nullopt;
    }
    const bool room_for_suspects = suspects_in_flight < limits.suspects;
    auto& ring = !others.empty() || !room_for_suspects ? others : suspects;
    if (ring.empty()) {
      return std::nullopt;
    }
    const std::string name = std::move(ring.front());
    ring.pop_front();
    const auto at = targets.find(name);
    if (at == targets.end()) {
      return next();  // forgotten meanwhile
    }
    Target& target = at->second;
    target.queued = false;
    if (target.waiting.empty()) {
      return next();
    }
    Start start{.target = name,
                .question = std::move(target.waiting.front()),
                .suspect = target.health == Health::Suspect};
    target.waiting.pop_front();
    const auto most = target.health == Health::Live ? limits.deadline : limits.first_deadline;
    start.question.query.timeout = std::min(start.question.query.timeout, most);
    ++target.in_flight;
    ++in_flight;
    suspects_in_flight += start.suspect ? 1 : 0;
    enqueue(name, target);
    return start;
  }

  // Starts what may start. The lock is not held while the transport is called: it may answer at
  // once.
  void pump() {
    while (true) {
      std::optional<Start> start;
      {
        const std::scoped_lock lock(mutex);
        start = stopped ? std::nullopt : next();
      }
      if (!start) {
        return;
      }
      auto done = std::make_shared<Done>(std::move(start->question.done));
      send(std::move(start->question.query),
           [self = shared_from_this(), name = start->target, suspect = start->suspect,
            done](client::HttpReply reply) {
             self->finished(name, suspect, reply.failure.empty());
             (*done)(std::move(reply));
             self->pump();
           });
    }
  }

  void finished(const std::string& name, bool suspect, bool answered) {
    const std::scoped_lock lock(mutex);
    --in_flight;
    suspects_in_flight -= suspect ? 1 : 0;
    const auto at = targets.find(name);
    if (at == targets.end()) {
      return;
    }
    Target& target = at->second;
    --target.in_flight;
    target.health = answered ? Health::Live : Health::Suspect;
    enqueue(name, target);
  }

  Transport send;
  ProbeLimits limits;
  std::mutex mutex{};  // guards the rest
  std::map<std::string, Target> targets{};
  std::deque<std::string> others{};    // with a question that may start, in order of turns
  std::deque<std::string> suspects{};  // likewise, of targets that did not answer last time
  std::size_t in_flight = 0;
  std::size_t suspects_in_flight = 0;
  bool stopped = false;
};

ProbePool::ProbePool(Transport send, ProbeLimits limits)
    : state_(std::make_shared<State>(std::move(send), limits)) {}

ProbePool::~ProbePool() {
  std::vector<Done> left;
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stopped = true;
    for (auto& [name, target] : state_->targets) {
      for (State::Question& question : target.waiting) {
        left.push_back(std::move(question.done));
      }
      target.waiting.clear();
    }
  }
  for (Done& done : left) {
    done(failure("the program ends"));
  }
}

void ProbePool::ask(const std::string& target, client::HttpQuery query, Done done) {
  std::unique_lock lock(state_->mutex);
  State::Target& known = state_->targets[target];
  if (known.waiting.size() >= state_->limits.waiting_per_target) {
    lock.unlock();
    done(failure("too many questions wait for this target"));
    return;
  }
  known.waiting.push_back({.query = std::move(query), .done = std::move(done)});
  state_->enqueue(target, known);
  lock.unlock();
  state_->pump();
}

void ProbePool::forget(const std::string& target) {
  std::vector<Done> left;
  {
    const std::scoped_lock lock(state_->mutex);
    const auto at = state_->targets.find(target);
    if (at == state_->targets.end()) {
      return;
    }
    for (State::Question& question : at->second.waiting) {
      left.push_back(std::move(question.done));
    }
    state_->targets.erase(at);
  }
  for (Done& done : left) {
    done(failure("the target is gone"));
  }
}

std::size_t ProbePool::in_flight() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->in_flight;
}

}  // namespace athanor::cluster
