// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/steps/step_credentials.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "kube/text/json.hpp"

namespace athanor::nodes {
namespace {

constexpr std::string_view kAnnotation = "athanor.dev/credentials";
constexpr std::int64_t kPrivate = 0600;
constexpr std::string_view kNobody = "not@val.id";  // the address that docker's settings require

// Splits "https://host/path" into its scheme with "://" and the rest.
std::pair<std::string_view, std::string_view> split_url(std::string_view url) {
  const std::size_t at = url.find("://");
  return at == std::string_view::npos ? std::pair{std::string_view("https://"), url}
                                      : std::pair{url.substr(0, at + 3), url.substr(at + 3)};
}

// Escapes what has a meaning in the user information of a URL.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

class CredentialFiles {
 public:
  void add(const Value& entry, const Object& secret) {
    secret_ = &secret;
    const std::string_view type = secret.body()["type"].as_string();
    for (const Value& target : entry["git"].items()) {
      type == "kubernetes.io/ssh-auth" ? add_key(target.as_string())
                                       : add_password(target.as_string());
    }
    for (const Value& target : entry["docker"].items()) {
      add_registry(target.as_string());
    }
    if (type == "kubernetes.io/dockerconfigjson") {
      add_registries(json::parse(text(".dockerconfigjson")).value_or(Value())["auths"]);
    } else if (type == "kubernetes.io/dockercfg") {
      add_registries(json::parse(text(".dockercfg")).value_or(Value()));
    }
  }

  [[nodiscard]] Value list() const {
    Value files = keys_;
    const auto put = [&files](std::string_view path, const std::string& data) {
      if (!data.empty()) {
        files.push_back(file(path, data));
      }
    };
    put(".gitconfig",
        git_settings_.empty() ? "" : "[credential]\n\thelper = store\n" + git_settings_);
    put(".git-credentials", git_passwords_);
    put(".ssh/config", ssh_settings_);
    put(".ssh/known_hosts", known_hosts_);
    put(".docker/config.json",
        auths_.empty() ? "" : json::print(Value::object({{"auths", auths_}})));
    return files;
  }

 private:
  static Value file(std::string_view path, std::string_view data) {
    return Value::object({{"path", path}, {"data", base64_encode(data)}, {"mode", kPrivate}});
  }

  [[nodiscard]] std::string text(std::string_view key) const {
    return base64_decode(secret_->body()["data"][key].as_string()).value_or("");
  }

  void add_password(std::string_view url) {
    const auto [scheme, rest] = split_url(url);
    git_settings_ +=
        fmt::format("[credential \"{}{}\"]\n\tusername = {}\n", scheme, rest, text("username"));
    git_passwords_ += fmt::format("{}{}:{}@{}\n", scheme, escaped(text("username")),
                                  escaped(text("password")), rest);
  }

  void add_key(std::string_view host_and_port) {
    const std::string_view target = split_url(host_and_port).second;
    const std::size_t colon = target.rfind(':');
    const std::string_view host = target.substr(0, colon);
    const std::string_view port = colon == std::string_view::npos ? "22" : target.substr(colon + 1);
    const std::string key = "id_" + std::string(secret_->name());
    keys_.push_back(file(".ssh/" + key, text("ssh-privatekey")));
    ssh_settings_ += fmt::format(
        "Host {0}\n    HostName {0}\n    Port {1}\n    IdentityFile ~/.ssh/{2}\n", host, port, key);
    const std::string known = text("known_hosts");
    known_hosts_ += known + (known.empty() || known.ends_with('\n') ? "" : "\n");
    if (known.empty()) {
      ssh_settings_ += "    StrictHostKeyChecking no\n";
    }
  }

  void add_registry(std::string_view url) {
    const std::string user = text("username");
    const std::string password = text("password");
    auths_.set(url, Value::object({{"username", user},
                                   {"password", password},
                                   {"auth", base64_encode(user + ":" + password)},
                                   {"email", kNobody}}));
  }

  void add_registries(const Value& auths) {
    for (const Member& member : auths.members()) {
      auths_.set(member.key(), member.value);
    }
  }

  const Object* secret_ = nullptr;
  Value keys_ = Value::list();
  Value auths_ = Value::object();
  std::string git_settings_{}, git_passwords_{}, ssh_settings_{}, known_hosts_{};
};

}  // namespace

Value step_credentials(const View& view, const Object& pod) {
  CredentialFiles files;
  const auto entries = json::parse(pod.annotation(kAnnotation));
  const Value list = entries.ok() ? *entries : Value();
  for (const Value& entry : list.items()) {
    if (const auto secret =
            view.get(api::kSecret, {std::string(pod.ns()), entry["secret"].str()})) {
      files.add(entry, *secret);
    }
  }
  return files.list();
}

}  // namespace athanor::nodes
