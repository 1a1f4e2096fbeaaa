// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/request/conversation.hpp"

#include "base/check.hpp"
#include "base/mutex.hpp"

namespace athanor::apiserver {
namespace {

constexpr int kPendingCode = 102;  // "Processing"; leaves the server never

}  // namespace

std::string_view OutsideAnswer::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) {
      return value;
    }
  }
  return {};
}

Conversation::Conversation(Entropy& source) : source_(source), replayed_(source) {}

std::uint64_t Conversation::ReplayedEntropy::next() {
  if (position_ == drawn_.size()) {
    drawn_.push_back(source_.next());
  }
  return drawn_[position_++];
}

const Conversation::Reply* Conversation::ask(
    const std::string& key, const std::function<OutsideRequest(const std::string& uid)>& question) {
  const auto found = replies_.find(key);
  if (found != replies_.end()) {
    return found->second.answer ? &found->second : nullptr;
  }
  // Not of the replayed numbers: a later pass does not ask again.
  Reply& reply = replies_[key];
  reply.uid = source_.uuid();
  questions_.push_back({.key = key, .request = question(reply.uid)});
  return nullptr;
}

bool Conversation::wait_for(std::uint64_t revision) {
  const std::string key = "revision " + std::to_string(revision);
  if (!patient || !replies_.try_emplace(key).second) {
    return false;
  }
  questions_.push_back({.key = key, .request = {}, .revision = revision});
  return true;
}

void Conversation::answer(const std::string& key, OutsideAnswer answer) {
  const MutexLock lock(mutex_);
  const auto found = replies_.find(key);
  ATHANOR_CHECK(found != replies_.end(), "answers belong to questions");
  found->second.answer = std::move(answer);
}

namespace status {

StatusError pending() {
  StatusError error;
  error.code = kPendingCode;
  error.reason = "Pending";
  return error;
}

}  // namespace status

bool is_pending(const StatusError& error) {
  return error.code == kPendingCode;
}

}  // namespace athanor::apiserver
