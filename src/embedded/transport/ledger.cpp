// SPDX-License-Identifier: Apache-2.0
#include "embedded/transport/ledger.hpp"

namespace athanor::transport {

bool Ledger::admits(const std::string& holder, std::size_t more) const {
  const std::size_t now = held(holder);
  return now == 0 || (now + more <= limits_.each && total_ + more <= limits_.all);
}

bool Ledger::exceeded(const std::string& holder) const {
  constexpr std::size_t kFewHolders = 16;  // when all hold too much, those with a large part do
  const std::size_t now = held(holder);
  return now > limits_.each || (total_ > limits_.all && now > limits_.all / kFewHolders);
}

std::size_t Ledger::held(const std::string& holder) const {
  const auto found = holders_.find(holder);
  return found == holders_.end() ? 0 : found->second;
}

void Ledger::Share::set(const std::string& holder, std::size_t bytes) {
  if (bytes == bytes_ && (bytes == 0 || holder == holder_)) {
    return;
  }
  if (bytes_ > 0) {
    const auto before = ledger_.holders_.find(holder_);
    ledger_.total_ -= bytes_;
    before->second -= bytes_;
    if (before->second == 0) {
      ledger_.holders_.erase(before);
    }
  }
  bytes_ = bytes;
  if (bytes_ > 0) {
    holder_ = holder;
    ledger_.holders_[holder_] += bytes_;
    ledger_.total_ += bytes_;
  }
}

}  // namespace athanor::transport
