// SPDX-License-Identifier: Apache-2.0
// Reading kubeconfigs of others.
#include "kube/text/kubeconfig.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/ascii.hpp"
#include "base/digest.hpp"
#include "base/utf8.hpp"
#include "kube/text/yaml.hpp"

namespace athanor {
namespace {

// A Secret holds no more anyhow; this bounds what a doubly encoded one may unfold to.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

KubeconfigReading flawed(KubeconfigFlaw flaw) {
  return {.flaw = flaw};
}
KubeconfigReading unusable(std::string why) {
  return {.flaw = KubeconfigFlaw::Unusable, .why = std::move(why)};
}

const Value* entry_named(const Value& list, std::string_view name) {
  for (const Value& entry : list.items()) {
    if (entry["name"].as_string() == name) {
      return &entry;
    }
  }
  return nullptr;
}

// A reason to refuse; empty: none.
using Complaint = std::string;

Complaint refuse_files(const Value& entry, std::string_view what, std::string_view name) {
  for (const char* key :
       {"certificate-authority", "client-certificate", "client-key", "tokenFile"}) {
    if (!entry[key].as_string().empty()) {
      return fmt::format("{} \"{}\": {} names a file, which is not allowed; embed its contents",
                         what, name, key);
    }
  }
  return {};
}

// A PEM text of "<key>-data".
Complaint read_pem(const Value& entry, const std::string& key, const std::string& owner,
                   std::string& pem) {
  const std::string_view data = entry[key].as_string();
  if (data.empty()) {
    return {};
  }
  const auto decoded = base64_decode(data);
  if (!decoded) {
    return fmt::format("{}: {} is not base64", owner, key);
  }
  if (decoded->find("-----BEGIN ") == std::string::npos) {
    return fmt::format("{}: {} is not PEM", owner, key);
  }
  pem = *decoded;
  return {};
}

bool is_control(char c) {
  constexpr unsigned char kDelete = 0x7f;
  return static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) == kDelete;
}

bool is_http_url(std::string_view url) {
  const std::string low = lower(url);
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (low.starts_with(scheme)) {
      const std::string_view host = std::string_view(low).substr(scheme.size());
      return !host.empty() && host.front() != '/' && host.front() != ':' &&
             host.find_first_of(" \t\r\n\"<>\\") == std::string_view::npos;
    }
  }
  return false;
}

Complaint read_cluster(const Value& cluster, const std::string& name, KubeTarget& target) {
  const std::string owner = fmt::format("cluster \"{}\"", name);
  if (Complaint file = refuse_files(cluster, "cluster", name); !file.empty()) {
    return file;
  }
  target.server = cluster["server"].str();
  while (target.server.ends_with('/')) {
    target.server.pop_back();
  }
  if (target.server.empty()) {
    return owner + " has no server";
  }
  if (!is_http_url(target.server)) {
    return owner + ": server is not an http(s) URL";
  }
  if (target.server.substr(0, target.server.find('/', target.server.find("//") + 2)).find('@') !=
      std::string::npos) {
    return owner + ": server holds user information, which is not allowed; use a user entry";
  }
  target.insecure_skip_verify = cluster["insecure-skip-tls-verify"].as_bool();
  target.tls_server_name = cluster["tls-server-name"].str();
  target.proxy_url = cluster["proxy-url"].str();
  return read_pem(cluster, "certificate-authority-data", owner, target.ca_pem);
}

// Refuses what kubectl refuses.
Complaint refuse_two_ways_of_trust(const Value& cluster, const std::string& name) {
  const bool both = cluster["insecure-skip-tls-verify"].as_bool() &&
                    !cluster["certificate-authority-data"].as_string().empty();
  return both ? fmt::format(
                    "cluster \"{}\": certificate-authority-data and "
                    "insecure-skip-tls-verify exclude each other; kubectl refuses both",
                    name)
              : Complaint();
}

Complaint read_user(const Value& user, const std::string& name, const KubeconfigRules& rules,
                    KubeTarget& target) {
  const std::string owner = fmt::format("user \"{}\"", name);
  for (const char* program : {"exec", "auth-provider"}) {
    if (!user.contains(program) || user[program].is_null()) {
      continue;
    }
    if (!rules.allow_programs) {
      return fmt::format("{}: {} credentials would run a program, which is not allowed", owner,
                         program);
    }
    target.runs_program = true;
  }
  if (Complaint file = refuse_files(user, "user", name); !file.empty()) {
    return file;
  }
  for (auto [key, pem] : {std::pair{"client-certificate-data", &target.certificate_pem},
                          std::pair{"client-key-data", &target.key_pem}}) {
    if (Complaint wrong = read_pem(user, key, owner, *pem); !wrong.empty()) {
      return wrong;
    }
  }
  if (target.certificate_pem.empty() != target.key_pem.empty()) {
    return owner + ": client-certificate-data and client-key-data go together";
  }
  target.token = user["token"].str();
  target.username = user["username"].str();
  target.password = user["password"].str();
  // They go into a header line.
  for (const std::string* text : {&target.token, &target.username, &target.password}) {
    if (std::any_of(text->begin(), text->end(), is_control)) {
      return owner + ": its credentials hold a line break or another control character";
    }
  }
  return {};
}

// Refuses credentials for http://: the network can read what is sent without TLS.
Complaint refuse_plain_http(const KubeTarget& target, const std::string& cluster,
                            const std::string& user, const KubeconfigRules& rules) {
  const bool credentials = !target.token.empty() || !target.username.empty() ||
                           !target.password.empty() || target.runs_program;
  if (rules.allow_plain_http || !credentials || !lower(target.server).starts_with("http://")) {
    return {};
  }
  return fmt::format(
      "cluster \"{}\": the credentials of user \"{}\" would go to an http:// server unencrypted, "
      "which is not allowed; use https://",
      cluster, user);
}

// `twice`: the text was base64 of the document.
std::optional<Value> parse_mapping(std::string_view text, bool* twice = nullptr) {
  auto document = yaml::parse(text);
  if (!document.ok()) {
    return std::nullopt;
  }
  if (document->is_string()) {
    const auto inner = base64_decode(trimmed(document->as_string()));
    if (!inner || inner->size() > kMostBytes || !utf8::is_valid(*inner)) {
      return std::nullopt;
    }
    document = yaml::parse(*inner);
    if (twice != nullptr) {
      *twice = true;
    }
  }
  return document.ok() && document->is_object() ? std::optional(*document) : std::nullopt;
}

}  // namespace

KubeconfigReading read_kubeconfig(const Value& kubeconfig, const KubeconfigRules& rules) {
  const Value& contexts = kubeconfig["contexts"];
  if (contexts.empty() || !contexts.is_list()) {
    return flawed(KubeconfigFlaw::NoContexts);
  }
  std::string chosen = kubeconfig["current-context"].str();
  if (chosen.empty()) {
    chosen = contexts[0]["name"].str();
    if (rules.as_kubectl) {
      return unusable(fmt::format(
          "it has no current-context, so kubectl would not use it; set current-context: {}",
          chosen));
    }
  }
  const Value* entry = entry_named(contexts, chosen);
  if (entry == nullptr || !(*entry)["context"].is_object()) {
    return unusable(fmt::format("context \"{}\" does not exist", chosen));
  }
  const Value& context = (*entry)["context"];
  const std::string cluster_name = context["cluster"].str();
  const Value* cluster = entry_named(kubeconfig["clusters"], cluster_name);
  if (cluster == nullptr || !(*cluster)["cluster"].is_object()) {
    return unusable(
        fmt::format("cluster \"{}\" of context \"{}\" does not exist", cluster_name, chosen));
  }
  KubeconfigReading reading;
  reading.target.context = chosen;
  if (Complaint wrong = read_cluster((*cluster)["cluster"], cluster_name, reading.target);
      !wrong.empty()) {
    return unusable(std::move(wrong));
  }
  if (Complaint wrong = refuse_two_ways_of_trust((*cluster)["cluster"], cluster_name);
      rules.as_kubectl && !wrong.empty()) {
    return unusable(std::move(wrong));
  }
  const std::string user_name = context["user"].str();
  const Value* user = entry_named(kubeconfig["users"], user_name);
  if (user == nullptr && !user_name.empty()) {
    return unusable(fmt::format("user \"{}\" of context \"{}\" does not exist", user_name, chosen));
  }
  if (user != nullptr) {
    if (Complaint wrong = read_user((*user)["user"], user_name, rules, reading.target);
        !wrong.empty()) {
      return unusable(std::move(wrong));
    }
    if (Complaint wrong = refuse_plain_http(reading.target, cluster_name, user_name, rules);
        !wrong.empty()) {
      return unusable(std::move(wrong));
    }
  }
  return reading;
}

std::optional<Value> parse_kubeconfig_data(const Value& data) {
  const auto text = base64_decode(data["kubeconfig"].as_string());
  return text && text->size() <= kMostBytes && utf8::is_valid(*text) ? parse_mapping(*text)
                                                                     : std::nullopt;
}

KubeconfigReading read_kubeconfig_data(const Value& data, const KubeconfigRules& rules) {
  const std::string_view encoded = data["kubeconfig"].as_string();
  if (encoded.empty()) {
    return flawed(KubeconfigFlaw::Absent);
  }
  const auto text = base64_decode(encoded);
  if (!text || !utf8::is_valid(*text)) {
    return flawed(KubeconfigFlaw::NotText);
  }
  if (text->empty()) {
    return flawed(KubeconfigFlaw::Absent);
  }
  if (text->size() > kMostBytes) {
    return unusable("it is larger than 1 MiB");
  }
  bool twice = false;
  const auto mapping = parse_mapping(*text, &twice);
  if (mapping && twice && rules.as_kubectl) {
    return unusable("it is encoded in base64 twice, which kubectl cannot read; encode it once");
  }
  return mapping ? read_kubeconfig(*mapping, rules) : flawed(KubeconfigFlaw::NotYaml);
}

}  // namespace athanor
