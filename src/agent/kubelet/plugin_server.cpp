// SPDX-License-Identifier: Apache-2.0
#include "agent/kubelet/plugin_server.hpp"

#include <deviceplugin.pb.h>
#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.hpp"
#include "net/grpc_server.hpp"

namespace athanor::agent {
namespace {

constexpr std::size_t kRequestBytes = std::size_t{1} << 20;  // some thousand devices

v1beta1::ListAndWatchResponse response_of(const std::vector<das::PluginDevice>& devices) {
  v1beta1::ListAndWatchResponse response;
  for (const das::PluginDevice& device : devices) {
    v1beta1::Device* one = response.add_devices();
    one->set_id(device.id);
    one->set_health(device.healthy ? "Healthy" : "Unhealthy");
    if (device.numa_node) {
      one->mutable_topology()->add_nodes()->set_id(*device.numa_node);
    }
  }
  return response;
}

// Returns what is wrong with a request; empty: nothing. A kubelet asks for devices, each once: a
// container without any would take a slice that another one waits for.
std::string flaw_of_request(const v1beta1::AllocateRequest& request) {
  for (const v1beta1::ContainerAllocateRequest& one : request.container_requests()) {
    const std::set<std::string> ids(one.devices_ids().begin(), one.devices_ids().end());
    if (ids.empty() || ids.contains("")) {
      return "a container asks for no device";
    }
    if (static_cast<int>(ids.size()) != one.devices_ids_size()) {
      return "a container asks for a device twice";
    }
  }
  return request.container_requests().empty() ? "no container asks" : "";
}

class DeviceStream;

// The streams of one server, and the list that they show.
struct Streams {
  Mutex mutex{};
  std::vector<das::PluginDevice> devices ATHANOR_GUARDED_BY(mutex){};
  std::uint64_t version ATHANOR_GUARDED_BY(mutex) = 1;  // of the list
  std::set<DeviceStream*> open ATHANOR_GUARDED_BY(mutex){};
};

// One kubelet that listens: it has the newest list, or is being sent it. A list that changes while
// it is sent is sent again, as it is then.
class DeviceStream final : public net::Stream {
 public:
  explicit DeviceStream(std::shared_ptr<Streams> streams) : streams_(std::move(streams)) {
    const MutexLock lock(streams_->mutex);
    streams_->open.insert(this);
  }
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;
  ~DeviceStream() override {
    const MutexLock lock(streams_->mutex);
    streams_->open.erase(this);
  }

  State pull(std::string& out) override {
    const MutexLock lock(streams_->mutex);
    if (sent_ != streams_->version) {
      out += net::grpc_frame(response_of(streams_->devices).SerializeAsString());
      sent_ = streams_->version;
    }
    return State::Open;
  }
  void on_ready(std::function<void()> wake) override {
    const MutexLock lock(streams_->mutex);
    wake_ = std::move(wake);
  }
  // With the streams' mutex held: the owner of the set knows it by another name, which the analysis
  // does not follow.
  void renew() const {
    streams_->mutex.assert_held();
    if (wake_) {
      wake_();
    }
  }

 private:
  std::shared_ptr<Streams> streams_;
  std::function<void()> wake_{};
  std::uint64_t sent_ = 0;  // the version that was sent last
};

void allocate(const PluginServerOptions& options, std::string_view message,
              const net::GrpcServer::Reply& reply) {
  v1beta1::AllocateRequest request;
  if (!request.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    reply({.status = net::kGrpcInvalidArgument, .message = "malformed argument"});
    return;
  }
  if (std::string flaw = flaw_of_request(request); !flaw.empty()) {
    reply({.status = net::kGrpcInvalidArgument, .message = std::move(flaw)});
    return;
  }
  AllocateAsk ask;
  for (const v1beta1::ContainerAllocateRequest& one : request.container_requests()) {
    ask.emplace_back(one.devices_ids().begin(), one.devices_ids().end());
  }
  options.allocate(std::move(ask), [reply](Result<std::vector<std::string>> given) {
    if (!given.ok()) {
      constexpr int kPrecondition = 412;
      const bool precondition = given.error().code == kPrecondition;
      reply({.status = precondition ? net::kGrpcFailedPrecondition : net::kGrpcInternal,
             .message = given.error().message});
      return;
    }
    v1beta1::AllocateResponse answer;
    for (const std::string& device : *given) {
      answer.add_container_responses()->add_cdi_devices()->set_name(device);
    }
    reply({.body = answer.SerializeAsString()});
  });
}

}  // namespace

struct PluginServer::State {
  explicit State(PluginServerOptions wanted) : options(std::move(wanted)) {
    const MutexLock lock(streams->mutex);
    streams->devices = options.devices;
  }

  void answer(std::string_view method, std::string_view message,
              const net::GrpcServer::Reply& reply) const;

  PluginServerOptions options;
  const std::shared_ptr<Streams> streams = std::make_shared<Streams>();
  net::GrpcServer server{{.request = kRequestBytes}};  // its thread reads the members above
};

void PluginServer::State::answer(std::string_view method, std::string_view message,
                                 const net::GrpcServer::Reply& reply) const {
  constexpr std::string_view kService = "/v1beta1.DevicePlugin/";
  const std::string_view name =
      method.starts_with(kService) ? method.substr(kService.size()) : std::string_view();
  if (name == "ListAndWatch") {
    reply({.stream = std::make_unique<DeviceStream>(streams)});
  } else if (name == "Allocate") {
    allocate(options, message, reply);
  } else if (name == "GetDevicePluginOptions" || name == "PreStartContainer") {
    reply({});  // their answers have no field that is set
  } else {
    reply({.status = net::kGrpcUnimplemented,
           .message = name == "GetPreferredAllocation" ? "no device is preferred"
                                                       : fmt::format("unknown method {}", method)});
  }
}

Result<std::unique_ptr<PluginServer>> PluginServer::start(PluginServerOptions options) {
  auto state = std::make_unique<State>(std::move(options));
  ATHANOR_TRY_VOID(state->server.open(
      state->options.socket, [raw = state.get()](std::string_view method, std::string_view message,
                                                 const net::GrpcServer::Reply& reply) {
        raw->answer(method, message, reply);
      }));
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  return std::unique_ptr<PluginServer>(new PluginServer(std::move(state)));
}

PluginServer::PluginServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

PluginServer::~PluginServer() = default;

void PluginServer::set_devices(std::vector<das::PluginDevice> devices) {
  Streams& streams = *state_->streams;
  const MutexLock lock(streams.mutex);
  if (streams.devices == devices) {
    return;
  }
  streams.devices = std::move(devices);
  ++streams.version;
  for (const DeviceStream* stream : streams.open) {
    stream->renew();
  }
}

int PluginServer::streams() const {
  Streams& streams = *state_->streams;
  const MutexLock lock(streams.mutex);
  return static_cast<int>(streams.open.size());
}

}  // namespace athanor::agent
