// SPDX-License-Identifier: Apache-2.0
#include "cli/session/ending.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <string_view>
#include <thread>

#include "base/condition_variable.hpp"
#include "base/mutex.hpp"

namespace athanor::cli {

namespace {

// GNU timeout and shells send a signal to the program and to its process group: one wish to end.
constexpr Duration kSameWish = std::chrono::milliseconds(500);

Duration since_start() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);  // may be called in a signal handler
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(now.tv_sec) +
                                              std::chrono::nanoseconds(now.tv_nsec));
}

std::atomic<Duration::rep> first_signal{0};  // since_start()

void end_now(int /*signal*/) {
  if (since_start() - Duration(first_signal.load()) < kSameWish) {
    return;
  }
  // No log: another thread may hold its mutex.
  constexpr std::string_view kLine = "athanor: a second signal; the program ends now\n";
  static_cast<void>(::write(STDERR_FILENO, kLine.data(), kLine.size()));
  ::_exit(1);
}

}  // namespace

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

void EndSignals::end_at_next() {
  first_signal = since_start().count();
  struct sigaction action {};
  action.sa_handler = end_now;
  action.sa_flags = SA_RESTART;
  sigset_t last{};
  sigemptyset(&last);
  for (const int signal : {SIGINT, SIGTERM}) {
    ::sigaction(signal, &action, nullptr);
    sigaddset(&last, signal);
  }
  ::pthread_sigmask(SIG_UNBLOCK, &last, nullptr);
}

struct EndGuard::State {
  Mutex mutex{};
  ConditionVariable news{};
  bool ended ATHANOR_GUARDED_BY(mutex) = false;
  std::thread thread{};
};

EndGuard::EndGuard(Duration patience) : state_(std::make_unique<State>()) {
  state_->thread = std::thread([state = state_.get(), patience] {
    MutexLock lock(state->mutex);
    if (!state->news.wait_for(lock, patience,
                              [state]() ATHANOR_REQUIRES(state->mutex) { return state->ended; })) {
      // No log: another thread may hold its mutex.
      constexpr std::string_view kLine = "athanor: something does not end; the program ends now\n";
      static_cast<void>(::write(STDERR_FILENO, kLine.data(), kLine.size()));
      ::_exit(1);
    }
  });
}

EndGuard::~EndGuard() {
  {
    const MutexLock lock(state_->mutex);
    state_->ended = true;
    state_->news.notify_one();
  }
  state_->thread.join();
}

}  // namespace athanor::cli
