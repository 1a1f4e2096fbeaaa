// SPDX-License-Identifier: Apache-2.0
// A journal whose disk sees chosen objects encrypted only.
#pragma once

#include <memory>

#include "embedded/store/store.hpp"
#include "embedded/transport/encryption.hpp"

namespace athanor::transport {

// Reads encrypted objects whatever `encryption` says about writing. Error of recover(), with the
// object's name: none of the keys decrypts it.
std::unique_ptr<store::Journal> encrypting_journal(std::unique_ptr<store::Journal> inner,
                                                   Encryption encryption);

}  // namespace athanor::transport
