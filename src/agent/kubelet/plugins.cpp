// SPDX-License-Identifier: Apache-2.0
#include "agent/kubelet/plugins.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <tuple>

#include "agent/kubelet/folder_watch.hpp"
#include "agent/kubelet/kubelet_calls.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::agent {
namespace {

constexpr std::chrono::milliseconds kRetry{1000};
// A starting kubelet makes its socket before it listens, and soon after rejects pods whose devices
// are not registered.
constexpr std::chrono::milliseconds kSoon{100};
constexpr int kMostSoon = 20;  // tries in a row: 2 s; a kubelet that is gone costs one a second

// Which socket lies at a path: another one is another kubelet. A number may be used again, and the
// time of change moves when rights are set; that of contents is when a socket was made.
using Identity = std::tuple<dev_t, ino_t, time_t, long>;
std::optional<Identity> identity_of(const std::string& path) {
  struct stat seen {};
  if (::stat(path.c_str(), &seen) != 0 || !S_ISSOCK(seen.st_mode)) {
    return std::nullopt;
  }
  return Identity{seen.st_dev, seen.st_ino, seen.st_mtim.tv_sec, seen.st_mtim.tv_nsec};
}

struct Plugin {
  das::DeviceList list{};
  std::unique_ptr<PluginServer> server{};
  std::optional<Identity> socket{};   // of the server
  std::optional<Identity> kubelet{};  // that it is registered with
};

}  // namespace

struct Plugins::State {
  explicit State(PluginsOptions wanted) : options(std::move(wanted)), watch(options.folder) {
    thread = std::thread([this] { run(); });
  }

  [[nodiscard]] std::string path(const std::string& profile) const {
    return fmt::format("{}/{}", options.folder, das::socket_of(profile));
  }
  [[nodiscard]] std::string kubelet_socket() const { return options.folder + "/kubelet.sock"; }

  void run() {
    int refused = 0;  // tries in a row
    while (true) {
      std::vector<std::string> open;
      {
        const MutexLock lock(mutex);
        if (stopping) {
          return;
        }
        listen();
        open = to_register();
      }
      // After a refusal the kubelet may be another: everything is looked at again.
      const bool all =
          std::ranges::all_of(open, [this](const std::string& profile) { return enter(profile); });
      refused = all ? 0 : refused + 1;
      watch.wait(!all && refused <= kMostSoon ? kSoon : kRetry);
    }
  }

  // Serves what is offered; a kubelet removes every socket when it starts.
  void listen() ATHANOR_REQUIRES(mutex) {
    for (auto& [profile, plugin] : plugins) {
      if (plugin.server && identity_of(path(profile)) == plugin.socket) {
        continue;
      }
      plugin.server.reset();
      plugin.kubelet.reset();
      auto server = PluginServer::start(
          {.socket = path(profile),
           .devices = plugin.list.devices,
           .allocate = [this, name = profile](AllocateAsk ask, AllocateDone done) {
             options.allocate(name, std::move(ask), std::move(done));
           }});
      if (!server.ok()) {
        log::warn("a device plugin cannot listen", {{"error", server.error().message}});
        continue;
      }
      plugin.server = *std::move(server);
      plugin.socket = identity_of(path(profile));
    }
  }

  std::vector<std::string> to_register() ATHANOR_REQUIRES(mutex) {
    const auto kubelet = identity_of(kubelet_socket());
    std::vector<std::string> open;
    for (const auto& [profile, plugin] : plugins) {
      if (kubelet && plugin.server && plugin.kubelet != kubelet) {
        open.push_back(profile);
      }
    }
    return open;
  }

  // Registers a resource. Without the mutex: the kubelet asks for the list before it answers.
  bool enter(const std::string& profile) ATHANOR_EXCLUDES(mutex) {
    // A kubelet that starts removes the plugins' sockets before it makes its own, and a
    // registration whose socket is gone costs its whole timeout.
    const auto kubelet = identity_of(kubelet_socket());
    {
      const MutexLock lock(mutex);
      listen();
    }
    const std::string resource = das::resource_of(profile);
    if (options.registers) {
      options.registers();
    }
    const auto done = register_plugin(kubelet_socket(), das::socket_of(profile), resource);
    const MutexLock lock(mutex);
    const auto found = plugins.find(profile);
    if (!done.ok()) {
      log::warn("a device plugin is not registered", {{"error", done.error().message}});
    } else if (found != plugins.end()) {
      found->second.kubelet = kubelet;
      log::info("device plugin registered", {{"resource", resource}});
    }
    return done.ok();
  }

  PluginsOptions options;
  FolderWatch watch;
  Mutex mutex{};
  std::map<std::string, Plugin> plugins ATHANOR_GUARDED_BY(mutex){};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
  std::thread thread{};
};

Plugins::Plugins(PluginsOptions options) : state_(std::make_unique<State>(std::move(options))) {}

Plugins::~Plugins() {
  stop();
}

void Plugins::offer(std::vector<das::DeviceList> lists) {
  std::vector<std::unique_ptr<PluginServer>> closed;  // without the mutex
  {
    const MutexLock lock(state_->mutex);
    std::map<std::string, Plugin> next;
    for (das::DeviceList& list : lists) {
      Plugin& plugin = next[list.profile];
      if (const auto known = state_->plugins.find(list.profile); known != state_->plugins.end()) {
        plugin = std::move(known->second);
      }
      if (plugin.server) {
        plugin.server->set_devices(list.devices);
      }
      plugin.list = std::move(list);
    }
    state_->plugins.swap(next);
    for (auto& [profile, plugin] : next) {
      closed.push_back(std::move(plugin.server));
    }
  }
  state_->watch.wake();
}

bool Plugins::registered() const {
  const auto kubelet = identity_of(state_->kubelet_socket());
  const MutexLock lock(state_->mutex);
  for (const auto& [profile, plugin] : state_->plugins) {
    if (!kubelet || plugin.kubelet != kubelet) {
      return false;
    }
  }
  return true;
}

void Plugins::stop() {
  {
    const MutexLock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->watch.wake();
  if (state_->thread.joinable()) {
    state_->thread.join();
  }
  std::map<std::string, Plugin> open;
  {
    const MutexLock lock(state_->mutex);
    open.swap(state_->plugins);
  }
}

}  // namespace athanor::agent
