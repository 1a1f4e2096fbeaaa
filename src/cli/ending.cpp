// SPDX-License-Identifier: Apache-2.0
#include "cli/ending.hpp"

#include <pthread.h>

#include <csignal>

namespace athanor::cli {

struct EndSignals::Mask {
  sigset_t signals{};
};

EndSignals::EndSignals() : mask_(std::make_unique<Mask>()) {
  sigemptyset(&mask_->signals);
  sigaddset(&mask_->signals, SIGINT);
  sigaddset(&mask_->signals, SIGTERM);
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

}  // namespace athanor::cli
