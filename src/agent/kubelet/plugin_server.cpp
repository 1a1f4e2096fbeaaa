// SPDX-License-Identifier: Apache-2.0
#include "agent/kubelet/plugin_server.hpp"

#include <deviceplugin.grpc.pb.h>
#include <fmt/core.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <set>
#include <string>
#include <utility>

#include "base/mutex.hpp"

namespace athanor::agent {
namespace {

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
std::string flaw_of(const v1beta1::AllocateRequest& request) {
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

class Stream;

// The streams of one server, and what they show.
struct Streams {
  Mutex mutex{};
  std::vector<das::PluginDevice> devices ATHANOR_GUARDED_BY(mutex){};
  std::set<Stream*> open ATHANOR_GUARDED_BY(mutex){};
  bool ended ATHANOR_GUARDED_BY(mutex) = false;
};

// One kubelet that listens: it has the newest list, or is being sent it.
class Stream final : public grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse> {
 public:
  explicit Stream(std::shared_ptr<Streams> streams) : streams_(std::move(streams)) {
    const MutexLock lock(streams_->mutex);
    if (streams_->ended) {
      finish();
      return;
    }
    streams_->open.insert(this);
    send();
  }

  // Both with the streams' mutex held: the owner of the set knows it by another name, which the
  // analysis does not follow.
  void renew() {
    streams_->mutex.assert_held();
    if (writing_) {
      stale_ = true;
    } else {
      send();
    }
  }
  void finish() {
    streams_->mutex.assert_held();
    if (!std::exchange(finished_, true)) {
      Finish(grpc::Status::OK);
    }
  }

  // NOLINTBEGIN(readability-identifier-naming): gRPC has named them
  void OnWriteDone(bool ok) override {
    const MutexLock lock(streams_->mutex);
    writing_ = false;
    if (!ok) {
      finish();
    } else if (std::exchange(stale_, false)) {
      send();
    }
  }
  void OnCancel() override {
    const MutexLock lock(streams_->mutex);
    finish();
  }
  void OnDone() override {
    {
      const MutexLock lock(streams_->mutex);
      streams_->open.erase(this);
    }
    delete this;  // NOLINT(cppcoreguidelines-owning-memory): gRPC's way to end a reactor
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  void send() ATHANOR_REQUIRES(streams_->mutex) {
    if (finished_) {
      return;
    }
    writing_ = true;
    response_ = response_of(streams_->devices);
    StartWrite(&response_);
  }

  std::shared_ptr<Streams> streams_;
  v1beta1::ListAndWatchResponse response_{};
  bool writing_ = false;
  bool stale_ = false;  // the list changed while it was sent
  bool finished_ = false;
};

class Service final : public v1beta1::DevicePlugin::CallbackService {
 public:
  explicit Service(PluginServerOptions& options) : options_(options) {
    streams_->devices = options_.devices;
  }

  [[nodiscard]] const std::shared_ptr<Streams>& streams() const { return streams_; }

  grpc::ServerUnaryReactor* GetDevicePluginOptions(
      grpc::CallbackServerContext* context, const v1beta1::Empty* /*request*/,
      v1beta1::DevicePluginOptions* /*answer*/) override {
    return finished(context, grpc::Status::OK);
  }
  grpc::ServerUnaryReactor* PreStartContainer(
      grpc::CallbackServerContext* context, const v1beta1::PreStartContainerRequest* /*request*/,
      v1beta1::PreStartContainerResponse* /*answer*/) override {
    return finished(context, grpc::Status::OK);
  }
  grpc::ServerUnaryReactor* GetPreferredAllocation(
      grpc::CallbackServerContext* context, const v1beta1::PreferredAllocationRequest* /*request*/,
      v1beta1::PreferredAllocationResponse* /*answer*/) override {
    return finished(context, {grpc::StatusCode::UNIMPLEMENTED, "no device is preferred"});
  }
  grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* ListAndWatch(
      grpc::CallbackServerContext* /*context*/, const v1beta1::Empty* /*request*/) override {
    return new Stream(streams_);  // NOLINT(cppcoreguidelines-owning-memory): ends itself
  }
  grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context,
                                     const v1beta1::AllocateRequest* request,
                                     v1beta1::AllocateResponse* answer) override {
    if (const std::string flaw = flaw_of(*request); !flaw.empty()) {
      return finished(context, {grpc::StatusCode::INVALID_ARGUMENT, flaw});
    }
    AllocateAsk ask;
    for (const v1beta1::ContainerAllocateRequest& one : request->container_requests()) {
      ask.emplace_back(one.devices_ids().begin(), one.devices_ids().end());
    }
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    options_.allocate(std::move(ask), [reactor, answer](Result<std::vector<std::string>> given) {
      if (!given.ok()) {
        constexpr int kPrecondition = 412;
        reactor->Finish({given.error().code == kPrecondition ? grpc::StatusCode::FAILED_PRECONDITION
                                                             : grpc::StatusCode::INTERNAL,
                         given.error().message});
        return;
      }
      for (const std::string& device : *given) {
        answer->add_container_responses()->add_cdi_devices()->set_name(device);
      }
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  static grpc::ServerUnaryReactor* finished(grpc::CallbackServerContext* context,
                                            const grpc::Status& status) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }

  PluginServerOptions& options_;
  std::shared_ptr<Streams> streams_ = std::make_shared<Streams>();
};

}  // namespace

struct PluginServer::State {
  explicit State(PluginServerOptions wanted) : options(std::move(wanted)), service(options) {}

  PluginServerOptions options;
  Service service;
  std::unique_ptr<grpc::Server> server{};
};

Result<std::unique_ptr<PluginServer>> PluginServer::start(PluginServerOptions options) {
  ::unlink(options.socket.c_str());
  auto state = std::make_unique<State>(std::move(options));
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("unix:" + state->options.socket, grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&state->service);
  state->server = builder.BuildAndStart();
  if (!state->server || port == 0) {
    return Error::unavailable(fmt::format("{}: cannot listen", state->options.socket));
  }
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  return std::unique_ptr<PluginServer>(new PluginServer(std::move(state)));
}

PluginServer::PluginServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

PluginServer::~PluginServer() {
  {
    Streams& streams = *state_->service.streams();
    const MutexLock lock(streams.mutex);
    streams.ended = true;
    for (Stream* stream : streams.open) {
      stream->finish();
    }
  }
  constexpr auto kPatience = std::chrono::seconds(2);
  state_->server->Shutdown(std::chrono::system_clock::now() + kPatience);
  state_->server->Wait();
  ::unlink(state_->options.socket.c_str());
}

void PluginServer::set_devices(std::vector<das::PluginDevice> devices) {
  Streams& streams = *state_->service.streams();
  const MutexLock lock(streams.mutex);
  if (streams.devices == devices) {
    return;
  }
  streams.devices = std::move(devices);
  for (Stream* stream : streams.open) {
    stream->renew();
  }
}

int PluginServer::streams() const {
  Streams& streams = *state_->service.streams();
  const MutexLock lock(streams.mutex);
  return static_cast<int>(streams.open.size());
}

}  // namespace athanor::agent
