// SPDX-License-Identifier: Apache-2.0
#include "exporter/podresources_client.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include "client/unix_grpc.hpp"
#include "exporter/files.hpp"
#include "kube/text/json.hpp"
#include "systems/numa/exporter/podresources_wire.hpp"

namespace athanor::exporter {

Result<std::vector<numa::PodResources>> PodResourcesClient::list() const {
  if (is_fake()) {
    ATHANOR_TRY(const Value value, fake_answer(numa::kFakeList));
    return numa::read_list(value);
  }
  ATHANOR_TRY(const std::string bytes, call(numa::kListMethod, ""));
  return numa::decode_list(bytes);
}

Result<numa::AllocatableResources> PodResourcesClient::allocatable() const {
  if (is_fake()) {
    ATHANOR_TRY(const Value value, fake_answer(numa::kFakeAllocatable));
    return numa::read_allocatable(value);
  }
  ATHANOR_TRY(const std::string bytes, call(numa::kAllocatableMethod, ""));
  return numa::decode_allocatable(bytes);
}

Result<numa::PodResources> PodResourcesClient::get(const Key& pod) const {
  if (is_fake()) {
    ATHANOR_TRY(const Value value, fake_answer(numa::kFakeGet));
    return numa::read_get(value);
  }
  ATHANOR_TRY(const std::string bytes, call(numa::kGetMethod, numa::encode_get_request(pod)));
  return numa::decode_get(bytes);
}

std::string PodResourcesClient::identity() const {
  struct stat seen {};
  if (is_fake() || ::stat(path().c_str(), &seen) != 0) {
    return {};
  }
  // A number may be used again; the time of contents is when a socket was made.
  return fmt::format("{}/{}/{}.{}", seen.st_dev, seen.st_ino, seen.st_mtim.tv_sec,
                     seen.st_mtim.tv_nsec);
}

std::string PodResourcesClient::path() const {
  constexpr std::string_view kScheme = "unix://";
  return source_.starts_with(kScheme) ? source_.substr(kScheme.size()) : source_;
}

Result<Value> PodResourcesClient::fake_answer(std::string_view file) const {
  const std::string path =
      fmt::format("{}/{}", source_.substr(std::string_view("fake://").size()), file);
  ATHANOR_TRY(const std::optional<std::string> text, read_whole(path));
  if (!text) {
    return Error::unavailable(path + ": not there");
  }
  auto value = json::parse(*text);
  return value.ok() ? value : value.error().with_context(path);
}

Result<std::string> PodResourcesClient::call(std::string_view method,
                                             const std::string& message) const {
  return client::call_unix_grpc(path(), std::string(method), message);
}

}  // namespace athanor::exporter
