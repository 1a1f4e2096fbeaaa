// SPDX-License-Identifier: Apache-2.0
#include "fake_kubelet/node_sockets.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <set>

#include "agent/kubelet/kubelet_calls.hpp"

namespace athanor::fake_kubelet {
namespace {

constexpr int kOk = 0;
constexpr int kCancelled = 1;
constexpr int kDeadline = 4;
constexpr int kUnavailable = 14;

const std::map<char, std::string>& plugin_methods() {
  static const std::map<char, std::string> kMethods{
      {'a', "/v1beta1.DevicePlugin/Allocate"},
      {'w', "/v1beta1.DevicePlugin/ListAndWatch"},
      {'o', "/v1beta1.DevicePlugin/GetDevicePluginOptions"},
      {'f', "/v1beta1.DevicePlugin/GetPreferredAllocation"},
      {'s', "/v1beta1.DevicePlugin/PreStartContainer"}};
  return kMethods;
}
const std::map<char, std::string>& driver_methods() {
  static const std::string kService = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/";
  static const std::map<char, std::string> kMethods{{'p', kService + "NodePrepareResources"},
                                                    {'u', kService + "NodeUnprepareResources"}};
  return kMethods;
}

// The server answered by itself: it neither went away nor kept silent.
bool is_answer(const RawAnswer& answer) {
  return answer.status != kCancelled && answer.status != kDeadline && answer.status != kUnavailable;
}

std::string flaw_of(const std::vector<agent::ClaimName>& claims) {
  std::set<std::string> uids;
  for (const agent::ClaimName& claim : claims) {
    if (claim.ns.empty() || claim.name.empty() || claim.uid.empty() ||
        !uids.insert(claim.uid).second) {
      return "a claim without a name reaches the agent, or one twice";
    }
  }
  return {};
}

}  // namespace

struct NodeSockets::State {
  State() {
    static std::atomic<int> made{0};
    folder = std::filesystem::temp_directory_path() /
             fmt::format("node-sockets-{}-{}", ::getpid(), ++made);
    std::filesystem::create_directories(folder);
    pods = std::make_unique<RawServer>((folder / "pods.sock").string());
    plugin = agent::PluginServer::start(
                 {.socket = (folder / "plugin.sock").string(),
                  .devices = {{.id = "1g.5gb-0"}, {.id = "1g.5gb-1"}},
                  .allocate = [this](const agent::AllocateAsk& ask,
                                     const agent::AllocateDone& done) { answer(ask, done); }})
                 .value();
    driver = agent::DraServer::start(
                 {.driver = "das",
                  .registry = (folder / "registry").string(),
                  .folder = (folder / "plugins").string(),
                  .prepare =
                      [this](const std::vector<agent::ClaimName>& claims,
                             const agent::PrepareDone& done) {
                        note(flaw_of(claims));
                        done(std::vector<Result<std::vector<agent::PreparedDevice>>>(
                            claims.size(), Result<std::vector<agent::PreparedDevice>>(
                                               {{.requests = {"r"}, .pool = "n", .name = "d"}})));
                      },
                  .unprepare =
                      [this](const std::vector<agent::ClaimName>& claims,
                             const agent::UnprepareDone& done) {
                        note(flaw_of(claims));
                        done(std::vector<Result<void>>(claims.size()));
                      }})
                 .value();
    to_plugin = std::make_unique<RawClient>((folder / "plugin.sock").string());
    to_driver = std::make_unique<RawClient>((folder / "plugins" / "das" / "dra.sock").string());
    to_registry = std::make_unique<RawClient>((folder / "registry" / "das-reg.sock").string());
  }
  ~State() {
    to_plugin.reset();
    to_driver.reset();
    to_registry.reset();
    plugin.reset();
    driver.reset();
    pods.reset();
    std::filesystem::remove_all(folder);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // As the agent: one device for each container that asks.
  void answer(const agent::AllocateAsk& ask, const agent::AllocateDone& done) {
    std::vector<std::string> devices;
    for (const std::vector<std::string>& ids : ask) {
      const std::set<std::string> once(ids.begin(), ids.end());
      note(ids.empty() || once.size() != ids.size() ? "the agent is asked for no device, or twice"
                                                    : "");
      devices.push_back("mig.das.com/c1g.5gb=x");
    }
    note(ask.empty() ? "the agent is asked by no container" : "");
    done(std::move(devices));
  }
  void note(std::string flaw) {
    if (!flaw.empty()) {
      const std::lock_guard lock(mutex);
      noted = std::move(flaw);
    }
  }
  std::string flaw() {
    const std::lock_guard lock(mutex);
    return noted;
  }

  std::filesystem::path folder{};
  std::mutex mutex{};
  std::string noted{};
  std::unique_ptr<RawServer> pods{};
  std::unique_ptr<agent::PluginServer> plugin{};
  std::unique_ptr<agent::DraServer> driver{};
  std::unique_ptr<RawClient> to_plugin{};
  std::unique_ptr<RawClient> to_driver{};
  std::unique_ptr<RawClient> to_registry{};
};

NodeSockets::NodeSockets() : state_(std::make_unique<State>()) {}
NodeSockets::~NodeSockets() = default;

RawAnswer NodeSockets::allocate(const std::string& body) {
  return state_->to_plugin->call(plugin_methods().at('a'), body);
}

std::string NodeSockets::send(char way, const std::string& body) {
  RawAnswer answer;
  if (const auto plugin = plugin_methods().find(way); plugin != plugin_methods().end()) {
    answer = state_->to_plugin->call(plugin->second, body);
  } else if (const auto driver = driver_methods().find(way); driver != driver_methods().end()) {
    answer = state_->to_driver->call(driver->second, body);
  } else if (way == 'r') {
    answer = state_->to_registry->call("/pluginregistration.Registration/NotifyRegistrationStatus",
                                       body);
  } else if (way == 'k') {
    state_->pods->answer_with(body);
    const auto devices = agent::list_devices((state_->folder / "pods.sock").string());
    answer.status = devices.ok() || devices.error().message.starts_with("list pod resources: ")
                        ? kOk
                        : kUnavailable;
  } else {
    write_raw((state_->folder / "plugin.sock").string(), body);
  }
  return is_answer(answer)
             ? state_->flaw()
             : fmt::format("'{}' is answered with {} {}", way, answer.status, answer.message);
}

std::string NodeSockets::still_serves() {
  const std::string container = field(1, "1g.5gb-0");
  const RawAnswer given = allocate(field(1, container));
  if (given.status != kOk || given.body.find("mig.das.com/c1g.5gb=x") == std::string::npos) {
    return fmt::format("Allocate is answered with {} {}", given.status, given.message);
  }
  const std::string claim = field(1, "ns") + field(2, "u") + field(3, "c");
  const RawAnswer prepared = state_->to_driver->call(driver_methods().at('p'), field(1, claim));
  if (prepared.status != kOk || prepared.body.empty()) {
    return fmt::format("NodePrepareResources is answered with {} {}", prepared.status,
                       prepared.message);
  }
  state_->pods->answer_with(
      field(1, field(1, "p") + field(2, "ns") +
                   field(3, field(1, "c") +
                                field(2, field(1, "mig.das.com/1g.5gb") + field(2, "1g.5gb-0")))));
  const auto devices = agent::list_devices((state_->folder / "pods.sock").string());
  return devices.ok() && devices->size() == 1 && devices->front().ids.size() == 1
             ? ""
             : "pod resources are not read";
}

}  // namespace athanor::fake_kubelet
