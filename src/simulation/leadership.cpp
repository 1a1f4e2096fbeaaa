// SPDX-License-Identifier: Apache-2.0
// The electors' effects, carried out at once.
#include "simulation/leadership.hpp"

#include <fmt/format.h>

#include <utility>

namespace athanor::sim {

namespace {

constexpr Duration kStart = std::chrono::seconds(3);  // of a process in place of another

runtime::Steady since_start(Instant steady) {
  return std::chrono::duration_cast<runtime::Steady>(steady.time_since_epoch());
}

}  // namespace

const Key& Leadership::lease() {
  static const Key kLease{"kube-system", "simulated-controllers"};
  return kLease;
}

Leadership::Leadership(std::uint64_t seed, Call call)
    : call_(std::move(call)), entropy_(seeded_entropy(seed ^ 0x1ea5e1ea5e1ea5eULL)) {}

std::string Leadership::new_identity() {
  return fmt::format("replica-{}", ++born_);
}

// Feeds one elector and answers what it asks, until it asks no more.
template <class Feed>
Leadership::Change Leadership::feed(std::size_t index, Instant steady, Instant wall,
                                    const Feed& step) {
  Replica& replica = replicas_.at(index);
  const runtime::Steady now = since_start(steady);
  Change change = Change::None;
  runtime::ElectorEffects effects;
  step(*replica.elector, now, effects);
  const auto ask = [&](std::uint64_t id, std::string_view method, const Value& body,
                       runtime::ElectorEffects& more) {
    const bool heard = !(cut_ && leader_ == index);
    const auto answer =
        heard ? call_(method, body) : Result<Object>(Error::internal("the network is cut"));
    replica.elector->answer(id, answer, now, wall, more);
  };
  for (std::size_t i = 0; i < effects.size(); ++i) {
    runtime::ElectorEffects more;
    if (const auto* read = std::get_if<runtime::ReadLease>(&effects[i])) {
      ask(read->id, "GET", {}, more);
    } else if (const auto* write = std::get_if<runtime::WriteLease>(&effects[i])) {
      ask(write->id, write->create ? "POST" : "PUT", write->body, more);
    } else if (const auto* wake = std::get_if<runtime::WakeElector>(&effects[i])) {
      replica.wake = wake->at;
    } else if (std::holds_alternative<runtime::BecameLeader>(effects[i])) {
      leader_ = index;
      change = Change::Won;
    } else if (std::holds_alternative<runtime::LostLeadership>(effects[i])) {
      change = Change::Lost;
    }
    effects.insert(effects.end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
  }
  return change;
}

Leadership::Change Leadership::begin(std::size_t index, std::string identity, Instant steady,
                                     Instant wall) {
  Replica& replica = replicas_.at(index);
  replica.wake.reset();
  replica.elector = std::make_unique<runtime::Elector>(
      runtime::ElectorOptions{.lease = lease(), .identity = identity, .entropy = entropy_.get()});
  replica.identity = std::move(identity);
  return feed(index, steady, wall,
              [&](runtime::Elector& elector, runtime::Steady now,
                  runtime::ElectorEffects& effects) { elector.start(now, wall, effects); });
}

Leadership::Change Leadership::start(Instant steady, Instant wall) {
  const Change first = begin(0, new_identity(), steady, wall);
  const Change second = begin(1, new_identity(), steady, wall);
  return first == Change::None ? second : first;
}

std::optional<Instant> Leadership::next_due() const {
  std::optional<Instant> due;
  for (const Replica& replica : replicas_) {
    if (replica.wake && (!due || Instant(*replica.wake) < *due)) {
      due = Instant(*replica.wake);
    }
  }
  return due;
}

Leadership::Change Leadership::tick(Instant steady, Instant wall) {
  for (std::size_t index = 0; index < replicas_.size(); ++index) {
    Replica& replica = replicas_.at(index);
    if (!replica.wake || *replica.wake > since_start(steady)) {
      continue;
    }
    replica.wake.reset();
    if (replica.elector == nullptr) {
      return begin(index, new_identity(), steady, wall);
    }
    const Change change =
        feed(index, steady, wall,
             [&](runtime::Elector& elector, runtime::Steady now, runtime::ElectorEffects& effects) {
               elector.tick(now, wall, effects);
             });
    if (change == Change::Lost) {
      replace(steady);
    }
    return change;
  }
  return Change::None;
}

void Leadership::step_down(Instant steady, Instant wall) {
  feed(*leader_, steady, wall,
       [&](runtime::Elector& elector, runtime::Steady now, runtime::ElectorEffects& effects) {
         elector.stop(now, wall, effects);
       });
  replace(steady);
}

void Leadership::replace(Instant steady) {
  Replica& replica = replicas_.at(*std::exchange(leader_, std::nullopt));
  cut_ = false;
  crashed_ = false;
  replica.elector.reset();
  replica.wake = since_start(steady) + kStart;
}

void Leadership::cut_off() {
  cut_ = true;
}

void Leadership::crash() {
  if (leader_) {
    crashed_ = true;
    cut_ = false;
    replicas_.at(*leader_).wake.reset();
  }
}

Leadership::Change Leadership::restart(Instant steady, Instant wall) {
  crashed_ = false;
  const std::size_t index = *std::exchange(leader_, std::nullopt);
  return begin(index, replicas_.at(index).identity, steady, wall);
}

bool Leadership::may_write(Instant steady) const {
  return leader_ && !crashed_ && replicas_.at(*leader_).elector->may_write(since_start(steady));
}

}  // namespace athanor::sim
