// SPDX-License-Identifier: Apache-2.0
#include "apiserver/objects.hpp"

#include <fmt/format.h>

namespace athanor::bench {
namespace {

constexpr std::size_t kPayload = 1024;  // bytes
constexpr std::size_t kGroups = 10;

// Letters that do not repeat too soon, other ones for each object and version.
std::string payload(std::size_t number, std::size_t version) {
  std::string text(kPayload, ' ');
  std::size_t state = number * 2654435761U + version * 40503U + 1;
  for (char& letter : text) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    letter = static_cast<char>('a' + (state >> 33U) % 26);
  }
  return text;
}

}  // namespace

std::string object_name(std::size_t number) {
  return fmt::format("settings-{:06}", number);
}

std::string collection_path(std::string_view ns) {
  return fmt::format("/api/v1/namespaces/{}/configmaps", ns);
}

std::string object_path(std::string_view ns, std::size_t number) {
  return collection_path(ns) + "/" + object_name(number);
}

std::string object_text(std::string_view ns, std::size_t number, std::size_t version) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}","namespace":"{}",)"
      R"("labels":{{"app":"bench","group":"g{}"}}}},"data":{{"payload":"{}"}}}})",
      object_name(number), ns, number % kGroups, payload(number, version));
}

Query create_namespace(const std::string& name) {
  return {.method = "POST",
          .path = "/api/v1/namespaces",
          .content_type = "application/json",
          .body = fmt::format(
              R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})", name)};
}

Query create_object(std::string_view ns, std::size_t number) {
  return {.method = "POST",
          .path = collection_path(ns),
          .content_type = "application/json",
          .body = object_text(ns, number, 0)};
}

Query replace_object(std::string_view ns, std::size_t number, std::size_t version) {
  return {.method = "PUT",
          .path = object_path(ns, number),
          .content_type = "application/json",
          .body = object_text(ns, number, version)};
}

Query patch_object(std::string_view ns, std::size_t number, std::size_t version) {
  return {.method = "PATCH",
          .path = object_path(ns, number),
          .content_type = "application/merge-patch+json",
          .body = fmt::format(R"({{"data":{{"step":"{}"}}}})", version)};
}

Query apply_object(std::string_view ns, std::size_t number, std::size_t version) {
  return {.method = "PATCH",
          .path = object_path(ns, number) + "?fieldManager=bench&force=true",
          .content_type = "application/apply-patch+yaml",
          .body = object_text(ns, number, version)};
}

Query delete_object(std::string_view ns, std::size_t number) {
  return {.method = "DELETE", .path = object_path(ns, number)};
}

Query get_object(std::string_view ns, std::size_t number) {
  return {.path = object_path(ns, number)};
}

}  // namespace athanor::bench
