// SPDX-License-Identifier: Apache-2.0
// A journal whose disk sees chosen objects encrypted only.
#pragma once

#include <memory>

#include "embedded/store/store.hpp"
#include "embedded/transport/encryption.hpp"

namespace athanor::transport {

// What was written encrypted is read whatever `encryption` says to write; an object that none of
// its keys opens is an error of recover() and names the object.
std::unique_ptr<store::Journal> encrypting_journal(std::unique_ptr<store::Journal> inner,
                                                   Encryption encryption);

}  // namespace athanor::transport
