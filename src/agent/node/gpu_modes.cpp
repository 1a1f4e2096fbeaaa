// SPDX-License-Identifier: Apache-2.0
#include "agent/node/gpu_modes.hpp"

#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "agent/node/programs.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"

namespace athanor::agent {
namespace {

using Steady = std::chrono::steady_clock;
// Between two starts of a daemon that ends.
constexpr std::chrono::seconds kStartPause{5};

struct Mode {
  das::SharedGpu gpu{};
  const das::Vendor* vendor = nullptr;  // null: adopted, and not looked at yet
  das::ModeWork work{};
  bool entered = false;
  int daemon = 0;
  Steady::time_point next_start{};
  std::string trouble{};
};

}  // namespace

struct GpuModes::State {
  explicit State(std::string where) : folder(std::move(where)) {}

  [[nodiscard]] std::string record(const std::string& uuid) const {
    return fmt::format("{}/daemons/{}.pid", folder, uuid);
  }
  void enter(Mode& mode) ATHANOR_REQUIRES(mutex);
  void leave(Mode& mode, const das::Vendor& vendor) ATHANOR_REQUIRES(mutex);
  void start_daemon(Mode& mode) ATHANOR_REQUIRES(mutex);
  bool runs(Mode& mode) ATHANOR_REQUIRES(mutex);

  const std::string folder;
  mutable Mutex mutex{};
  std::map<std::string, Mode> modes ATHANOR_GUARDED_BY(mutex){};  // by UUID
};

void GpuModes::State::start_daemon(Mode& mode) {
  const das::Command& daemon = *mode.work.daemon;
  const std::string path = record(mode.gpu.uuid);
  std::ifstream(path) >> mode.daemon;
  if (mode.daemon > 0 && is_running(mode.daemon, daemon.words.front())) {
    mode.trouble.clear();
    return;  // of a run before
  }
  mode.next_start = Steady::now() + kStartPause;
  auto started = start_program(daemon);
  if (!started.ok()) {
    mode.daemon = 0;
    mode.trouble = started.error().message;
    return;
  }
  mode.daemon = *started;
  mode.trouble.clear();
  std::ofstream(path) << mode.daemon << "\n";
  log::info("a daemon was started", {{"gpu", mode.gpu.uuid}, {"program", daemon.words.front()}});
}

bool GpuModes::State::runs(Mode& mode) {
  return mode.daemon > 0 && is_running(mode.daemon, mode.work.daemon->words.front());
}

void GpuModes::State::enter(Mode& mode) {
  mode.work = mode.vendor->create(mode.gpu, folder);
  mode.trouble.clear();
  std::error_code failed;
  std::filesystem::create_directories(folder + "/daemons", failed);
  for (const std::string& path : mode.work.folders) {
    std::filesystem::create_directories(path, failed);
    if (failed) {
      mode.trouble = fmt::format("{}: {}", path, failed.message());
      return;
    }
  }
  for (const das::Command& command : mode.work.commands) {
    if (const auto done = run_program(command); !done.ok()) {
      mode.trouble = done.error().message;
      return;
    }
  }
  mode.entered = true;
  if (mode.work.daemon) {
    start_daemon(mode);
  }
}

void GpuModes::State::leave(Mode& mode, const das::Vendor& vendor) {
  if (!mode.entered) {
    mode.work = vendor.create(mode.gpu, folder);  // of a run before
    std::ifstream(record(mode.gpu.uuid)) >> mode.daemon;
  }
  if (mode.work.daemon && runs(mode)) {
    end_program(mode.daemon);
  }
  std::error_code failed;
  std::filesystem::remove(record(mode.gpu.uuid), failed);
  for (const das::Command& command : vendor.destroy(mode.gpu, folder).commands) {
    if (const auto done = run_program(command); !done.ok()) {
      log::warn("a GPU did not leave its mode",
                {{"gpu", mode.gpu.uuid}, {"error", done.error().message}});
    }
  }
}

GpuModes::GpuModes(std::string state_folder)
    : state_(std::make_unique<State>(std::move(state_folder))) {}

GpuModes::~GpuModes() = default;

void GpuModes::adopt(const std::vector<das::SharedGpu>& gpus) {
  const MutexLock lock(state_->mutex);
  for (const das::SharedGpu& gpu : gpus) {
    if (!gpu.sharing.sliced()) {
      state_->modes.emplace(gpu.uuid, Mode{.gpu = gpu});
    }
  }
}

std::map<std::string, std::string> GpuModes::apply(const std::vector<das::SharedGpu>& gpus,
                                                   const das::Vendor& vendor) {
  const MutexLock lock(state_->mutex);
  std::map<std::string, const das::SharedGpu*> wanted;
  for (const das::SharedGpu& gpu : gpus) {
    if (!gpu.sharing.sliced()) {
      wanted[gpu.uuid] = &gpu;
    }
  }
  for (auto mode = state_->modes.begin(); mode != state_->modes.end();) {
    const auto next = wanted.find(mode->first);
    if (next == wanted.end() || next->second->sharing != mode->second.gpu.sharing) {
      state_->leave(mode->second, vendor);
      mode = state_->modes.erase(mode);
    } else {
      ++mode;
    }
  }
  std::map<std::string, std::string> troubles;
  for (const auto& [uuid, gpu] : wanted) {
    Mode& mode = state_->modes[uuid];
    mode.gpu = *gpu;
    mode.vendor = &vendor;
    if (!mode.entered) {
      state_->enter(mode);
    }
    if (!mode.trouble.empty()) {
      troubles[uuid] = mode.trouble;
    }
  }
  return troubles;
}

Result<void> GpuModes::ready(const std::string& uuid) const {
  const MutexLock lock(state_->mutex);
  const auto mode = state_->modes.find(uuid);
  if (mode == state_->modes.end() || !mode->second.entered || !mode->second.trouble.empty()) {
    return Error::unavailable(fmt::format(
        "GPU {} is not shared: {}", uuid,
        mode == state_->modes.end() || mode->second.trouble.empty() ? "its mode is another one"
                                                                    : mode->second.trouble));
  }
  return {};
}

bool GpuModes::tend() {
  const MutexLock lock(state_->mutex);
  bool changed = false;
  for (auto& [uuid, mode] : state_->modes) {
    const bool due = Steady::now() >= mode.next_start;
    if (mode.vendor == nullptr) {
      continue;  // of a run before, and not looked at yet
    }
    if (!mode.entered && due) {
      mode.next_start = Steady::now() + kStartPause;
      state_->enter(mode);
      changed = changed || mode.entered;
    } else if (mode.entered && mode.work.daemon && !state_->runs(mode)) {
      if (mode.trouble.empty()) {
        mode.trouble = mode.work.daemon->purpose + ": it ended";
        log::warn("a daemon ended", {{"gpu", uuid}, {"error", mode.trouble}});
        changed = true;
      }
      if (due) {
        state_->start_daemon(mode);
        changed = changed || mode.trouble.empty();
      }
    }
  }
  return changed;
}

}  // namespace athanor::agent
