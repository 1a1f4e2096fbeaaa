// SPDX-License-Identifier: Apache-2.0
// The host name by which an emulated node's kubelet is asked: the lab answers for it itself.
#pragma once

#include <string_view>

namespace athanor::apiserver {

// What follows the node's name.
inline constexpr std::string_view kNodeHost = ".kubelet.athanor.internal";

}  // namespace athanor::apiserver
