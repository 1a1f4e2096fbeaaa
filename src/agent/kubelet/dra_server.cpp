// SPDX-License-Identifier: Apache-2.0
#include "agent/kubelet/dra_server.hpp"

#include <dra.pb.h>
#include <fmt/core.h>
#include <pluginregistration.pb.h>

#include <atomic>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "net/grpc_server.hpp"

namespace athanor::agent {
namespace {

namespace dra = k8s::io::kubelet::pkg::apis::dra::v1;

constexpr std::size_t kClaimsBytes = std::size_t{1} << 20;  // some thousand claims

std::vector<ClaimName> names_of(const google::protobuf::RepeatedPtrField<dra::Claim>& claims) {
  std::vector<ClaimName> names;
  for (const dra::Claim& claim : claims) {
    names.push_back({.ns = claim.namespace_(), .name = claim.name(), .uid = claim.uid()});
  }
  return names;
}

// Returns what is wrong with a request as a whole; empty: nothing. Each claim costs calls of the
// API server.
std::string flaw_of_claims(const google::protobuf::RepeatedPtrField<dra::Claim>& claims) {
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

// Parses the argument of a call; false: it is malformed, and the call is refused.
template <typename Message>
bool parse(std::string_view text, Message& message, const net::GrpcServer::Reply& reply) {
  if (message.ParseFromArray(text.data(), static_cast<int>(text.size()))) {
    return true;
  }
  reply({.status = net::kGrpcInvalidArgument, .message = "malformed argument"});
  return false;
}

void prepare(const DraServerOptions& options, std::string_view message,
             const net::GrpcServer::Reply& reply) {
  dra::NodePrepareResourcesRequest request;
  if (!parse(message, request, reply)) {
    return;
  }
  if (std::string flaw = flaw_of_claims(request.claims()); !flaw.empty()) {
    reply({.status = net::kGrpcInvalidArgument, .message = std::move(flaw)});
    return;
  }
  std::vector<ClaimName> names = names_of(request.claims());
  options.prepare(names, [reply, names](std::vector<Result<std::vector<PreparedDevice>>> answers) {
    dra::NodePrepareResourcesResponse answer;
    for (std::size_t i = 0; i < names.size() && i < answers.size(); ++i) {
      dra::NodePrepareResourceResponse& one = (*answer.mutable_claims())[names[i].uid];
      if (!answers[i].ok()) {
        one.set_error(answers[i].error().message);
        continue;
      }
      for (const PreparedDevice& prepared : *answers[i]) {
        dra::Device& device = *one.add_devices();
        device.mutable_request_names()->Assign(prepared.requests.begin(), prepared.requests.end());
        device.set_pool_name(prepared.pool);
        device.set_device_name(prepared.name);
        device.mutable_cdi_device_ids()->Assign(prepared.cdi_devices.begin(),
                                                prepared.cdi_devices.end());
      }
    }
    reply({.body = answer.SerializeAsString()});
  });
}

void unprepare(const DraServerOptions& options, std::string_view message,
               const net::GrpcServer::Reply& reply) {
  dra::NodeUnprepareResourcesRequest request;
  if (!parse(message, request, reply)) {
    return;
  }
  if (std::string flaw = flaw_of_claims(request.claims()); !flaw.empty()) {
    reply({.status = net::kGrpcInvalidArgument, .message = std::move(flaw)});
    return;
  }
  std::vector<ClaimName> names = names_of(request.claims());
  options.unprepare(names, [reply, names](std::vector<Result<void>> answers) {
    dra::NodeUnprepareResourcesResponse answer;
    for (std::size_t i = 0; i < names.size() && i < answers.size(); ++i) {
      dra::NodeUnprepareResourceResponse& one = (*answer.mutable_claims())[names[i].uid];
      if (!answers[i].ok()) {
        one.set_error(answers[i].error().message);
      }
    }
    reply({.body = answer.SerializeAsString()});
  });
}

void refuse_method(std::string_view method, const net::GrpcServer::Reply& reply) {
  reply({.status = net::kGrpcUnimplemented, .message = fmt::format("unknown method {}", method)});
}

}  // namespace

struct DraServer::State {
  explicit State(DraServerOptions wanted)
      : options(std::move(wanted)),
        endpoint(fmt::format("{}/{}/dra.sock", options.folder, options.driver)),
        registry(fmt::format("{}/{}-reg.sock", options.registry, options.driver)) {}

  // Answers the kubelet's questions about claims.
  void answer(std::string_view method, std::string_view message,
              const net::GrpcServer::Reply& reply) const;
  // Introduces the driver to the kubelet's registry of plugins.
  void introduce(std::string_view method, std::string_view message,
                 const net::GrpcServer::Reply& reply);

  DraServerOptions options;
  std::string endpoint;
  std::string registry;
  std::atomic<bool> registered{false};
  net::GrpcServer server{{.request = kClaimsBytes}};  // its thread reads the members above
};

void DraServer::State::answer(std::string_view method, std::string_view message,
                              const net::GrpcServer::Reply& reply) const {
  if (method == "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources") {
    prepare(options, message, reply);
  } else if (method == "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources") {
    unprepare(options, message, reply);
  } else {
    refuse_method(method, reply);
  }
}

void DraServer::State::introduce(std::string_view method, std::string_view message,
                                 const net::GrpcServer::Reply& reply) {
  if (method == "/pluginregistration.Registration/GetInfo") {
    pluginregistration::PluginInfo answer;
    answer.set_type("DRAPlugin");
    answer.set_name(options.driver);
    answer.set_endpoint(endpoint);
    answer.add_supported_versions("v1.DRAPlugin");
    reply({.body = answer.SerializeAsString()});
    return;
  }
  if (method != "/pluginregistration.Registration/NotifyRegistrationStatus") {
    refuse_method(method, reply);
    return;
  }
  pluginregistration::RegistrationStatus status;
  if (!parse(message, status, reply)) {
    return;
  }
  registered = status.plugin_registered();
  if (registered) {
    log::info("DRA driver registered", {{"driver", options.driver}});
  } else {
    log::warn("the kubelet refused the DRA driver", {{"error", status.error()}});
  }
  reply({});
}

Result<std::unique_ptr<DraServer>> DraServer::start(DraServerOptions options) {
  auto state = std::make_unique<State>(std::move(options));
  // A kubelet asks as soon as it sees the socket of the registration.
  ATHANOR_TRY_VOID(state->server.open(
      state->endpoint, [raw = state.get()](std::string_view method, std::string_view message,
                                           const net::GrpcServer::Reply& reply) {
        raw->answer(method, message, reply);
      }));
  ATHANOR_TRY_VOID(state->server.open(
      state->registry, [raw = state.get()](std::string_view method, std::string_view message,
                                           const net::GrpcServer::Reply& reply) {
        raw->introduce(method, message, reply);
      }));
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  return std::unique_ptr<DraServer>(new DraServer(std::move(state)));
}

DraServer::DraServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

DraServer::~DraServer() = default;

bool DraServer::registered() const {
  return state_->registered;
}

}  // namespace athanor::agent
