// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/images/oci_blob.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace athanor::nodes {

Result<std::string> oci_blob_path(std::string_view digest) {
  const std::size_t colon = digest.find(':');
  const std::string_view kind = digest.substr(0, colon);
  const std::string_view name = colon == std::string_view::npos ? "" : digest.substr(colon + 1);
  const bool plain = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
  if (!plain || (kind != "sha256" && kind != "sha512")) {
    return Error::bad_request(fmt::format("\"{}\" is no digest", digest));
  }
  return fmt::format("blobs/{}/{}", kind, name);
}

}  // namespace athanor::nodes
