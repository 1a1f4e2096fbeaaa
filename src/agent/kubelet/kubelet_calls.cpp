// SPDX-License-Identifier: Apache-2.0
#include "agent/kubelet/kubelet_calls.hpp"

#include <deviceplugin.grpc.pb.h>
#include <fmt/core.h>
#include <grpcpp/grpcpp.h>
#include <podresources.grpc.pb.h>

namespace athanor::agent {
namespace {

constexpr int kMostBytes = 16 << 20;

std::shared_ptr<grpc::Channel> open(const std::string& socket) {
  grpc::ChannelArguments arguments;
  // The path of a socket is no authority: some servers refuse it.
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  arguments.SetMaxReceiveMessageSize(kMostBytes);
  // Another kubelet may listen where the last one did: its connection is not taken over.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

Error error_of(const grpc::Status& status, const std::string& what) {
  return Error::unavailable(fmt::format("{}: {}", what, status.error_message()));
}

}  // namespace

Result<void> register_plugin(const std::string& kubelet_socket, const std::string& endpoint,
                             const std::string& resource) {
  // A socket that refuses is not waited for: the kubelet that comes next has removed the plugins'.
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(endpoint);
  request.set_resource_name(resource);
  v1beta1::Empty answer;
  const grpc::Status status =
      v1beta1::Registration::NewStub(open(kubelet_socket))->Register(&context, request, &answer);
  return status.ok() ? Result<void>() : error_of(status, "register " + resource);
}

Result<std::vector<ContainerDevices>> list_devices(const std::string& socket) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
  v1::ListPodResourcesResponse answer;
  const grpc::Status status =
      v1::PodResourcesLister::NewStub(open(socket))->List(&context, {}, &answer);
  if (!status.ok()) {
    return error_of(status, "list pod resources");
  }
  std::vector<ContainerDevices> all;
  for (const v1::PodResources& pod : answer.pod_resources()) {
    for (const v1::ContainerResources& container : pod.containers()) {
      for (const v1::ContainerDevices& devices : container.devices()) {
        all.push_back({.pod = {pod.namespace_(), pod.name()},
                       .container = container.name(),
                       .resource = devices.resource_name(),
                       .ids = {devices.device_ids().begin(), devices.device_ids().end()}});
      }
    }
  }
  return all;
}

}  // namespace athanor::agent
