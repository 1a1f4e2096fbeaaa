// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/network/pod_network.hpp"

#include <atomic>
#include <thread>
#include <utility>

#include "base/log.hpp"
#include "embedded/nodes/network/call_rules.hpp"
#include "embedded/nodes/network/name_server.hpp"
#include "embedded/nodes/network/poll_loop.hpp"
#include "embedded/nodes/network/service_proxy.hpp"
#include "embedded/nodes/network/socket_supervisor.hpp"

namespace athanor::nodes {
namespace {

constexpr std::uint32_t kFirstNameServer = 0x7f60'000a;  // 127.96.0.10
constexpr std::uint32_t kNameServers = 100;              // further labs take the next ones
constexpr std::int64_t kCalmMs = 50;  // between two looks at all ports of Services

}  // namespace

class PodNetwork::Impl {
 public:
  explicit Impl(PodNetworkOptions options)
      : table_(std::move(options.table)), names_(loop_, table_, std::move(options.upstream)) {
    open_names(options.channel >= 0);
    rules_ = std::make_unique<CallRules>(CallRules::Names{.known = known_, .actual = actual_});
    proxy_ =
        std::make_unique<ServiceProxy>(loop_, rules_->choice(), table_, std::move(options.report));
    if (options.channel >= 0) {
      supervisor_ =
          std::make_unique<SocketSupervisor>(loop_, Descriptor(options.channel), *rules_, table_);
    }
    thread_ = std::jthread([this] { loop_.run(); });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    loop_.stop();
    thread_.join();
  }

  [[nodiscard]] const std::string& name_server() const { return name_server_; }

  void changed() {
    if (waiting_.exchange(true)) {
      return;
    }
    loop_.post([this] {
      loop_.after(kCalmMs, [this] {
        waiting_ = false;
        proxy_->follow();
      });
    });
  }

 private:
  // Opens the name server at port 53, which needs a right; else at any port, to which the
  // supervisor leads.
  void open_names(bool supervised) {
    std::vector<Address> wanted;
    for (std::uint32_t i = 0; i < kNameServers; ++i) {
      wanted.push_back({.ip = kFirstNameServer + i, .port = kNamePort});
    }
    if (supervised) {
      wanted.push_back({.ip = kLoopback, .port = 0});
    }
    const auto opened = names_.open(wanted);
    if (!opened.ok()) {
      log::warn("pods do not resolve names of Services", {{"error", opened.error().message}});
      return;
    }
    actual_ = *opened;
    known_ =
        actual_.port == kNamePort ? actual_ : Address{.ip = kFirstNameServer, .port = kNamePort};
    name_server_ = ip_text(known_.ip);
  }

  PollLoop loop_{};
  TableSource table_;
  NameServer names_;
  Address known_{};
  Address actual_{};
  std::string name_server_{};
  std::unique_ptr<CallRules> rules_{};
  std::unique_ptr<ServiceProxy> proxy_{};
  std::unique_ptr<SocketSupervisor> supervisor_{};
  std::atomic<bool> waiting_ = false;
  std::jthread thread_{};
};

PodNetwork::PodNetwork(PodNetworkOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

PodNetwork::~PodNetwork() = default;

const std::string& PodNetwork::name_server() const {
  return impl_->name_server();
}

void PodNetwork::changed() {
  impl_->changed();
}

}  // namespace athanor::nodes
