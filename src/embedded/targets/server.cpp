// SPDX-License-Identifier: Apache-2.0
#include "embedded/targets/server.hpp"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "embedded/targets/site.hpp"
#include "kube/text/json.hpp"
#include "net/listen.hpp"
#include "net/private_file.hpp"

namespace athanor::targets {
namespace {

constexpr std::size_t kOtherDescriptors = 512;  // of the process, beside the targets'

constexpr net::ServedLimits kLimits{
    .handshake = std::chrono::seconds(90),
    .answer = std::chrono::hours(1),  // of a request that is never answered
};

// Every target has a listening socket, and some have clients.
Result<void> raise_descriptor_limit(std::size_t targets) {
  rlimit limit{};
  const std::size_t wanted = (targets * 2) + kOtherDescriptors;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) {
    return {};
  }
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, std::max<rlim_t>(wanted, limit.rlim_cur));
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < wanted) {
    return Error::unavailable(
        fmt::format("{} emulated targets need {} file descriptors; the limit (ulimit -Hn) is {}",
                    targets, wanted, limit.rlim_max));
  }
  return {};
}

struct Known {
  Target target{};
  Identity identity{};
};

Result<std::map<std::string, Identity>> read_state(const std::string& path) {
  std::map<std::string, Identity> known;
  if (path.empty()) {
    return known;
  }
  ATHANOR_TRY(const auto text, net::read_file(path));
  if (!text) {
    return known;
  }
  const auto parsed = json::parse(*text);
  if (!parsed.ok() || !parsed->is_object()) {
    return Error::internal(path + ": not the state of emulated targets; remove it");
  }
  for (const Member& member : parsed->members()) {
    known.emplace(member.key(), identity_of(member.value));
  }
  return known;
}

}  // namespace

struct TargetServer::State {
  Result<void> prepare(const TargetServerOptions& options);
  Result<void> add(const Target& target, Identity identity);
  Result<void> keep(const std::string& path) const;

  net::ServedWorld world{.limits = kLimits};
  std::map<std::string, Known> known{};  // not changed once the thread runs
  std::map<std::string, std::unique_ptr<Site>> sites{};
  Visits visits{};
  std::thread thread{};
};

Result<void> TargetServer::State::prepare(const TargetServerOptions& options) {
  ATHANOR_TRY_VOID(raise_descriptor_limit(options.targets.size()));
  world.clock = options.clock;
  ATHANOR_TRY(auto kept, read_state(options.state));
  bool fresh = false;
  for (const Target& target : options.targets) {
    const auto found = kept.find(target.name);
    Identity identity = found == kept.end() ? Identity{} : found->second;
    const int before = identity.port;
    if (is_due(identity, options.clock->now())) {
      ATHANOR_TRY(identity, make_identity(target.name, options.clock->now()));
      identity.port = before;
      fresh = true;
    }
    ATHANOR_TRY_VOID(add(target, std::move(identity)));
    fresh = fresh || known.at(target.name).identity.port != before;
  }
  return fresh && !options.state.empty() ? keep(options.state) : Result<void>();
}

Result<void> TargetServer::State::add(const Target& target, Identity identity) {
  auto socket = bind_port(target.port == 0 ? identity.port : target.port);
  if (!socket.ok() && target.port == 0) {
    socket = bind_port(0);  // the port of last time is taken
  }
  if (!socket.ok()) {
    return socket.error().with_context("target " + target.name);
  }
  identity.port = net::port_of(*socket);
  auto site = std::make_unique<Site>(world, *socket, identity, visits);
  site->show(target);
  sites.emplace(target.name, std::move(site));
  known.emplace(target.name, Known{.target = target, .identity = std::move(identity)});
  return {};
}

Result<void> TargetServer::State::keep(const std::string& path) const {
  Value all = Value::object();
  for (const auto& [name, one] : known) {
    all.set(name, to_value(one.identity));
  }
  return net::write_private_file(path, json::print(all));
}

Result<std::unique_ptr<TargetServer>> TargetServer::start(const TargetServerOptions& options) {
  auto state = std::make_unique<State>();
  ATHANOR_TRY_VOID(state->prepare(options));
  state->thread = std::thread([state = state.get()] { state->world.loop.run(); });
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  return std::unique_ptr<TargetServer>(new TargetServer(std::move(state)));
}

TargetServer::TargetServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

TargetServer::~TargetServer() {
  state_->world.loop.stop();
  state_->thread.join();
  // Tasks that wait hold connections; they go before the loop does.
  for (const auto& [name, site] : state_->sites) {
    site->shut();
  }
  state_->world.loop.close();
  state_->sites.clear();
}

std::string TargetServer::kubeconfig(const std::string& name) const {
  const auto found = state_->known.find(name);
  return found == state_->known.end()
             ? std::string()
             : kubeconfig_text(found->second.target, found->second.identity);
}

Result<void> TargetServer::configure(const Target& target) {
  const auto found = state_->known.find(target.name);
  if (found == state_->known.end()) {
    return Error::not_found(fmt::format("there is no emulated target \"{}\"", target.name));
  }
  Target next = target;
  next.port = found->second.target.port;
  next.sign_in = found->second.target.sign_in;
  Site* site = state_->sites.at(target.name).get();
  state_->world.loop.post([site, next = std::move(next)] { site->show(next); });
  return {};
}

TargetServer::Counts TargetServer::counts() const {
  const Visits& visits = state_->visits;
  return {.connections = visits.connections, .requests = visits.requests, .writes = visits.writes};
}

}  // namespace athanor::targets
