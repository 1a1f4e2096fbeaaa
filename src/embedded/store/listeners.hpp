// SPDX-License-Identifier: Apache-2.0
// A list of callbacks whose lifetime is a token. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.hpp"

namespace athanor::store {

// Calls run one after another, in the order of registration. Destroying a token ends its callback's
// calls and waits for one that runs on another thread; a callback may destroy its own token.
template <class... Args>
class Listeners {
 public:
  using Callback = std::function<void(Args...)>;

  [[nodiscard]] std::shared_ptr<void> add(Callback callback) {
    auto token = std::make_shared<Token>(list_, std::move(callback));
    const MutexLock lock(list_->mutex);
    list_->tokens.push_back(token.get());
    return token;
  }

  void call(Args... args) const {
    const MutexLock lock(list_->mutex);
    // Iterates by index: a callback may add another one or end its own.
    for (std::size_t i = 0; i < list_->tokens.size(); ++i) {
      if (list_->tokens[i] != nullptr) {
        const Callback callback = list_->tokens[i]->callback;
        callback(args...);
      }
    }
    std::erase(list_->tokens, nullptr);
  }

 private:
  struct Token;
  struct List {
    RecursiveMutex mutex{};
    std::vector<const Token*> tokens ATHANOR_GUARDED_BY(mutex){};  // nullptr: ended during a call
  };
  struct Token {
    Token(std::shared_ptr<List> tokens, Callback function)
        : list(std::move(tokens)), callback(std::move(function)) {}
    Token(const Token&) = delete;
    Token& operator=(const Token&) = delete;
    ~Token() {
      const MutexLock lock(list->mutex);
      for (const Token*& token : list->tokens) {
        if (token == this) {
          token = nullptr;
        }
      }
    }
    std::shared_ptr<List> list;
    Callback callback;
  };

  std::shared_ptr<List> list_ = std::make_shared<List>();
};

}  // namespace athanor::store
