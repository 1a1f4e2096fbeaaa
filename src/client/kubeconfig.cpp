// SPDX-License-Identifier: Apache-2.0
// Reading and merging kubeconfig files.
#include "client/kubeconfig.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/digest.hpp"
#include "kube/yaml.hpp"

namespace athanor::client {
namespace {

constexpr std::string_view kNamedLists[] = {"clusters", "users", "contexts"};

std::string environment(const KubeconfigOptions& options, const std::string& name) {
  const auto found = options.environment.find(name);
  return found == options.environment.end() ? std::string{} : found->second;
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error::not_found(fmt::format("cannot read {}", path));
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// File references become absolute before files of different folders are merged.
void resolve_paths(Value& entry, const std::string& folder) {
  for (const char* key :
       {"certificate-authority", "client-certificate", "client-key", "tokenFile"}) {
    const std::string path = entry[key].str();
    if (!path.empty() && path.front() != '/') {
      entry.set(key, fmt::format("{}/{}", folder, path));
    }
  }
}

bool has_name(const Value& list, const Value& name) {
  return std::ranges::any_of(list.items(),
                             [&](const Value& entry) { return entry["name"] == name; });
}

void absorb(Value& merged, const Value& file, const std::string& folder) {
  if (merged["current-context"].as_string().empty()) {
    merged.set("current-context", file["current-context"]);
  }
  for (const std::string_view list : kNamedLists) {
    Value& target = merged.member(list);
    for (const Value& entry : file[list].items()) {
      if (has_name(target, entry["name"])) {
        continue;
      }
      Value copy = entry;
      for (const char* part : {"cluster", "user"}) {
        if (copy[part].is_object()) {
          resolve_paths(copy.member(part), folder);
        }
      }
      target.push_back(std::move(copy));
    }
  }
}

Value named(const Value& list, std::string_view name) {
  for (const Value& entry : list.items()) {
    if (entry["name"].as_string() == name) {
      return entry;
    }
  }
  return {};
}

// Inline base64 data, or the contents of the referenced file.
Result<std::string> data_or_file(const Value& entry, const std::string& key,
                                 const std::string& folder) {
  if (const std::string_view data = entry[key + "-data"].as_string(); !data.empty()) {
    auto decoded = base64_decode(data);
    if (!decoded) {
      return Error::bad_request(fmt::format("{}-data is not base64", key));
    }
    return *std::move(decoded);
  }
  std::string path = entry[key].str();
  if (path.empty()) {
    return std::string{};
  }
  if (path.front() != '/') {
    path = folder + "/" + path;
  }
  return read_file(path);
}

Result<void> read_cluster(const Value& cluster, const std::string& folder, Endpoint& endpoint) {
  endpoint.server = cluster["server"].str();
  while (!endpoint.server.empty() && endpoint.server.back() == '/') {
    endpoint.server.pop_back();
  }
  endpoint.insecure_skip_verify = cluster["insecure-skip-tls-verify"].as_bool();
  endpoint.tls_server_name = cluster["tls-server-name"].str();
  ATHANOR_TRY(endpoint.certificate_authority,
              data_or_file(cluster, "certificate-authority", folder));
  return {};
}

Result<void> read_user(const Value& user, const std::string& name, const std::string& folder,
                       Endpoint& endpoint) {
  for (const char* unsupported : {"exec", "auth-provider"}) {
    if (user.contains(unsupported)) {
      return Error::bad_request(
          fmt::format("user \"{}\": {} credentials are not supported; use a certificate or a token",
                      name, unsupported));
    }
  }
  ATHANOR_TRY(endpoint.client_certificate, data_or_file(user, "client-certificate", folder));
  ATHANOR_TRY(endpoint.client_key, data_or_file(user, "client-key", folder));
  endpoint.token = user["token"].str();
  if (endpoint.token.empty() && !user["tokenFile"].as_string().empty()) {
    ATHANOR_TRY(endpoint.token, read_file(user["tokenFile"].str()));
    endpoint.token.erase(endpoint.token.find_last_not_of(" \n") + 1);
  }
  return {};
}

}  // namespace

std::vector<std::string> kubeconfig_files(const KubeconfigOptions& options) {
  if (!options.path.empty()) {
    return {options.path};
  }
  std::vector<std::string> files;
  const std::string list = environment(options, "KUBECONFIG");
  std::size_t start = 0;
  while (start < list.size()) {
    const std::size_t end = std::min(list.find(':', start), list.size());
    if (end > start) {
      files.push_back(list.substr(start, end - start));
    }
    start = end + 1;
  }
  if (files.empty()) {
    if (const std::string home = environment(options, "HOME"); !home.empty()) {
      files.push_back(home + "/.kube/config");
    }
  }
  return files;
}

Result<Endpoint> load_endpoint(const KubeconfigOptions& options) {
  Value merged = Value::object();
  std::string read;
  std::string tried;
  for (const std::string& path : kubeconfig_files(options)) {
    tried += tried.empty() ? path : ", " + path;
    if (options.path.empty() && !exists(path)) {
      continue;  // as kubectl: a listed file may be missing
    }
    ATHANOR_TRY(const std::string text, read_file(path));
    auto parsed = yaml::parse(text);
    if (!parsed.ok()) {
      return parsed.error().with_context(path);
    }
    absorb(merged, *parsed, folder_of(path));
    read += read.empty() ? path : ", " + path;
  }
  if (read.empty()) {
    return Error::not_found(fmt::format(
        "no kubeconfig found (looked for {}): start a lab with \"athanor up\" and export "
        "the KUBECONFIG it prints, or pass --kubeconfig",
        tried.empty() ? "$KUBECONFIG" : tried));
  }
  auto endpoint = endpoint_of(merged, options.context, ".");
  if (!endpoint.ok()) {
    return endpoint.error().with_context(read);
  }
  return endpoint;
}

Result<Endpoint> endpoint_of(const Value& kubeconfig, const std::string& context,
                             const std::string& folder) {
  Endpoint endpoint;
  endpoint.context = context.empty() ? kubeconfig["current-context"].str() : context;
  if (endpoint.context.empty()) {
    return Error::not_found("no current-context: pass --context");
  }
  const Value entry = named(kubeconfig["contexts"], endpoint.context);
  const Value& chosen = entry["context"];
  if (!chosen.is_object()) {
    return Error::not_found(fmt::format("context \"{}\" does not exist", endpoint.context));
  }
  const std::string cluster_name = chosen["cluster"].str();
  ATHANOR_TRY_VOID(
      read_cluster(named(kubeconfig["clusters"], cluster_name)["cluster"], folder, endpoint));
  if (endpoint.server.empty()) {
    return Error::not_found(
        fmt::format("cluster \"{}\" of context \"{}\" does not exist or has no server",
                    cluster_name, endpoint.context));
  }
  const std::string user_name = chosen["user"].str();
  ATHANOR_TRY_VOID(
      read_user(named(kubeconfig["users"], user_name)["user"], user_name, folder, endpoint));
  if (const std::string ns = chosen["namespace"].str(); !ns.empty()) {
    endpoint.ns = ns;
  }
  return endpoint;
}

}  // namespace athanor::client
