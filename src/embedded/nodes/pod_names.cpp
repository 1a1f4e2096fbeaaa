// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/pod_names.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/ascii.hpp"

namespace athanor::nodes {
namespace {

constexpr std::size_t kLongestHostname = 63;
constexpr std::string_view kHostsHead =
    "# Kubernetes-managed hosts file.\n"
    "127.0.0.1\tlocalhost\n"
    "::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\n"
    "fe00::0\tip6-mcastprefix\n"
    "fe00::1\tip6-allnodes\n"
    "fe00::2\tip6-allrouters\n";

std::string short_name(const Object& pod) {
  for (const char* member : {"hostnameOverride", "hostname"}) {
    if (std::string name = pod.spec()[member].str(); !name.empty()) {
      return name;
    }
  }
  std::string name = std::string(pod.name()).substr(0, kLongestHostname);
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) {
    name.pop_back();
  }
  return name;
}

// "NAME.SUBDOMAIN.NS.svc.cluster.local", or empty without a subdomain.
std::string full_name(const Object& pod) {
  const std::string_view subdomain = pod.spec()["subdomain"].as_string();
  return subdomain.empty() || !pod.spec()["hostnameOverride"].is_null()
             ? std::string()
             : fmt::format("{}.{}.{}.svc.cluster.local", short_name(pod), subdomain, pod.ns());
}

std::string alias_lines(const Object& pod) {
  std::string lines;
  for (const Value& alias : pod.spec()["hostAliases"].items()) {
    std::string names;
    for (const Value& name : alias["hostnames"].items()) {
      names += "\t" + name.str();
    }
    lines += alias["ip"].str() + names + "\n";
  }
  return lines.empty() ? lines : "\n# Entries added by HostAliases.\n" + lines;
}

// Entries of a file in the format of resolv.conf(5), as lists of words.
struct ResolverSettings {
  std::vector<std::string> servers{};
  std::vector<std::string> searches{};
  std::vector<std::pair<std::string, std::string>> options{};  // name, value or ""

  void add_option(std::string name, std::string value) {
    const auto same = std::ranges::find(options, name, &std::pair<std::string, std::string>::first);
    if (same != options.end()) {
      same->second = std::move(value);
    } else {
      options.emplace_back(std::move(name), std::move(value));
    }
  }

  [[nodiscard]] std::string text() const {
    std::string result;
    if (!searches.empty()) {
      result += "search";
      for (const std::string& name : searches) {
        result += " " + name;
      }
      result += "\n";
    }
    for (const std::string& server : servers) {
      result += "nameserver " + server + "\n";
    }
    if (!options.empty()) {
      result += "options";
      for (const auto& [name, value] : options) {
        result += " " + name + (value.empty() ? "" : ":" + value);
      }
      result += "\n";
    }
    return result;
  }
};

void add_once(std::vector<std::string>& list, std::string text) {
  if (std::ranges::find(list, text) == list.end()) {
    list.push_back(std::move(text));
  }
}

ResolverSettings settings_of(std::string_view text) {
  ResolverSettings settings;
  for (const std::string_view line : words_of(text, '\n')) {
    const std::vector<std::string_view> words = words_of(trimmed(line), ' ');
    if (words.size() < 2) {
      continue;
    }
    for (const std::string_view word : std::span(words).subspan(1)) {
      if (words[0] == "nameserver") {
        settings.servers.emplace_back(word);
      } else if (words[0] == "search" || words[0] == "domain") {
        settings.searches.emplace_back(word);
      } else if (words[0] == "options") {
        const std::size_t colon = word.find(':');
        settings.add_option(
            std::string(word.substr(0, colon)),
            colon == std::string_view::npos ? "" : std::string(word.substr(colon + 1)));
      }
    }
  }
  return settings;
}

ResolverSettings cluster_settings(const Object& pod, const Value& kubelet) {
  const ResolverSettings host = settings_of(kubelet["resolver"].as_string());
  ResolverSettings settings{.servers = {kubelet["nameServer"].str()},
                            .searches = {fmt::format("{}.svc.cluster.local", pod.ns()),
                                         "svc.cluster.local", "cluster.local"}};
  for (const std::string& name : host.searches) {
    add_once(settings.searches, name);
  }
  settings.add_option("ndots", "5");
  return settings;
}

}  // namespace

std::string resolver_file(const Object& pod, const Value& kubelet) {
  const Value& config = pod.spec()["dnsConfig"];
  std::string policy = pod.spec()["dnsPolicy"].str();
  const bool on_host = pod.spec()["hostNetwork"].as_bool();
  if (policy.empty() || policy == "ClusterFirst") {
    policy = on_host ? "Default" : "ClusterFirst";
  }
  const bool cluster = policy != "Default" && policy != "None";
  if ((cluster && kubelet["nameServer"].as_string().empty()) ||
      (policy == "Default" && config.empty())) {
    return {};
  }
  ResolverSettings settings = cluster            ? cluster_settings(pod, kubelet)
                              : policy == "None" ? ResolverSettings{}
                                                 : settings_of(kubelet["resolver"].as_string());
  for (const Value& server : config["nameservers"].items()) {
    add_once(settings.servers, server.str());
  }
  for (const Value& name : config["searches"].items()) {
    add_once(settings.searches, name.str());
  }
  for (const Value& option : config["options"].items()) {
    settings.add_option(option["name"].str(), option["value"].str());
  }
  return settings.text();
}

std::string pod_hostname(const Object& pod) {
  const std::string full = full_name(pod);
  return pod.spec()["setHostnameAsFQDN"].as_bool() && !full.empty() ? full : short_name(pod);
}

std::string hosts_file(const Object& pod, std::string_view address) {
  const std::string aliases = alias_lines(pod);
  if (pod.spec()["hostNetwork"].as_bool()) {
    return aliases.empty() ? aliases : std::string(kHostsHead) + aliases;
  }
  const std::string full = full_name(pod);
  return fmt::format("{}{}\t{}{}\n{}", kHostsHead, address, full.empty() ? "" : full + "\t",
                     short_name(pod), aliases);
}

}  // namespace athanor::nodes
