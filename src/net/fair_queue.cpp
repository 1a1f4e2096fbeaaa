// SPDX-License-Identifier: Apache-2.0
#include "net/fair_queue.hpp"

namespace athanor::net {

void FairQueue::push(Flow flow, Task task, Time now) {
  std::size_t& count = count_of(flow);
  const bool above = ++count > (flow.mutating ? limits_.mutating : limits_.reading);
  const std::string name = flow.user;
  User& user = users_[name];
  if (user.turns.empty()) {
    turns_.push_back(name);
  }
  std::deque<Item>& waiting = user.waiting[flow.connection];
  if (waiting.empty()) {
    user.turns.push_back(flow.connection);
  }
  waiting.push_back(
      {.task = std::move(task), .flow = std::move(flow), .since = now, .above_limit = above});
}

FairQueue::Job FairQueue::take(User& user, Time now) {
  const std::uint64_t connection = user.turns.front();
  user.turns.pop_front();
  const auto found = user.waiting.find(connection);
  Item item = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) {
    user.waiting.erase(found);
  } else {
    user.turns.push_back(connection);
  }
  return {.task = std::move(item.task),
          .flow = std::move(item.flow),
          .overdue = item.above_limit && now - item.since > limits_.patience};
}

std::optional<FairQueue::Job> FairQueue::pop(Time now) {
  for (std::size_t tries = turns_.size(); tries > 0; --tries) {
    const std::string name = std::move(turns_.front());
    turns_.pop_front();
    User& user = users_.at(name);
    if (user.running >= limits_.running_for_one) {
      turns_.push_back(name);
      continue;
    }
    Job job = take(user, now);
    ++user.running;
    if (!user.turns.empty()) {
      turns_.push_back(name);
    }
    return job;
  }
  return std::nullopt;
}

void FairQueue::done(const Flow& flow) {
  --count_of(flow);
  const auto user = users_.find(flow.user);
  if (--user->second.running == 0 && user->second.turns.empty()) {
    users_.erase(user);
  }
}

void FairQueue::clear() {
  turns_.clear();
  for (auto& [name, user] : users_) {
    for (const auto& [connection, waiting] : user.waiting) {
      for (const Item& item : waiting) {
        --count_of(item.flow);
      }
    }
    user.waiting.clear();
    user.turns.clear();
  }
}

}  // namespace athanor::net
