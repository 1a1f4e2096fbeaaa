// SPDX-License-Identifier: Apache-2.0
#include "agent/kubelet/kubelet_calls.hpp"

#include <deviceplugin.pb.h>
#include <fmt/core.h>
#include <podresources.pb.h>

#include <chrono>
#include <string>

#include "client/unix_grpc.hpp"

namespace athanor::agent {
namespace {

// A socket that refuses is not waited for: the kubelet that comes next has removed the plugins'.
Result<std::string> call(const std::string& socket, const std::string& method,
                         const std::string& message, const std::string& what) {
  const client::GrpcLimits limits{
      .timeout = std::chrono::duration_cast<std::chrono::milliseconds>(kCallTimeout)};
  auto answer = client::call_unix_grpc(socket, method, message, limits);
  if (!answer.ok()) {
    return Error::unavailable(fmt::format("{}: {}", what, answer.error().message));
  }
  return answer;
}

}  // namespace

Result<void> register_plugin(const std::string& kubelet_socket, const std::string& endpoint,
                             const std::string& resource) {
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(endpoint);
  request.set_resource_name(resource);
  ATHANOR_TRY([[maybe_unused]] const std::string answer,
              call(kubelet_socket, "/v1beta1.Registration/Register", request.SerializeAsString(),
                   "register " + resource));
  return {};
}

Result<std::vector<ContainerDevices>> list_devices(const std::string& socket) {
  ATHANOR_TRY(const std::string text,
              call(socket, "/v1.PodResourcesLister/List", "", "list pod resources"));
  v1::ListPodResourcesResponse answer;
  if (!answer.ParseFromString(text)) {
    return Error::unavailable("list pod resources: the answer is malformed");
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
