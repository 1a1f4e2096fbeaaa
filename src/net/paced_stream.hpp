// SPDX-License-Identifier: Apache-2.0
// A stream that can wait for its reader: the source keeps what comes next (a log file), so that a
// client that stops reading costs a bounded buffer and is let be, as a kubelet does. A watch cannot
// wait: its source moves on, and a reader that does not keep up is disconnected.
#pragma once

#include "net/http.hpp"

namespace athanor::net {

// A stream whose source waits while the client does not read.
class PacedStream : public Stream {};

}  // namespace athanor::net
