// SPDX-License-Identifier: Apache-2.0
// Keeps transfers away from link-local addresses (169.254.0.0/16, fe80::/10), where clouds serve
// credentials of the machine to every program on it. For the .cpp files of client/.
#pragma once

#include <string_view>

struct sockaddr;

namespace athanor::client {

// Error text of a transfer that refuse_link_local() stopped.
inline constexpr std::string_view kLinkLocalRefused =
    "link-local addresses (169.254.0.0/16, fe80::/10) are not allowed";

// Returns true for an address of either family in those networks.
bool is_link_local(const sockaddr& address);

// Lets the transfer (a CURL*) open no socket to such an address, whatever name or notation led
// there; `refused`, which outlives the transfer, records that it was tried.
void refuse_link_local(void* easy, bool& refused);

}  // namespace athanor::client
