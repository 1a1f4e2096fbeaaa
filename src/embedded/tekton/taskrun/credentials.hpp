// SPDX-License-Identifier: Apache-2.0
// Secrets of a service account that steps get as credentials of git and of registries
// (docs/spec/tekton.md 11).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::tekton {

// The annotation of pods that names the Secrets for the embedded node, which makes the files of
// HOME and of /tekton/creds from them. Its value is JSON.
inline constexpr std::string_view kCredentialsAnnotation = "athanor.dev/credentials";

// The credentials of a pod.
struct Credentials {
  Value secrets = Value::list();       // [{secret, git: [host or URL], docker: [URL]}]
  std::vector<std::string> missing{};  // Secrets that the account names and that do not exist
};
// Finds the Secrets of the account that have annotations tekton.dev/git-* or tekton.dev/docker-*,
// or that hold the settings of docker.
Credentials credentials_of(const View& view, std::string_view ns, std::string_view account);

// Mounts the Secrets of `credentials` at /tekton/creds-secrets/<name> in every step container of a
// pod, as Tekton does.
void mount_credentials(Value& pod, const Credentials& credentials);

}  // namespace athanor::tekton
