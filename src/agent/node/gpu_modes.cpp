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

// What runs for a GPU or a slice.
struct Running {
  std::string part{};  // names the record of its daemon
  das::ModeWork work{};
  int daemon = 0;
  Steady::time_point next_start{};
  std::string trouble{};
};

struct Mode : Running {
  das::SharedGpu gpu{};
  const das::Vendor* vendor = nullptr;  // null: adopted, and not looked at yet
  bool entered = false;
};

}  // namespace

struct GpuModes::State {
  explicit State(std::string where) : folder(std::move(where)) {}

  [[nodiscard]] std::string record(const std::string& part) const {
    return fmt::format("{}/daemons/{}.pid", folder, part);
  }
  bool make_folders(Running& one) ATHANOR_REQUIRES(mutex);
  void enter(Mode& mode) ATHANOR_REQUIRES(mutex);
  void leave(Mode& mode, const das::Vendor& vendor) ATHANOR_REQUIRES(mutex);
  void start_daemon(Running& one) ATHANOR_REQUIRES(mutex);
  bool runs(const Running& one) ATHANOR_REQUIRES(mutex);
  void end_daemon(Running& one) ATHANOR_REQUIRES(mutex);
  // Starts a daemon that ended again. Returns true if what it runs for became usable or ceased to.
  bool tend(Running& one) ATHANOR_REQUIRES(mutex);

  const std::string folder;
  mutable Mutex mutex{};
  std::map<std::string, Mode> modes ATHANOR_GUARDED_BY(mutex){};      // by UUID
  std::map<std::string, Running> slices ATHANOR_GUARDED_BY(mutex){};  // with shares, by part
};

void GpuModes::State::start_daemon(Running& one) {
  const das::Command& daemon = *one.work.daemon;
  const std::string path = record(one.part);
  std::ifstream(path) >> one.daemon;
  if (runs(one)) {
    one.trouble.clear();
    return;  // of a run before
  }
  one.next_start = Steady::now() + kStartPause;
  auto started = start_program(daemon);
  if (!started.ok()) {
    one.daemon = 0;
    one.trouble = started.error().message;
    return;
  }
  one.daemon = *started;
  one.trouble.clear();
  std::ofstream(path) << one.daemon << "\n";
  log::info("a daemon was started", {{"gpu", one.part}, {"program", daemon.words.front()}});
}

bool GpuModes::State::runs(const Running& one) {
  return one.daemon > 0 && is_running(one.daemon, one.work.daemon->words.front());
}

void GpuModes::State::end_daemon(Running& one) {
  if (one.daemon <= 0) {
    std::ifstream(record(one.part)) >> one.daemon;  // of a run before
  }
  if (one.work.daemon && runs(one)) {
    end_program(one.daemon);
  }
  std::error_code failed;
  std::filesystem::remove(record(one.part), failed);
}

bool GpuModes::State::make_folders(Running& one) {
  std::error_code failed;
  std::filesystem::create_directories(folder + "/daemons", failed);
  for (const std::string& path : one.work.folders) {
    std::filesystem::create_directories(path, failed);
    if (failed) {
      one.trouble = fmt::format("{}: {}", path, failed.message());
      return false;
    }
  }
  return true;
}

bool GpuModes::State::tend(Running& one) {
  if (!one.work.daemon || runs(one)) {
    return false;
  }
  bool changed = false;
  if (one.trouble.empty()) {
    one.trouble = one.work.daemon->purpose + ": it ended";
    log::warn("a daemon ended", {{"gpu", one.part}, {"error", one.trouble}});
    changed = true;
  }
  if (Steady::now() >= one.next_start) {
    start_daemon(one);
    changed = changed || one.trouble.empty();
  }
  return changed;
}

void GpuModes::State::enter(Mode& mode) {
  mode.part = mode.gpu.uuid;
  mode.work = mode.vendor->create(mode.gpu, folder);
  mode.trouble.clear();
  if (!make_folders(mode)) {
    return;
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
    mode.part = mode.gpu.uuid;
    mode.work = vendor.create(mode.gpu, folder);  // of a run before
  }
  end_daemon(mode);
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
      state_->modes[gpu.uuid].gpu = gpu;
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

Result<void> GpuModes::start_slice(const std::string& part, const das::ModeWork& work) {
  const MutexLock lock(state_->mutex);
  Running& slice = state_->slices[part];
  const bool same = slice.work == work;
  slice.part = part;
  slice.work = work;
  if (work.daemon && (!same || !state_->runs(slice)) && state_->make_folders(slice)) {
    state_->start_daemon(slice);
  }
  return slice.trouble.empty() ? Result<void>() : Error::unavailable(slice.trouble);
}

void GpuModes::end_slice(const std::string& part, const das::ModeWork& work) {
  const MutexLock lock(state_->mutex);
  Running& slice = state_->slices[part];
  slice.part = part;
  slice.work = work;
  state_->end_daemon(slice);
  state_->slices.erase(part);
}

const std::string& GpuModes::state_folder() const {
  return state_->folder;
}

bool GpuModes::tend() {
  const MutexLock lock(state_->mutex);
  bool changed = false;
  for (auto& [uuid, mode] : state_->modes) {
    if (mode.vendor == nullptr) {
      continue;  // of a run before, and not looked at yet
    }
    if (mode.entered) {
      changed = state_->tend(mode) || changed;
    } else if (Steady::now() >= mode.next_start) {
      mode.next_start = Steady::now() + kStartPause;
      state_->enter(mode);
      changed = changed || mode.entered;
    }
  }
  for (auto& [part, slice] : state_->slices) {
    static_cast<void>(state_->tend(slice));  // start_slice() says how it is
  }
  return changed;
}

}  // namespace athanor::agent
