// SPDX-License-Identifier: Apache-2.0
// Finding, reading and merging kubeconfig files.
#include "client/kubeconfig.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/files/text_file.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::client {
namespace {

constexpr const char* kVariables[] = {"KUBECONFIG",
                                      "HOME",
                                      "HTTPS_PROXY",
                                      "https_proxy",
                                      "HTTP_PROXY",
                                      "http_proxy",
                                      "NO_PROXY",
                                      "no_proxy",
                                      "KUBERNETES_SERVICE_HOST",
                                      "KUBERNETES_SERVICE_PORT"};
constexpr std::string_view kNamedLists[] = {"clusters", "users", "contexts"};

std::string environment(const KubeconfigOptions& options, const std::string& name) {
  const auto found = options.environment.find(name);
  return found == options.environment.end() ? std::string{} : found->second;
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
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
          resolve_kubeconfig_paths(copy.member(part), folder);
        }
      }
      target.push_back(std::move(copy));
    }
  }
}

}  // namespace

std::map<std::string, std::string> kubeconfig_environment() {
  std::map<std::string, std::string> environment;
  for (const char* name : kVariables) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread so far, says the header
    if (const char* value = std::getenv(name); value != nullptr) {
      environment[name] = value;
    }
  }
  return environment;
}

void resolve_kubeconfig_paths(Value& part, const std::string& folder) {
  for (const char* key :
       {"certificate-authority", "client-certificate", "client-key", "tokenFile"}) {
    const std::string path = part[key].str();
    if (!path.empty() && path.front() != '/') {
      part.set(key, fmt::format("{}/{}", folder, path));
    }
  }
  // A command without a slash is looked for in $PATH.
  const std::string command = part["exec"]["command"].str();
  if (command.find('/') != std::string::npos && command.front() != '/') {
    part.set_path({"exec", "command"}, fmt::format("{}/{}", folder, command));
  }
}

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

Result<Kubeconfig> read_kubeconfig(const KubeconfigOptions& options) {
  Kubeconfig config{.merged = Value::object(), .files = {}, .searched = {}};
  for (const std::string& path : kubeconfig_files(options)) {
    config.searched += config.searched.empty() ? path : ", " + path;
    if (options.path.empty() && !exists(path)) {
      continue;  // as kubectl: a listed file may be missing
    }
    ATHANOR_TRY(const std::string text, read_text_file(path));
    auto parsed = yaml::parse(text);
    if (!parsed.ok()) {
      return parsed.error().with_context(path);
    }
    absorb(config.merged, *parsed, folder_of(path));
    config.files += config.files.empty() ? path : ", " + path;
  }
  return config;
}

}  // namespace athanor::client
