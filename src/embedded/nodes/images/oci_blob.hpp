// SPDX-License-Identifier: Apache-2.0
// Blobs of OCI layouts.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace athanor::nodes {

// Returns the path of the blob "sha256:HEX" or "sha512:HEX" in its layout. Error: 400 for another
// text.
Result<std::string> oci_blob_path(std::string_view digest);

}  // namespace athanor::nodes
