// SPDX-License-Identifier: Apache-2.0
#include "base/interrupt.hpp"

#include <csignal>

namespace athanor {
namespace {

volatile std::sig_atomic_t came_flag = 0;

void note(int /*signal*/) {
  came_flag = 1;
}

}  // namespace

Interrupt::Interrupt() {
  came_flag = 0;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool Interrupt::came() const {
  return came_flag != 0;
}

}  // namespace athanor
