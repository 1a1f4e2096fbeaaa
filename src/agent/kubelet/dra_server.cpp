// SPDX-License-Identifier: Apache-2.0
#include "agent/kubelet/dra_server.hpp"

#include <dra.grpc.pb.h>
#include <fmt/core.h>
#include <grpcpp/grpcpp.h>
#include <pluginregistration.grpc.pb.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "base/log.hpp"

namespace athanor::agent {
namespace {

namespace dra = k8s::io::kubelet::pkg::apis::dra::v1;

std::vector<ClaimName> names_of(const google::protobuf::RepeatedPtrField<dra::Claim>& claims) {
  std::vector<ClaimName> names;
  for (const dra::Claim& claim : claims) {
    names.push_back({.ns = claim.namespace_(), .name = claim.name(), .uid = claim.uid()});
  }
  return names;
}

// Returns what is wrong with a request as a whole; empty: nothing. Each claim costs calls of the
// API server.
std::string flaw_of(const google::protobuf::RepeatedPtrField<dra::Claim>& claims) {
  constexpr int kMostClaims = 1024;  // of one pod
  if (claims.size() > kMostClaims) {
    return fmt::format("{} claims in one call; at most {}", claims.size(), kMostClaims);
  }
  std::set<std::string> uids;
  for (const dra::Claim& claim : claims) {
    for (const std::string* part : {&claim.namespace_(), &claim.name(), &claim.uid()}) {
      if (part->empty()) {
        return "a claim without namespace, name or uid";
      }
    }
    if (!uids.insert(claim.uid()).second) {
      return "a claim is named twice";
    }
  }
  return {};
}

class Introduction final : public pluginregistration::Registration::CallbackService {
 public:
  Introduction(std::string driver, std::string endpoint)
      : driver_(std::move(driver)), endpoint_(std::move(endpoint)) {}

  [[nodiscard]] bool registered() const { return registered_; }

  // NOLINTBEGIN(readability-identifier-naming): gRPC's names
  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context,
                                    const pluginregistration::InfoRequest* /*request*/,
                                    pluginregistration::PluginInfo* answer) override {
    answer->set_type("DRAPlugin");
    answer->set_name(driver_);
    answer->set_endpoint(endpoint_);
    answer->add_supported_versions("v1.DRAPlugin");
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerUnaryReactor* NotifyRegistrationStatus(
      grpc::CallbackServerContext* context, const pluginregistration::RegistrationStatus* request,
      pluginregistration::RegistrationStatusResponse* /*answer*/) override {
    registered_ = request->plugin_registered();
    if (registered_) {
      log::info("DRA driver registered", {{"driver", driver_}});
    } else {
      log::warn("the kubelet refused the DRA driver", {{"error", request->error()}});
    }
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  std::string driver_;
  std::string endpoint_;
  std::atomic<bool> registered_{false};
};

class Driver final : public dra::DRAPlugin::CallbackService {
 public:
  explicit Driver(DraServerOptions& options) : options_(options) {}

  // NOLINTBEGIN(readability-identifier-naming): gRPC's names
  grpc::ServerUnaryReactor* NodePrepareResources(
      grpc::CallbackServerContext* context, const dra::NodePrepareResourcesRequest* request,
      dra::NodePrepareResourcesResponse* answer) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    if (const std::string flaw = flaw_of(request->claims()); !flaw.empty()) {
      reactor->Finish({grpc::StatusCode::INVALID_ARGUMENT, flaw});
      return reactor;
    }
    std::vector<ClaimName> names = names_of(request->claims());
    options_.prepare(
        names, [reactor, answer, names](std::vector<Result<std::vector<PreparedDevice>>> answers) {
          for (std::size_t i = 0; i < names.size() && i < answers.size(); ++i) {
            dra::NodePrepareResourceResponse& one = (*answer->mutable_claims())[names[i].uid];
            if (!answers[i].ok()) {
              one.set_error(answers[i].error().message);
              continue;
            }
            for (const PreparedDevice& prepared : *answers[i]) {
              dra::Device& device = *one.add_devices();
              device.mutable_request_names()->Assign(prepared.requests.begin(),
                                                     prepared.requests.end());
              device.set_pool_name(prepared.pool);
              device.set_device_name(prepared.name);
              device.mutable_cdi_device_ids()->Assign(prepared.cdi_devices.begin(),
                                                      prepared.cdi_devices.end());
            }
          }
          reactor->Finish(grpc::Status::OK);
        });
    return reactor;
  }
  grpc::ServerUnaryReactor* NodeUnprepareResources(
      grpc::CallbackServerContext* context, const dra::NodeUnprepareResourcesRequest* request,
      dra::NodeUnprepareResourcesResponse* answer) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    if (const std::string flaw = flaw_of(request->claims()); !flaw.empty()) {
      reactor->Finish({grpc::StatusCode::INVALID_ARGUMENT, flaw});
      return reactor;
    }
    std::vector<ClaimName> names = names_of(request->claims());
    options_.unprepare(names, [reactor, answer, names](std::vector<Result<void>> answers) {
      for (std::size_t i = 0; i < names.size() && i < answers.size(); ++i) {
        dra::NodeUnprepareResourceResponse& one = (*answer->mutable_claims())[names[i].uid];
        if (!answers[i].ok()) {
          one.set_error(answers[i].error().message);
        }
      }
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  DraServerOptions& options_;
};

Result<std::unique_ptr<grpc::Server>> listen(const std::string& socket, grpc::Service& service) {
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(socket).parent_path(), failed);
  ::unlink(socket.c_str());
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  auto server = builder.BuildAndStart();
  if (!server || port == 0) {
    return Error::unavailable(fmt::format("{}: cannot listen", socket));
  }
  return server;
}

}  // namespace

struct DraServer::State {
  explicit State(DraServerOptions wanted)
      : options(std::move(wanted)),
        endpoint(fmt::format("{}/{}/dra.sock", options.folder, options.driver)),
        registry(fmt::format("{}/{}-reg.sock", options.registry, options.driver)),
        introduction(options.driver, endpoint),
        driver(options) {}

  DraServerOptions options;
  std::string endpoint;
  std::string registry;
  Introduction introduction;
  Driver driver;
  std::unique_ptr<grpc::Server> questions{};
  std::unique_ptr<grpc::Server> registration{};
};

Result<std::unique_ptr<DraServer>> DraServer::start(DraServerOptions options) {
  auto state = std::make_unique<State>(std::move(options));
  // A kubelet asks as soon as it sees the socket of the registration.
  ATHANOR_TRY(state->questions, listen(state->endpoint, state->driver));
  ATHANOR_TRY(state->registration, listen(state->registry, state->introduction));
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  return std::unique_ptr<DraServer>(new DraServer(std::move(state)));
}

DraServer::DraServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

DraServer::~DraServer() {
  ::unlink(state_->registry.c_str());
  constexpr auto kPatience = std::chrono::seconds(2);
  for (auto* server : {state_->registration.get(), state_->questions.get()}) {
    server->Shutdown(std::chrono::system_clock::now() + kPatience);
    server->Wait();
  }
  ::unlink(state_->endpoint.c_str());
}

bool DraServer::registered() const {
  return state_->introduction.registered();
}

}  // namespace athanor::agent
