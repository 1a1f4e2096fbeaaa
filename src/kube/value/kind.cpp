// SPDX-License-Identifier: Apache-2.0
// Text forms of kinds and keys.
#include "kube/value/kind.hpp"

namespace athanor {

std::string Kind::api_version() const {
  if (group.empty()) {
    return std::string(version);
  }
  std::string text(group);
  text += '/';
  text += version;
  return text;
}

std::string Key::text() const {
  return ns.empty() ? name : ns + "/" + name;
}

}  // namespace athanor
