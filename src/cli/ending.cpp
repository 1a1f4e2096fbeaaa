// SPDX-License-Identifier: Apache-2.0
#include "cli/ending.hpp"

#include <pthread.h>

#include <csignal>

namespace athanor::cli {

struct EndSignals::Mask {
  sigset_t signals{};
};

EndSignals::EndSignals(std::initializer_list<int> more) : mask_(std::make_unique<Mask>()) {
  sigemptyset(&mask_->signals);
  sigaddset(&mask_->signals, SIGINT);
  sigaddset(&mask_->signals, SIGTERM);
  for (const int signal : more) {
    sigaddset(&mask_->signals, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &mask_->signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

EndSignals::~EndSignals() = default;

int EndSignals::wait() {
  int signal = 0;
  while (::sigwait(&mask_->signals, &signal) != 0) {
  }
  return signal;
}

std::optional<int> EndSignals::wait_for(Duration patience) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(patience);
  const timespec most{.tv_sec = whole.count(),
                      .tv_nsec = std::chrono::nanoseconds(patience - whole).count()};
  const int signal = ::sigtimedwait(&mask_->signals, nullptr, &most);
  return signal > 0 ? std::optional(signal) : std::nullopt;
}

}  // namespace athanor::cli
