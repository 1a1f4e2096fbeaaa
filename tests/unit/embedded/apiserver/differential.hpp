// SPDX-License-Identifier: Apache-2.0
// What the tests of the differential stream's findings share (docs/testing.md): each answer in them
// is that of kube-apiserver 1.35 to the same requests.
#pragma once

#include <string>
#include <string_view>

#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver {

inline constexpr std::string_view kMaps = "/api/v1/namespaces/tst/configmaps";
inline constexpr std::string_view kServices = "/api/v1/namespaces/tst/services";

inline std::string with(std::string_view path, std::string_view more) {
  return std::string(path) + std::string(more);
}

}  // namespace athanor::apiserver
