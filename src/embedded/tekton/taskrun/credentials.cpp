// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/taskrun/credentials.hpp"

#include <utility>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "kube/text/json.hpp"
#include "kube/value/kind.hpp"

namespace athanor::tekton {
namespace {

bool holds_docker_settings(std::string_view type) {
  return type == "kubernetes.io/dockerconfigjson" || type == "kubernetes.io/dockercfg";
}

// Returns the values of the annotations "<prefix><anything>".
Value annotated(const Object& secret, std::string_view prefix) {
  Value values = Value::list();
  for (const Member& annotation : secret.metadata()["annotations"].members()) {
    if (annotation.key().starts_with(prefix)) {
      values.push_back(annotation.value);
    }
  }
  return values;
}

// Returns the entry of a Secret, or Null where its type and annotations ask for nothing.
Value entry_of(const Object& secret) {
  const std::string_view type = secret.body()["type"].as_string();
  Value entry = Value::object({{"secret", secret.name()}});
  const bool basic = type == "kubernetes.io/basic-auth";
  if (Value git = annotated(secret, "tekton.dev/git-");
      !git.empty() && (basic || type == "kubernetes.io/ssh-auth")) {
    entry.set("git", std::move(git));
  }
  if (Value docker = annotated(secret, "tekton.dev/docker-"); !docker.empty() && basic) {
    entry.set("docker", std::move(docker));
  }
  const bool wanted = entry.size() > 1 || holds_docker_settings(type);
  return wanted ? entry : Value();
}

std::string volume_name(std::string_view secret) {
  constexpr std::size_t kDigits = 10;  // a volume name has at most 63 characters
  return "tekton-internal-secret-volume-" + sha256_hex(secret).substr(0, kDigits);
}

}  // namespace

Credentials credentials_of(const View& view, std::string_view ns, std::string_view account) {
  Credentials credentials;
  const auto found = view.get(
      api::kServiceAccount, {std::string(ns), account.empty() ? "default" : std::string(account)});
  if (!found) {
    return credentials;
  }
  for (const Value& ref : found->body()["secrets"].items()) {
    const auto secret = view.get(api::kSecret, {std::string(ns), ref["name"].str()});
    if (!secret) {
      credentials.missing.push_back(ref["name"].str());
    } else if (Value entry = entry_of(*secret); !entry.is_null()) {
      credentials.secrets.push_back(std::move(entry));
    }
  }
  return credentials;
}

void mount_credentials(Value& pod, const Credentials& credentials) {
  if (credentials.secrets.empty()) {
    return;
  }
  pod.set_path({"metadata", "annotations", kCredentialsAnnotation},
               json::print(credentials.secrets));
  Value& spec = pod.member("spec");
  for (const Value& entry : credentials.secrets.items()) {
    const std::string secret = entry["secret"].str();
    spec.member("volumes").push_back(Value::object(
        {{"name", volume_name(secret)}, {"secret", Value::object({{"secretName", secret}})}}));
    Value& containers = spec.member("containers");
    for (std::size_t i = 0; i < containers.size(); ++i) {
      if (containers[i]["name"].as_string().starts_with("step-")) {
        containers.item(i)
            .member("volumeMounts")
            .push_back(Value::object({{"name", volume_name(secret)},
                                      {"mountPath", "/tekton/creds-secrets/" + secret},
                                      {"readOnly", true}}));
      }
    }
  }
}

}  // namespace athanor::tekton
